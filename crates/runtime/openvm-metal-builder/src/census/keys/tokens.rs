//! Keys that the words of a unit show: pragmas, literals, attributes, specifiers, forms of `template`.

use super::Collector;
use crate::lexer::{TokenKind, Tokens};

pub(super) fn collect(c: &mut Collector<'_>) {
    let t = c.s.t;
    let mut i = 0;
    while i < t.len() {
        let word = t.at(i);
        match t.tokens[i].kind {
            TokenKind::Directive if word.contains("pragma") => {
                let what = word
                    .trim_start_matches('#')
                    .trim_start()
                    .trim_start_matches("pragma");
                c.add_at(format!("pragma: {}", spaced(what)), i);
            }
            TokenKind::Directive => c.add_at(format!("directive: {}", spaced(word)), i),
            TokenKind::Number => c.add_at(format!("literal: {}", literal(word)), i),
            TokenKind::Literal => {
                let kind = if word.starts_with('\'') {
                    "character"
                } else {
                    "string"
                };
                // Strings are arguments of attributes and of `_Pragma`, which have keys of their own.
                let argument = t.at(i.wrapping_sub(1)) == "("
                    && matches!(t.at(i.wrapping_sub(2)), "_Pragma" | "host_name");
                if !argument {
                    c.add_at(format!("literal: {kind}"), i);
                }
            }
            TokenKind::Ident => i = word_key(c, t, i),
            TokenKind::Punct if t.is_attribute(i) => {
                leading_attribute(c, t, i);
                i = t.matching(i);
            }
            TokenKind::Punct => {}
        }
        i += 1;
    }
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn word_key(c: &mut Collector<'_>, t: &Tokens, i: usize) -> usize {
    match t.at(i) {
        "_Pragma" => {
            c.add_at(
                format!("pragma operator: {}", t.at(i + 2).trim_matches('"')),
                i,
            );
        }
        "__attribute__" => {
            let end = t.matching(i + 1);
            c.add_at(
                format!("specifier: __attribute__{}", t.join(i + 1, end + 1)),
                i,
            );
            return end;
        }
        word @ ("METAL_FUNC" | "METAL_CONST" | "inline" | "constexpr" | "explicit" | "mutable"
        | "volatile" | "extern" | "alignas" | "decltype" | "restrict" | "noexcept"
        | "register" | "thread_local") => {
            c.add_at(format!("specifier: {}", specifier(t, i, word)), i);
        }
        "typename" if t.at(i + 2) == "::" || t.at(i + 2) == "<" => {
            c.add_at("name: typename of a dependent type".into(), i);
        }
        "template" => {
            let before = t.at(i.wrapping_sub(1));
            let key = if matches!(before, "." | "->" | "::") {
                "name: template behind a dependent name"
            } else if t.at(i + 1) == "<" && t.at(i + 2) == ">" {
                "template: explicit specialisation"
            } else if t.at(i + 1) == "<" {
                return i;
            } else {
                "template: explicit instantiation"
            };
            c.add_at(key.into(), i);
        }
        _ => {}
    }
    i
}

/// The word, or the form of its use that nobody has shown to compile.
fn specifier<'a>(t: &Tokens, i: usize, word: &'a str) -> &'a str {
    if !matches!(word, "alignas" | "decltype") || t.at(i + 1) != "(" {
        return word;
    }
    let end = t.matching(i + 1);
    let named = (i + 2..end).any(|k| t.tokens[k].kind == TokenKind::Ident);
    match word {
        "alignas" if t.at(end + 1) == "alignas" => "alignas twice",
        "alignas" if (i + 2..end).any(|k| t.at(k) == "alignof") => "alignas of alignof",
        "decltype" if !named => "decltype of a literal",
        word => word,
    }
}

/// Attributes behind a name belong to its declaration; those here stand before one.
fn leading_attribute(c: &mut Collector<'_>, t: &Tokens, i: usize) {
    let end = t.matching(i);
    let before = t.at(i.wrapping_sub(1));
    let follows = |i: usize| {
        matches!(before, "" | ";" | "}" | "{" | ">" | "template" | "]") && i > 0 || i == 0
    };
    if !follows(i) || (before == "]" && !after_leading(t, i)) {
        return;
    }
    let on = if before == "template" {
        "an instantiation"
    } else if t.at(end + 1) == "kernel" || t.is_attribute(end + 1) {
        "a kernel"
    } else {
        "a declaration"
    };
    for name in names(t, i) {
        c.add_at(format!("attribute: [[{name}]] before {on}"), i);
    }
}

/// True if the attribute before this one stands before a declaration too.
fn after_leading(t: &Tokens, i: usize) -> bool {
    let open = (0..i.saturating_sub(1))
        .rev()
        .find(|&k| t.is_attribute(k) && t.matching(k) + 1 == i);
    open.is_some_and(|k| {
        matches!(
            t.at(k.wrapping_sub(1)),
            "" | ";" | "}" | "{" | ">" | "template"
        )
    })
}

/// The attributes in `[[a(1), b]]`; a name with arguments has `(n)`.
pub(super) fn names(t: &Tokens, at: usize) -> Vec<String> {
    let end = t.matching(at);
    let mut out = Vec::new();
    let mut i = at + 2;
    while i + 1 < end {
        let arguments = t.at(i + 1) == "(";
        out.push(format!("{}{}", t.at(i), if arguments { "(n)" } else { "" }));
        i = if arguments {
            t.matching(i + 1) + 1
        } else {
            i + 1
        };
        if t.at(i) == "," {
            i += 1;
        }
    }
    out
}

/// Base, suffix, and the type where the suffix does not give it.
fn literal(word: &str) -> String {
    let lower = word.to_ascii_lowercase();
    let hexadecimal = lower.starts_with("0x");
    let float = if hexadecimal {
        lower.contains('p')
    } else {
        lower.contains('.') || lower.contains('e') && !lower.starts_with("0b")
    };
    let digits: &str = if hexadecimal && !float {
        "0123456789abcdefx'"
    } else {
        "0123456789.e+-xpabcd'"
    };
    let number = lower.trim_end_matches(|c: char| !digits.contains(c));
    let suffix = &lower[number.len()..];
    if float {
        // The last `d` or `f` of a hexadecimal float's digits cannot be mistaken: it has an exponent.
        let suffix = lower.trim_start_matches(|c: char| {
            c.is_ascii_hexdigit() && c != 'f' || ".+-xp'".contains(c)
        });
        let kind = if hexadecimal {
            "hexadecimal float"
        } else {
            "float"
        };
        let suffix = if hexadecimal {
            &suffix[suffix.len().min(
                suffix
                    .rfind(|c: char| c.is_ascii_digit())
                    .map_or(0, |k| k + 1),
            )..]
        } else {
            suffix
        };
        return match suffix {
            "" => format!("{kind} without suffix"),
            s => format!("{kind} with suffix {s}"),
        };
    }
    let (kind, radix, body) = if hexadecimal {
        ("hexadecimal integer", 16, &number[2..])
    } else if lower.starts_with("0b") {
        ("binary integer", 2, &number[2..])
    } else if lower.starts_with('0') && number.len() > 1 {
        ("octal integer", 8, number)
    } else {
        ("decimal integer", 10, number)
    };
    if !suffix.is_empty() {
        return format!("{kind} with suffix {suffix}");
    }
    let value = u128::from_str_radix(&body.replace('\'', ""), radix).unwrap_or(u128::MAX);
    let ty = match value {
        0..=0x7fff_ffff => "int",
        0x8000_0000..=0xffff_ffff if radix != 10 => "uint",
        v if v <= 0x7fff_ffff_ffff_ffff => "long",
        _ => "more than long",
    };
    format!("{kind} without suffix, {ty}")
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn literals() {
        for (word, key) in [
            ("12", "decimal integer without suffix, int"),
            ("4294967295", "decimal integer without suffix, long"),
            ("0xffffffff", "hexadecimal integer without suffix, uint"),
            ("0x7fu", "hexadecimal integer with suffix u"),
            ("0xful", "hexadecimal integer with suffix ul"),
            ("1ull", "decimal integer with suffix ull"),
            ("1.5", "float without suffix"),
            ("1.5e-3f", "float with suffix f"),
            ("1e5", "float without suffix"),
            ("2.0h", "float with suffix h"),
            ("0x1.8p3f", "hexadecimal float with suffix f"),
            ("0x1.fp3", "hexadecimal float without suffix"),
            ("0b101", "binary integer without suffix, int"),
            ("017", "octal integer without suffix, int"),
        ] {
            assert_eq!(literal(word), key, "{word}");
        }
    }
}
