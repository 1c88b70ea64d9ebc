//! Tokens of preprocessed Metal source, each with the file and line it was written on.

use std::sync::Arc;

/// Kind of a [`Token`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// Identifier or keyword.
    Ident,
    /// Number.
    Number,
    /// String or character literal.
    Literal,
    /// Punctuation: one character, or `::` or `->`.
    Punct,
    /// A preprocessor line that survived, such as `#pragma`.
    Directive,
}

/// One token; `start..end` is its byte range in the preprocessed text.
#[derive(Clone, Debug)]
pub struct Token {
    /// Kind.
    pub kind: TokenKind,
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
    /// Original file.
    pub file: Arc<str>,
    /// Original line, from 1.
    pub line: u32,
    /// Doc text (`///` or `//` comment lines directly before the token).
    pub doc: Option<String>,
}

/// Preprocessed text with its tokens.
pub struct Tokens {
    /// The text.
    pub text: String,
    /// The tokens in order.
    pub tokens: Vec<Token>,
}

impl Tokens {
    /// Splits preprocessed text; comments are dropped but remembered as documentation.
    pub fn new(text: String) -> Self {
        let tokens = Lexer::new(&text).run();
        Self { text, tokens }
    }

    /// Text of token `i`, empty past the end.
    pub fn at(&self, i: usize) -> &str {
        self.tokens
            .get(i)
            .map_or("", |t| &self.text[t.start..t.end])
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// True without tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Text of tokens `from..to`, with a single space where the source has any space.
    pub fn join(&self, from: usize, to: usize) -> String {
        let mut out = String::new();
        for i in from..to {
            if i > from && self.tokens[i - 1].end != self.tokens[i].start {
                out.push(' ');
            }
            out.push_str(self.at(i));
        }
        out
    }

    /// True if an attribute `[[` begins at token `i`.
    pub fn is_attribute(&self, i: usize) -> bool {
        self.at(i) == "[" && self.at(i + 1) == "["
    }

    /// Index of the bracket that closes the one at `open` (any of `(`, `[`, `{`), or the last token.
    pub fn matching(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for i in open..self.len() {
            match self.at(i) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => {
                    depth -= 1;
                    if depth == 0 {
                        return i;
                    }
                }
                _ => {}
            }
        }
        self.len().saturating_sub(1)
    }

    /// Index of the `>` that closes the `<` at `open`, if it is a template argument list.
    pub fn matching_angle(&self, open: usize) -> Option<usize> {
        let mut depth = 0usize;
        let mut i = open;
        while i < self.len() {
            match self.at(i) {
                "<" => depth += 1,
                ">" => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(i);
                    }
                }
                "(" | "[" => i = self.matching(i),
                ";" | "{" | "}" => return None,
                _ => {}
            }
            i += 1;
        }
        None
    }
}

struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    file: Arc<str>,
    line: u32,
    doc: Vec<String>,
    doc_line: u32,
    out: Vec<Token>,
}

impl<'a> Lexer<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            at: 0,
            file: Arc::from(""),
            line: 1,
            doc: Vec::new(),
            doc_line: 0,
            out: Vec::new(),
        }
    }

    fn peek(&self, k: usize) -> u8 {
        self.bytes.get(self.at + k).copied().unwrap_or(0)
    }

    fn run(mut self) -> Vec<Token> {
        let mut fresh_line = true;
        while self.at < self.bytes.len() {
            let c = self.peek(0);
            if c == b'\n' {
                self.line += 1;
                self.at += 1;
                fresh_line = true;
            } else if c.is_ascii_whitespace() {
                self.at += 1;
            } else if c == b'#' && fresh_line {
                self.directive();
            } else if c == b'/' && self.peek(1) == b'/' {
                self.line_comment();
            } else if c == b'/' && self.peek(1) == b'*' {
                self.block_comment();
            } else {
                fresh_line = false;
                self.token(c);
            }
        }
        self.out
    }

    fn rest_of_line(&self) -> &'a str {
        let end = self.text[self.at..]
            .find('\n')
            .map_or(self.text.len(), |n| self.at + n);
        &self.text[self.at..end]
    }

    /// `# 12 "file" 1` sets the position of the next line, other directives become tokens.
    fn directive(&mut self) {
        let line = self.rest_of_line();
        let body = line[1..].trim_start();
        let body = body.strip_prefix("line").map_or(body, str::trim_start);
        let digits: String = body.chars().take_while(char::is_ascii_digit).collect();
        if let Ok(n) = digits.parse::<u32>() {
            self.line = n.saturating_sub(1);
            if let (Some(a), Some(b)) = (body.find('"'), body.rfind('"')) {
                if a < b && self.file.as_ref() != &body[a + 1..b] {
                    self.file = Arc::from(&body[a + 1..b]);
                }
            }
            self.at += line.len();
        } else {
            self.push(TokenKind::Directive, line.len());
        }
    }

    fn line_comment(&mut self) {
        let line = self.rest_of_line();
        let text = line.trim_start_matches('/').trim();
        if self.doc_line + 1 != self.line {
            self.doc.clear();
        }
        self.doc.push(text.to_string());
        self.doc_line = self.line;
        self.at += line.len();
    }

    fn block_comment(&mut self) {
        let end = self.text[self.at + 2..]
            .find("*/")
            .map_or(self.text.len(), |n| self.at + n + 4);
        let comment = &self.text[self.at..end];
        self.doc.clear();
        for l in comment.trim_matches(|c| c == '/' || c == '*').lines() {
            self.doc.push(
                l.trim()
                    .trim_start_matches('*')
                    .trim_start_matches('!')
                    .trim()
                    .to_string(),
            );
        }
        self.line += comment.matches('\n').count() as u32;
        self.doc_line = self.line;
        self.at = end;
    }

    fn token(&mut self, c: u8) {
        let rest = &self.bytes[self.at..];
        if c.is_ascii_alphabetic() || c == b'_' {
            let n = rest
                .iter()
                .take_while(|b| b.is_ascii_alphanumeric() || **b == b'_')
                .count();
            self.push(TokenKind::Ident, n);
        } else if c.is_ascii_digit() || (c == b'.' && self.peek(1).is_ascii_digit()) {
            let mut n = 0;
            while let Some(&b) = rest.get(n) {
                let exponent = n > 0 && matches!(rest[n - 1] | 32, b'e' | b'p');
                let hex = rest.get(1).is_some_and(|x| x | 32 == b'x');
                let sign =
                    (b == b'+' || b == b'-') && exponent && (!hex || rest[n - 1] | 32 == b'p');
                if b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'\'') || sign {
                    n += 1;
                } else {
                    break;
                }
            }
            self.push(TokenKind::Number, n);
        } else if c == b'"' || c == b'\'' {
            let mut n = 1;
            while n < rest.len() && rest[n] != c {
                n += if rest[n] == b'\\' { 2 } else { 1 };
            }
            self.push(TokenKind::Literal, (n + 1).min(rest.len()));
        } else {
            let two = rest.starts_with(b"::") || rest.starts_with(b"->");
            // Whole characters, should the source hold any beyond ASCII.
            let one = self.text[self.at..]
                .chars()
                .next()
                .map_or(1, char::len_utf8);
            self.push(TokenKind::Punct, if two { 2 } else { one });
        }
    }

    fn push(&mut self, kind: TokenKind, len: usize) {
        let near = !self.doc.is_empty() && self.doc_line + 1 == self.line;
        let doc = near.then(|| self.doc.join("\n"));
        self.doc.clear();
        self.out.push(Token {
            kind,
            start: self.at,
            end: self.at + len,
            file: self.file.clone(),
            line: self.line,
            doc,
        });
        self.at += len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_follow_line_markers() {
        let t = Tokens::new("# 7 \"a.h\" 1\nint x;\n# 3 \"b.metal\" 2\n  y[b[i]] = 1e-3f;".into());
        let at = |i: usize| (t.at(i), t.tokens[i].file.to_string(), t.tokens[i].line);
        assert_eq!(at(0), ("int", "a.h".into(), 7));
        assert_eq!(at(3), ("y", "b.metal".into(), 3));
        assert_eq!(t.at(11), "1e-3f");
        assert_eq!(t.matching(4), 9);
    }

    #[test]
    fn comments_directly_above_are_documentation() {
        let t = Tokens::new("// lost\n\n/// Folds.\n// Twice.\nkernel void f();".into());
        assert_eq!(t.tokens[0].doc.as_deref(), Some("Folds.\nTwice."));
        assert_eq!(t.tokens[1].doc, None);
    }
}
