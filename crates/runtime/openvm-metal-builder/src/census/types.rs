//! Types as they stand in keys: numbers by name, classes and enumerations of a unit by what they are.

use super::index::Index;

/// Clang's and Metal's names of number types.
const NUMBERS: &[(&str, &str)] = &[
    ("_Bool", "bool"),
    ("bool", "bool"),
    ("char", "char"),
    ("signed char", "char"),
    ("unsigned char", "uchar"),
    ("short", "short"),
    ("unsigned short", "ushort"),
    ("int", "int"),
    ("unsigned int", "uint"),
    ("unsigned", "uint"),
    ("long", "long"),
    ("unsigned long", "ulong"),
    ("long long", "long long"),
    ("unsigned long long", "unsigned long long"),
    ("_Float16", "half"),
    ("__bf16", "bfloat"),
    ("float", "float"),
    ("double", "double"),
    ("long double", "long double"),
    ("void", "void"),
];

/// Detail with which a key names a type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Detail {
    /// Each number by its name.
    Exact,
    /// Integers are `integer`.
    Kind,
    /// Numbers are `scalar`, vectors `vector`.
    Shape,
}

impl Index {
    /// The type in a key; pointers have no address space here.
    pub fn class(&self, ty: &str, detail: Detail) -> String {
        let ty = ty.trim();
        if ty.contains("(*") || ty.contains("(&") || ty.contains("(lambda") {
            return if ty.contains(")[") {
                "array&".into()
            } else {
                "function".into()
            };
        }
        if ty.contains("(unnamed enum") || ty.contains("(anonymous enum") {
            return "enum".into();
        }
        if ty.contains("dependent type") || ty.contains("type-parameter") {
            return "T".into();
        }
        let unqualified = ty
            .strip_suffix(" const")
            .or_else(|| ty.strip_suffix("*const"))
            .or_else(|| ty.strip_suffix(" __restrict"));
        if let Some(inner) = unqualified {
            let star = if ty.ends_with("*const") { "*" } else { "" };
            return self.class(&format!("{inner}{star}"), detail);
        }
        for mark in ["&&", "&", "*"] {
            if let Some(inner) = ty.strip_suffix(mark) {
                let constant = if inner.trim_start().starts_with("const ") {
                    "const "
                } else {
                    ""
                };
                let inner = self.class(
                    inner,
                    if detail == Detail::Kind {
                        Detail::Shape
                    } else {
                        detail
                    },
                );
                let inner = inner.strip_prefix("const ").unwrap_or(&inner).to_string();
                return format!("{constant}{inner}{mark}");
            }
        }
        if ty.ends_with(']') {
            if let Some(open) = array_bracket(ty) {
                return format!("{}[]", self.class(&ty[..open], detail));
            }
        }
        for q in ["const ", "volatile ", "enum ", "struct ", "typename "] {
            if let Some(inner) = ty.strip_prefix(q) {
                return self.class(inner, detail);
            }
        }
        let vector = ty.rsplit_once(" __attribute__((ext_vector_type(");
        if let Some((element, n)) =
            vector.and_then(|(e, rest)| Some((e, rest.strip_suffix(")))")?)))
        {
            return match detail {
                Detail::Exact => format!("{}{n}", self.class(element, detail)),
                _ => "vector".into(),
            };
        }
        if let Some((_, name)) = NUMBERS.iter().find(|(c, _)| *c == ty) {
            return number(name, detail).into();
        }
        self.named(ty, detail)
    }

    fn named(&self, ty: &str, detail: Detail) -> String {
        let plain = ty.strip_prefix("metal::").unwrap_or(ty);
        let base = plain.split('<').next().unwrap_or(plain).trim();
        // A member type of a class is looked up by its last name.
        let last = if plain.ends_with('>') {
            plain
        } else {
            plain.rsplit("::").next().unwrap_or(plain)
        };
        if let Some(next) = self
            .typedefs
            .get(last)
            .filter(|next| *next != ty && !next.is_empty())
        {
            return self.class(next, detail);
        }
        let arguments = plain[base.len()..].trim_matches(|c| c == '<' || c == '>');
        let first = arguments.split(',').next().unwrap_or("").trim();
        match base {
            "vec" if !first.is_empty() => {
                let n = arguments.rsplit(',').next().unwrap_or("").trim();
                match detail {
                    Detail::Exact => format!("{}{n}", self.class(first, detail)),
                    _ => "vector".into(),
                }
            }
            "atomic" if detail == Detail::Exact => {
                format!("atomic_{}", self.class(first, Detail::Exact))
            }
            "atomic" => "atomic".into(),
            _ => {
                let name = base.rsplit("::").next().unwrap_or(base);
                if self.enums.contains(name) {
                    "enum".into()
                } else if self.records.contains_key(name) {
                    "struct".into()
                } else if self.library_types.contains(name) {
                    name.to_string()
                } else {
                    // A parameter of a template.
                    "T".into()
                }
            }
        }
    }

    /// Bytes of an array of numbers or vectors; `None` of other types.
    pub fn array_bytes(&self, ty: &str) -> Option<usize> {
        let open = array_bracket(ty)?;
        let element = self.class(&ty[..open], Detail::Exact);
        let bytes = match element.trim_end_matches(['2', '3', '4']) {
            "bool" | "char" | "uchar" => 1,
            "short" | "ushort" | "half" | "bfloat" => 2,
            "int" | "uint" | "float" => 4,
            "long" | "ulong" => 8,
            _ => return None,
        };
        // Vectors of three take the place of four.
        let components = self.components(&ty[..open])?.next_power_of_two();
        let extents = ty[open..].split(['[', ']']).filter(|part| !part.is_empty());
        extents
            .map(|extent| extent.parse().ok())
            .try_fold(bytes * components, |bytes, extent: Option<usize>| {
                bytes.checked_mul(extent?)
            })
    }

    /// Components of a vector's type, 1 of a number's; `None` of other types.
    pub fn components(&self, ty: &str) -> Option<usize> {
        let class = self.class(ty, Detail::Exact);
        let name = class.trim_end_matches(['2', '3', '4']);
        let is_number =
            |name: &str| NUMBERS.iter().any(|(_, metal)| *metal == name) && name != "void";
        match class.strip_prefix(name) {
            Some("") if is_number(name) => Some(1),
            Some(n) if is_number(name) => n.parse().ok(),
            _ => None,
        }
    }

    /// Types of a function's parameters, from the text of its type.
    pub fn parameters(&self, ty: &str) -> Vec<String> {
        match parameter_list(ty) {
            Some((open, close)) => split(&ty[open + 1..close]),
            None => Vec::new(),
        }
    }

    /// Type that a function returns, from the text of its type.
    pub fn returned(&self, ty: &str, detail: Detail) -> String {
        let (open, close) = parameter_list(ty).unwrap_or((ty.len(), ty.len().saturating_sub(1)));
        // `unsigned int (int) __attribute__((ext_vector_type(4)))`
        let vector = ty[close + 1..].trim_start();
        let behind = if vector.starts_with("__attribute__") {
            format!(" {vector}")
        } else {
            String::new()
        };
        self.class(&format!("{}{behind}", ty[..open].trim()), detail)
    }
}

/// The parentheses of a function's parameters in the text of its type.
fn parameter_list(ty: &str) -> Option<(usize, usize)> {
    let (mut open, mut depth, mut angles) = (None, 0usize, 0usize);
    for (i, c) in ty.char_indices() {
        match c {
            '<' => angles += 1,
            '>' => angles = angles.saturating_sub(1),
            '(' if angles == 0 => {
                depth += 1;
                if depth == 1 && !ty[..i].trim_end().ends_with("__attribute__") {
                    open = open.or(Some(i));
                }
            }
            ')' if angles == 0 => {
                depth = depth.saturating_sub(1);
                if let (0, Some(open)) = (depth, open) {
                    return Some((open, i));
                }
            }
            _ => {}
        }
    }
    None
}

/// The bracket where the array of `T[N]` begins.
fn array_bracket(ty: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (i, c) in ty.char_indices() {
        match c {
            '<' => depth += 1,
            '>' => depth = depth.saturating_sub(1),
            '[' if depth == 0 => return Some(i),
            _ => {}
        }
    }
    None
}

/// Splits at the commas outside of brackets.
fn split(list: &str) -> Vec<String> {
    let mut out = Vec::new();
    let (mut depth, mut from) = (0usize, 0);
    for (i, c) in list.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                out.push(list[from..i].trim().to_string());
                from = i + 1;
            }
            _ => {}
        }
    }
    let last = list[from..].trim();
    if !last.is_empty() {
        out.push(last.to_string());
    }
    out
}

fn number(name: &'static str, detail: Detail) -> &'static str {
    match (detail, name) {
        (Detail::Exact, _)
        | (_, "void" | "long long" | "unsigned long long" | "double" | "long double") => name,
        (Detail::Shape, _) => "scalar",
        (Detail::Kind, "bool" | "half" | "bfloat" | "float") => name,
        (Detail::Kind, _) => "integer",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_as_clang_prints_them() {
        let index = Index::default();
        for (ty, class) in [
            ("const unsigned int", "uint"),
            ("const unsigned int *", "const uint*"),
            ("unsigned int __attribute__((ext_vector_type(4)))", "uint4"),
            (
                "unsigned int __attribute__((ext_vector_type(4))) *",
                "uint4*",
            ),
            ("float[4][2]", "float[]"),
            ("const _Float16 &", "const half&"),
            ("<dependent type>", "T"),
            ("metal::atomic<unsigned int>", "atomic_uint"),
            ("float (&)[4]", "array&"),
        ] {
            assert_eq!(index.class(ty, Detail::Exact), class, "{ty}");
        }
    }

    #[test]
    fn parameters_and_results_of_functions() {
        let index = Index::default();
        let ty = "unsigned int (unsigned int, Pair<int, long>) __attribute__((ext_vector_type(2)))";
        assert_eq!(index.parameters(ty), ["unsigned int", "Pair<int, long>"]);
        assert_eq!(index.returned(ty, Detail::Exact), "uint2");
        assert_eq!(index.returned("void (int) const", Detail::Exact), "void");
        assert!(index.parameters("void ()").is_empty());
    }
}
