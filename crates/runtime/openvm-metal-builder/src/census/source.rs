//! The text that clang parses: declarations of Apple's library, then the unit.

use crate::{
    lexer::{TokenKind, Tokens},
    overloads, scope,
};

/// Declarations of Apple's compiler and its library.
pub const LIBRARY: &str = include_str!("../../census/apple_stdlib.h");

/// The parsed text of a unit, with the way back to its tokens.
pub struct Source<'a> {
    /// Tokens of the unit.
    pub t: &'a Tokens,
    /// Source that clang reads. After [`Self::before`] each token stands where it stands in the unit's own text.
    pub text: String,
    /// Length of what stands before the unit.
    pub before: usize,
}

impl<'a> Source<'a> {
    /// The parsed text of a unit's Apple text.
    ///
    /// Attributes `[[...]]` and Apple's own includes are spaces in it: clang does not know them, and takes no attribute between
    /// `template` and an instantiation. So are second definitions that differ in address spaces only.
    pub fn new(t: &'a Tokens) -> Self {
        let mut body = t.text.clone().into_bytes();
        let mut blank = |from: usize, to: usize| {
            for b in &mut body[t.tokens[from].start..t.tokens[to].end] {
                if *b != b'\n' {
                    *b = b' ';
                }
            }
        };
        let mut constants = Vec::new();
        let mut i = 0;
        while i < t.len() {
            if t.is_attribute(i) {
                let end = t.matching(i);
                blank(i, end);
                if t.at(i + 2) == "function_constant" {
                    constants.push(t.tokens[i].start);
                }
                i = end;
            } else if t.tokens[i].kind == TokenKind::Directive && t.at(i).contains("include") {
                blank(i, i);
            }
            i += 1;
        }
        for (from, to) in overloads::superfluous(t, &scope::scopes(t)) {
            blank(from, to - 1);
        }
        // C++ has no constant without a value.
        for at in constants {
            body[at..at + 3].copy_from_slice(b"={}");
        }
        let mut text = format!("#line 1 \"metal_stdlib\"\n{LIBRARY}\n#line 1 \"kernels\"\n");
        let before = text.len();
        // Blanked bytes are whole tokens, so that this stays valid text.
        text += &String::from_utf8_lossy(&body);
        Self { t, text, before }
    }

    /// The token at or behind a byte of the unit.
    pub fn token(&self, offset: usize) -> usize {
        self.t.tokens.partition_point(|t| t.end <= offset)
    }

    /// Original file and line of a byte of the unit.
    pub fn place(&self, offset: usize) -> (String, u32) {
        let last = self.t.len().saturating_sub(1);
        match self.t.tokens.get(self.token(offset).min(last)) {
            Some(t) => (t.file.to_string(), t.line),
            None => (String::new(), 0),
        }
    }
}
