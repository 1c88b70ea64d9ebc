//! Scope of a token: namespace, type or function body.

use std::sync::Arc;

use crate::lexer::Tokens;

/// Scope of one token.
#[derive(Clone, Debug)]
pub struct Scope {
    /// Inside a function body.
    pub in_function: bool,
    /// Directly or indirectly inside a struct, but not in a function body.
    pub in_type: bool,
    /// Enclosing named namespaces.
    pub namespaces: Arc<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq)]
enum Brace {
    Namespace,
    Type,
    Function,
    Other,
}

/// The scope of each token; a brace belongs to the scope outside it.
pub fn scopes(t: &Tokens) -> Vec<Scope> {
    let mut out = Vec::with_capacity(t.len());
    let mut stack: Vec<(Brace, Scope)> = Vec::new();
    let mut now = Scope {
        in_function: false,
        in_type: false,
        namespaces: Arc::new(Vec::new()),
    };
    for i in 0..t.len() {
        if t.at(i) == "}" {
            if let Some((_, outer)) = stack.pop() {
                now = outer;
            }
        }
        out.push(now.clone());
        if t.at(i) == "{" {
            let brace = if now.in_function {
                Brace::Function
            } else {
                classify(t, i)
            };
            stack.push((brace, now.clone()));
            match brace {
                Brace::Namespace => {
                    let mut names = (*now.namespaces).clone();
                    let from = statement_start(t, i);
                    let named = (from..i).map(|k| t.at(k)).skip_while(|w| *w != "namespace");
                    names.extend(
                        named
                            .filter(|w| !matches!(*w, "namespace" | "::"))
                            .map(String::from),
                    );
                    now.namespaces = Arc::new(names);
                }
                Brace::Type => now.in_type = true,
                Brace::Function | Brace::Other => {
                    now.in_function = true;
                    now.in_type = false;
                }
            }
        }
    }
    out
}

fn classify(t: &Tokens, brace: usize) -> Brace {
    let mut i = statement_start(t, brace);
    if t.at(i) == "namespace" || (t.at(i) == "inline" && t.at(i + 1) == "namespace") {
        return Brace::Namespace;
    }
    while t.at(i) == "template" && t.at(i + 1) == "<" {
        match t.matching_angle(i + 1) {
            Some(end) => i = end + 1,
            None => break,
        }
    }
    if matches!(t.at(i), "typedef" | "constant" | "static") {
        i += 1;
    }
    match t.at(i) {
        "struct" | "class" | "union" | "enum" => {
            // `struct X f() {` is a function, `struct alignas(16) X {` is not.
            let mut k = i;
            while k < brace {
                if t.at(k) == "=" {
                    return Brace::Other;
                }
                if t.at(k) == "(" {
                    let sized = matches!(t.at(k - 1), "alignas" | "__attribute__");
                    if !sized {
                        return Brace::Function;
                    }
                    k = t.matching(k);
                }
                k += 1;
            }
            Brace::Type
        }
        "extern" if t.at(i + 1).starts_with('"') => Brace::Namespace,
        _ if (i..brace).any(|k| t.at(k) == "(") => Brace::Function,
        _ => Brace::Other,
    }
}

/// First token of the declaration that token `at` belongs to.
pub fn statement_start(t: &Tokens, at: usize) -> usize {
    let mut i = at;
    while i > 0 {
        let previous = t.at(i - 1);
        let directive = t.tokens[i - 1].kind == crate::lexer::TokenKind::Directive;
        // A label such as `public:` ends a declaration; the `:` of initialiser lists and `::` do not.
        let label =
            previous == ":" && i > 1 && matches!(t.at(i - 2), "public" | "private" | "protected");
        if matches!(previous, ";" | "{" | "}") || directive || label {
            break;
        }
        i -= 1;
    }
    i
}
