//! Floating point literals: without a suffix they are float in Metal and double in C++, which has no suffix for half.

use crate::lexer::{TokenKind, Tokens};

fn is_double(token: &str) -> bool {
    let hex = token.starts_with("0x") || token.starts_with("0X");
    let marks: &[char] = if hex { &['p', 'P'] } else { &['.', 'e', 'E'] };
    token.contains(marks) && token.ends_with(|c: char| c.is_ascii_digit() || c == '.')
}

/// Files that have doubles, which are not Metal, mean them: by name or as `decltype(1.0)`.
fn has_doubles(t: &Tokens) -> bool {
    (0..t.len()).any(|i| t.at(i) == "double" || (t.at(i) == "decltype" && is_double(t.at(i + 2))))
}

/// `1.5h` and `1.5bf` have no meaning in C++: the digits and the type.
fn narrow(token: &str) -> Option<(&str, &'static str)> {
    if token.starts_with("0x") || token.starts_with("0X") {
        return None;
    }
    match token.strip_suffix("bf") {
        Some(digits) => Some((digits, "bfloat")),
        None => Some((token.strip_suffix(['h', 'H'])?, "half")),
    }
}

/// C++ `text`, made from `t`, with literals of Metal's types.
pub fn as_metal(text: String, t: &Tokens) -> String {
    let number = |t: &Tokens, i: usize| t.tokens[i].kind == TokenKind::Number;
    let other = |i: usize| number(t, i) && (is_double(t.at(i)) || narrow(t.at(i)).is_some());
    if !(0..t.len()).any(other) {
        return text;
    }
    let doubles = has_doubles(t);
    let t = Tokens::new(text);
    let mut out = String::with_capacity(t.text.len() + 64);
    let mut at = 0;
    for i in (0..t.len()).filter(|&i| number(&t, i)) {
        let token = t.at(i);
        let new = match narrow(token) {
            // `8.h` has a point already, `8e0h` needs none.
            Some((digits, name)) if digits.contains(['.', 'e', 'E']) => {
                format!("(({name}){digits}f)")
            }
            Some((digits, name)) => format!("(({name}){digits}.f)"),
            None if is_double(token) && !doubles => format!("{token}f"),
            None => continue,
        };
        out.push_str(&t.text[at..t.tokens[i].start]);
        out.push_str(&new);
        at = t.tokens[i].end;
    }
    out + &t.text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> String {
        as_metal(text.into(), &Tokens::new(text.into()))
    }

    #[test]
    fn literals_without_suffix_are_float() {
        assert_eq!(
            converted("x = 1.0 + .5 * 2. - 1e-5 + v.x1 / 0x1p-3;"),
            "x = 1.0f + .5f * 2.f - 1e-5f + v.x1 / 0x1p-3f;"
        );
        assert_eq!(
            converted("x = 0.5h + 8.h - 2h * 1e-2bf;"),
            "x = ((half)0.5f) + ((half)8.f) - ((half)2.f) * ((bfloat)1e-2f);"
        );
        let same = "x = 1.0f + 3u + 0x1e5 + 0xe + 7 + \"1.0\";";
        assert_eq!(converted(same), same);
        for wide in [
            "double x = 1.0;",
            "typedef decltype(1.0) wide; wide x = 2.0;",
        ] {
            assert_eq!(converted(wide), wide);
        }
    }
}
