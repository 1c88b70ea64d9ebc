//! Kernels that may work in place: each thread reads no other element than the one that it writes.

use crate::{
    error::Finding,
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

/// Threads without barriers that read another element than they write: they see neighbours that are done, or not yet.
fn indices(s: &Source<'_>, f: &KernelFn, out: &mut Vec<Finding>) {
    let t = s.t;
    let mut first: Option<String> = None;
    for i in f.params_tokens.1 + 1..f.range.1 {
        let subscript = t.at(i + 1) == "["
            && !matches!(t.at(i - 1), "." | "->")
            && f.clauses.in_place.iter().any(|name| name == t.at(i));
        if !subscript {
            continue;
        }
        let index = t.join(i + 2, t.matching(i + 1));
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
