//! Values of constant expressions in attributes: numbers, constants of the file, sums, products and parentheses.

use crate::lexer::{TokenKind, Tokens};

/// Constants that are looked up in each other.
const DEEPEST: u32 = 16;

/// The value of an expression's text in a file.
pub(super) fn value(file: &Tokens, text: &str) -> Option<u32> {
    let number = evaluate(file, &Tokens::new(text.to_string()), DEEPEST)?;
    u32::try_from(number).ok()
}

fn evaluate(file: &Tokens, text: &Tokens, depth: u32) -> Option<i64> {
    let mut reader = Reader {
        file,
        text,
        at: 0,
        depth: depth.checked_sub(1)?,
    };
    let value = reader.sum()?;
    (reader.at == text.len()).then_some(value)
}

struct Reader<'a> {
    file: &'a Tokens,
    text: &'a Tokens,
    at: usize,
    depth: u32,
}

impl Reader<'_> {
    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            let sign = match self.text.at(self.at) {
                "+" => 1,
                "-" => -1,
                _ => return Some(value),
            };
            self.at += 1;
            value = value.checked_add(sign * self.product()?)?;
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.operand()?;
        loop {
            let multiplies = match self.text.at(self.at) {
                "*" => true,
                "/" => false,
                _ => return Some(value),
            };
            self.at += 1;
            let other = self.operand()?;
            value = if multiplies {
                value.checked_mul(other)?
            } else {
                value.checked_div(other)?
            };
        }
    }

    fn operand(&mut self) -> Option<i64> {
        let word = self.text.at(self.at);
        self.at += 1;
        match self.text.tokens.get(self.at - 1)?.kind {
            TokenKind::Number => number(word),
            TokenKind::Ident => self.constant(word),
            _ if word == "(" => {
                let value = self.sum()?;
                let closes = self.text.at(self.at) == ")";
                self.at += 1;
                closes.then_some(value)
            }
            _ => None,
        }
    }

    /// The value of a constant of the file: `NAME = EXPRESSION;` or `NAME{EXPRESSION};`.
    fn constant(&self, name: &str) -> Option<i64> {
        let t = self.file;
        let declares = |&i: &usize| {
            t.at(i) == name
                && i > 0
                && t.tokens[i - 1].kind == TokenKind::Ident
                && t.at(i + 1) == "="
        };
        let at = (0..t.len()).find(declares)?;
        let end = (at..t.len()).find(|&i| t.at(i) == ";")?;
        let text = Tokens::new(t.join(at + 2, end));
        evaluate(t, &text, self.depth)
    }
}

fn number(word: &str) -> Option<i64> {
    let digits = word
        .trim_end_matches(['u', 'U', 'l', 'L'])
        .replace('\'', "");
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits.as_str()),
    };
    i64::from_str_radix(digits, radix).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_of_constants() {
        let file = Tokens::new("constant constexpr uint N = 8u * 4; constant uint M = N / 2 + 0x10; constant uint A = B; constant uint B = A;".into());
        for (text, expected) in [
            ("256", Some(256)),
            ("32u", Some(32)),
            ("040", Some(32)),
            ("0b100'000u", Some(32)),
            ("0", Some(0)),
            ("08", None),
            ("N", Some(32)),
            ("(M + N) * 2", Some(128)),
            ("N - 1", Some(31)),
            ("T", None),
            ("A", None),
            ("N / 0", None),
            ("1 - 2", None),
            ("4 4", None),
        ] {
            assert_eq!(value(&file, text), expected, "{text}");
        }
    }
}
