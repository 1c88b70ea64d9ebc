//! Overloads and specialisations on address spaces: C++ without address spaces sees one definition twice.

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

/// A function definition as [`superfluous`] sees it.
struct Definition {
    /// The tokens.
    range: (usize, usize),
    /// The declaration as C++ sees it.
    key: String,
    /// Qualifiers behind the parameters that C++ does not allow: those of a constructor.
    qualifiers: Option<(usize, usize)>,
}

/// Token ranges that C++ without address spaces can do without and must: definitions and specialisations that repeat an
/// earlier one up to address spaces, and address spaces of constructors.
pub fn superfluous(t: &Tokens, scopes: &[Scope]) -> Vec<(usize, usize)> {
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
            "struct" if !scope.in_function => {
                let Some((range, key)) = specialisation(t, i) else {
                    continue;
                };
                if !seen.insert((blocks[blocks.len() - 1], key)) {
                    out.push(range);
                }
            }
            "(" if !scope.in_function => {
                let Some(found) = definition(t, i) else {
                    continue;
                };
                if !seen.insert((blocks[blocks.len() - 1], found.key)) {
                    out.push(found.range);
                } else {
                    out.extend(found.qualifiers);
                }
            }
            _ => {}
        }
    }
    out
}

/// The function definition whose parameter list begins at token `open`.
fn definition(t: &Tokens, open: usize) -> Option<Definition> {
    let mut name = open - 1;
    let is_operator = (1..4).any(|k| open >= k && t.at(open - k) == "operator");
    if t.at(name) == ">" && !is_operator {
        // `S<T>()` in the template `S`.
        name = (0..name).rev().take(16).find(|&k| t.at(k) == "<")?;
        name = name.checked_sub(1)?;
    }
    if t.tokens[name].kind != TokenKind::Ident && !is_operator {
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
    let qualified = k;
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
    let mut head = start;
    if t.at(start) == "template" {
        head = t.matching_angle(start + 1)? + 1;
    }
    if (head..open).any(|n| matches!(t.at(n), "(" | "=") && !is_operator) {
        return None;
    }
    let constructor = !is_operator && (head..name).all(|n| is_qualifier(t.at(n)));
    // What C++ tells apart: `constant` is `const`, the other address spaces are nothing.
    let behind = if constructor {
        0
    } else {
        qualified - close - 1
    };
    let mut words: Vec<&str> = Vec::new();
    for n in start..=close + behind {
        match t.at(n) {
            "constant" | "const" if words.last() != Some(&"const") => words.push("const"),
            w if !is_qualifier(w) => words.push(w),
            _ => {}
        }
    }
    Some(Definition {
        range: (start, end),
        key: words.join(" "),
        qualifiers: (constructor && qualified > close + 1).then_some((close + 1, qualified)),
    })
}

/// Range and head of the specialisation `struct S<T device*> {...};` whose `struct` is token `at`.
fn specialisation(t: &Tokens, at: usize) -> Option<((usize, usize), String)> {
    if t.at(at + 2) != "<" {
        return None;
    }
    let start = statement_start(t, at);
    let close = t.matching_angle(at + 2)?;
    let open = (close + 1..t.len()).find(|&k| matches!(t.at(k), "{" | ";"))?;
    let end = t.matching(open) + 1;
    let whole = t.at(open) == "{" && t.at(end) == ";";
    whole.then(|| ((start, end + 1), without_spaces(t, start, close + 1)))
}

/// Tokens `from..to` as C++ distinguishes them: `constant` is `const`, the other address spaces are nothing.
fn without_spaces(t: &Tokens, from: usize, to: usize) -> String {
    let mut words: Vec<&str> = Vec::new();
    for n in from..to {
        match t.at(n) {
            "constant" | "const" if words.last() != Some(&"const") => words.push("const"),
            w if !is_qualifier(w) => words.push(w),
            _ => {}
        }
    }
    words.join(" ")
}
