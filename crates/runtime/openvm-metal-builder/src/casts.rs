//! Metal's casts that C++ lacks or reads differently.

use crate::lexer::{TokenKind, Tokens};

/// Last token of the operand of a cast that begins at token `i`, if one does.
pub fn operand(t: &Tokens, mut i: usize) -> Option<usize> {
    let value = |i: usize| {
        let kind = t.tokens.get(i)?.kind;
        matches!(kind, TokenKind::Ident | TokenKind::Number).then_some(())
    };
    while matches!(t.at(i), "-" | "*" | "&" | "!" | "~") {
        i += 1;
    }
    let mut last = if t.at(i) == "(" {
        let close = t.matching(i);
        // `(half4)(T)x`: a name in parentheses before an operand is a cast.
        if value(i + 1).is_some() && close == i + 2 && value(close + 1).is_some() {
            return operand(t, close + 1);
        }
        close
    } else {
        value(i)?;
        i
    };
    loop {
        last = match t.at(last + 1) {
            "(" | "[" => t.matching(last + 1),
            "." | "::" | "->" => last + 2,
            _ => return Some(last),
        };
    }
}

/// Ends the type of a pointer or reference.
pub fn is_pointer(word: &str) -> bool {
    matches!(word, "*" | "&")
}
