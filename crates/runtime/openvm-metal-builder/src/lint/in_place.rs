//! Kernels that may work in place: each thread reads no other element than the one that it writes.

use crate::{
    error::Finding,
    lexer::{TokenKind, Tokens},
    lint::Source,
    scan::{KernelFn, Kind},
};

pub(crate) fn check(s: &Source<'_>, out: &mut Vec<Finding>) {
    for f in &s.scan.functions {
        if f.clauses.in_place.is_empty() {
            continue;
        }
        elements(f, out);
        if matches!(f.kind, Kind::Flat | Kind::FlatLane) {
            indices(s, f, out);
        }
    }
}

/// One range as several arguments has elements of one type.
fn elements(f: &KernelFn, out: &mut Vec<Finding>) {
    let mut named = f
        .params
        .iter()
        .filter(|p| f.clauses.in_place.contains(&p.name));
    let Some(first) = named.next() else {
        return;
    };
    if let Some(other) = named.find(|p| p.element != first.element) {
        out.push(Finding {
            file: f.file.clone(),
            line: other.line,
            rule: "overlap",
            message: format!(
                "kernel `{}` takes `{}` and `{}` in place: one is of `{}`, the other of `{}`",
                f.name, first.name, other.name, first.element, other.element
            ),
            remedy: "name buffers of one element type in `InPlace:`",
        });
    }
}

/// True for the name of a variable that the kernel changes after its declaration: `i++`, `i += 1`.
fn is_changed(t: &Tokens, f: &KernelFn, at: usize) -> bool {
    let body = f.params_tokens.1 + 1..f.range.1;
    t.tokens[at].kind == TokenKind::Ident
        && body.into_iter().any(|i| {
            let twice = |k: usize| t.at(k) == t.at(k + 1) && matches!(t.at(k), "+" | "-");
            let operator = matches!(
                t.at(i + 1),
                "+" | "-" | "*" | "/" | "%" | "&" | "|" | "^" | "<" | ">"
            );
            let compound = operator
                && (t.at(i + 2) == "=" || t.at(i + 1) == t.at(i + 2) && t.at(i + 3) == "=")
                && !(matches!(t.at(i + 1), "<" | ">") && t.at(i + 2) == "=");
            let assigned = t.at(i + 1) == "="
                && t.at(i + 2) != "="
                && matches!(t.at(i - 1), ";" | "{" | "}" | ")" | ",");
            t.at(i) == t.at(at) && (twice(i + 1) || twice(i - 2) || compound || assigned)
        })
}

/// True for a name that is an argument by itself: a function takes the index too.
fn is_argument(t: &Tokens, at: usize) -> bool {
    let first = t.at(at - 1) == "(" && t.tokens[at - 2].kind == TokenKind::Ident;
    (first || t.at(at - 1) == ",") && matches!(t.at(at + 1), "," | ")")
}

/// Threads without barriers that read another element than they write: they see neighbours that are done, or not yet.
fn indices(s: &Source<'_>, f: &KernelFn, out: &mut Vec<Finding>) {
    let t = s.t;
    let mut first: Option<String> = None;
    for i in f.params_tokens.1 + 1..f.range.1 {
        let named = !matches!(t.at(i - 1), "." | "->")
            && f.clauses.in_place.iter().any(|name| name == t.at(i));
        if !named || is_argument(t, i) {
            continue;
        }
        let (from, to) = (i + 2, t.matching(i + 1));
        let moving = (from..to).find(|&k| is_changed(t, f, k));
        if t.at(i + 1) != "[" || moving.is_some() {
            let how = moving.map_or("other than by an index".to_string(), |k| {
                format!("by the index `{}`, which changes", t.at(k))
            });
            out.push(s.finding(
                i,
                "overlap",
                format!("kernel `{}` works in place and uses `{}` {how}", f.name, t.at(i)),
                "take the buffers out of `InPlace:`, or read and write `buffer[index]` by one index per thread",
            ));
            return;
        }
        let index = t.join(from, to);
        match &first {
            None => first = Some(index),
            Some(other) if *other != index => {
                out.push(s.finding(
                    i,
                    "overlap",
                    format!(
                        "kernel `{}` works in place and takes elements `{other}` and `{index}` in one thread",
                        f.name
                    ),
                    "take the buffers out of `InPlace:`, or read and write one element per thread",
                ));
                return;
            }
            Some(_) => {}
        }
    }
}
