//! Floating point literals: without a suffix they are float in Metal and double in C++.

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

/// C++ `text`, made from `t`, with a suffix where literals have none.
pub fn as_float(text: String, t: &Tokens) -> String {
    let found = |t: &Tokens, i: usize| t.tokens[i].kind == TokenKind::Number && is_double(t.at(i));
    if !(0..t.len()).any(|i| found(t, i)) || has_doubles(t) {
        return text;
    }
    let t = Tokens::new(text);
    let mut out = String::with_capacity(t.text.len() + 64);
    let mut at = 0;
    for i in (0..t.len()).filter(|&i| found(&t, i)) {
        let end = t.tokens[i].end;
        out.push_str(&t.text[at..end]);
        out.push('f');
        at = end;
    }
    out + &t.text[at..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> String {
        as_float(text.into(), &Tokens::new(text.into()))
    }

    #[test]
    fn literals_without_suffix_are_float() {
        assert_eq!(
            converted("x = 1.0 + .5 * 2. - 1e-5 + v.x1 / 0x1p-3;"),
            "x = 1.0f + .5f * 2.f - 1e-5f + v.x1 / 0x1p-3f;"
        );
        let same = "x = 1.0f + 0.5h + 3u + 0x1e5 + 0xe + 7 + \"1.0\";";
        assert_eq!(converted(same), same);
        for wide in [
            "double x = 1.0;",
            "typedef decltype(1.0) wide; wide x = 2.0;",
        ] {
            assert_eq!(converted(wide), wide);
        }
    }
}
