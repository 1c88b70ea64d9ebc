//! Rust types of Metal types.

use std::collections::HashMap;

/// Maps the element types of kernel parameters to Rust.
#[derive(Clone, Debug)]
pub struct TypeMap {
    by_name: HashMap<String, String>,
}

impl Default for TypeMap {
    fn default() -> Self {
        let mut by_name = HashMap::new();
        for (metal, rust) in [
            ("char", "i8"),
            ("int8_t", "i8"),
            ("uchar", "u8"),
            ("uint8_t", "u8"),
            ("bool", "u8"),
            ("short", "i16"),
            ("int16_t", "i16"),
            ("ushort", "u16"),
            ("uint16_t", "u16"),
            ("half", "u16"),
            ("bfloat", "u16"),
            ("int", "i32"),
            ("int32_t", "i32"),
            ("uint", "u32"),
            ("uint32_t", "u32"),
            ("atomic_uint", "u32"),
            ("atomic_int", "i32"),
            ("atomic_bool", "u32"),
            ("atomic_float", "f32"),
            ("long", "i64"),
            ("int64_t", "i64"),
            ("ulong", "u64"),
            ("uint64_t", "u64"),
            ("size_t", "u64"),
            ("atomic_ulong", "u64"),
            ("float", "f32"),
        ] {
            by_name.insert(metal.to_string(), rust.to_string());
        }
        Self { by_name }
    }
}

fn squeeze(s: &str) -> String {
    s.split_whitespace().collect()
}

impl TypeMap {
    /// Maps the Metal type `metal` to the Rust path `rust`.
    pub fn insert(&mut self, metal: &str, rust: &str) {
        self.by_name.insert(squeeze(metal), rust.to_string());
    }

    /// Rust type of `element`, a token list joined by spaces, after replacing template parameters.
    pub fn rust(&self, element: &str, substitution: &HashMap<String, String>) -> String {
        let mut text = element.to_string();
        // A template argument may itself name a template argument's default.
        for _ in 0..4 {
            let next = text
                .split(' ')
                .map(|w| substitution.get(w).map_or(w, String::as_str))
                .collect::<Vec<_>>()
                .join(" ");
            if next == text {
                break;
            }
            text = next;
        }
        self.mapped(&squeeze(&text))
    }

    fn mapped(&self, name: &str) -> String {
        let name = name
            .trim_start_matches("metal::")
            .trim_start_matches("const");
        if let Some(r) = self.by_name.get(name) {
            return r.clone();
        }
        for prefix in ["atomic<", "_atomic<"] {
            if let Some(inner) = name.strip_prefix(prefix).and_then(|s| s.strip_suffix('>')) {
                return self.mapped(inner);
            }
        }
        if let Some(base) = name.strip_suffix(['2', '3', '4']) {
            let scalar = self.by_name.get(base).filter(|r| r.len() <= 3);
            if let (Some(scalar), false) = (scalar, base.ends_with('_')) {
                // Vectors of three have the size of four.
                let n = if name.ends_with('2') { 2 } else { 4 };
                return format!("[{scalar}; {n}]");
            }
        }
        let path = name.strip_prefix("struct").unwrap_or(name);
        format!("crate::params::{path}")
    }
}

/// A Rust identifier for a Metal parameter name.
pub fn identifier(name: &str) -> String {
    const KEYWORDS: &[&str] = &[
        "as", "async", "await", "box", "crate", "dyn", "enum", "extern", "false", "fn", "gen",
        "impl", "in", "let", "loop", "match", "mod", "move", "mut", "priv", "pub", "ref", "self",
        "static", "super", "trait", "true", "try", "type", "typeof", "unsafe", "unsized", "use",
        "where", "yield", "stream", "grid", "macro", "override", "become", "abstract", "final",
        "virtual",
    ];
    let snake = name.starts_with(|c: char| c.is_ascii_uppercase())
        || name.chars().any(|c| c.is_ascii_uppercase());
    let mut out = String::new();
    for c in name.chars() {
        if snake && c.is_ascii_uppercase() {
            if !out.is_empty()
                && !out.ends_with('_')
                && !out.ends_with(|c: char| c.is_ascii_digit())
            {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        } else {
            out.push(c);
        }
    }
    if KEYWORDS.contains(&out.as_str()) {
        out.push('_');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_elements() {
        let mut m = TypeMap::default();
        m.insert("Fp", "::field::Element");
        let none = HashMap::new();
        assert_eq!(m.rust("uint", &none), "u32");
        assert_eq!(m.rust("uint3", &none), "[u32; 4]");
        assert_eq!(m.rust("FoldParams", &none), "crate::params::FoldParams");
        assert_eq!(m.rust("atomic < uint >", &none), "u32");
        let t = HashMap::from([("T".to_string(), "Fp".to_string())]);
        assert_eq!(m.rust("T", &t), "::field::Element");
    }

    #[test]
    fn keywords_get_an_underscore() {
        assert_eq!(identifier("in"), "in_");
        assert_eq!(identifier("srcA"), "src_a");
        assert_eq!(identifier("A"), "a");
    }
}
