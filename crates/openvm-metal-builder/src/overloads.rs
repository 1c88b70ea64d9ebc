//! Functions that are overloaded on address spaces: C++ without address spaces sees them as one.

use std::collections::HashSet;

use crate::{
    lexer::{TokenKind, Tokens},
    scope::{statement_start, Scope},
};

fn is_qualifier(word: &str) -> bool {
    matches!(
        word,
        "device"
            | "constant"
            | "thread"
            | "threadgroup"
            | "const"
            | "constexpr"
            | "inline"
            | "METAL_FUNC"
            | "volatile"
    )
}

/// Token ranges of definitions that repeat an earlier one up to address spaces and `const`.
pub fn repeated(t: &Tokens, scopes: &[Scope]) -> Vec<(usize, usize)> {
    let mut out = Vec::new();
    let mut seen = HashSet::new();
    let mut blocks = vec![0usize];
    let mut count = 0;
    for (i, scope) in scopes.iter().enumerate().skip(1) {
        match t.at(i) {
            "{" => {
                count += 1;
                blocks.push(count);
            }
            "}" if blocks.len() > 1 => {
                blocks.pop();
            }
            "(" if !scope.in_function => {
                let Some((start, end, key)) = definition(t, i) else {
                    continue;
                };
                if !seen.insert((blocks[blocks.len() - 1], key)) {
                    out.push((start, end));
                }
            }
            _ => {}
        }
    }
    out
}

/// Range and signature of the function definition whose parameter list begins at token `open`.
fn definition(t: &Tokens, open: usize) -> Option<(usize, usize, String)> {
    let name = &t.tokens[open - 1];
    let is_operator = (1..4).any(|k| open >= k && t.at(open - k) == "operator");
    if name.kind != TokenKind::Ident && !is_operator {
        return None;
    }
    let mut start = statement_start(t, open);
    while t.tokens[start].kind == TokenKind::Directive {
        start += 1;
    }
    let close = t.matching(open);
    let mut k = close + 1;
    while is_qualifier(t.at(k)) || t.at(k) == "noexcept" {
        k += 1;
    }
    if t.at(k) == ":" {
        // Initialisers of a constructor: `a(x), b{y} {`.
        while k < t.len() && !(t.at(k) == "{" && matches!(t.at(k - 1), ")" | "}")) {
            k = if matches!(t.at(k), "(" | "[")
                || (t.at(k) == "{" && !matches!(t.at(k - 1), ")" | "}"))
            {
                t.matching(k) + 1
            } else {
                k + 1
            };
        }
    }
    let end = match t.at(k) {
        "{" => t.matching(k) + 1,
        "=" if matches!(t.at(k + 1), "default" | "delete") && t.at(k + 2) == ";" => k + 3,
        _ => return None,
    };
    if matches!(t.at(start), "template")
        || (start..open).any(|n| matches!(t.at(n), "(" | "=") && !is_operator)
    {
        return None;
    }
    let words: Vec<&str> = (start..=close)
        .map(|n| t.at(n))
        .filter(|w| !is_qualifier(w))
        .collect();
    Some((start, end, words.join(" ")))
}
