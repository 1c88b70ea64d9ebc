//! Kind of a kernel: with or without barriers, and its guard.

use std::collections::{HashMap, HashSet};

use crate::{
    kernel_fn::{Guard, Kind},
    lexer::{TokenKind, Tokens},
    scope::Scope,
    signature::{Param, ParamKind},
};

fn is_barrier_name(name: &str) -> bool {
    name == "threadgroup_barrier"
        || name.starts_with("simd_")
        || name.starts_with("simdgroup_")
        || name.starts_with("quad_")
}

/// Names of SIMD-group matrices and what is done with them.
pub(super) fn is_matrix_name(name: &str) -> bool {
    matches!(
        name,
        "simdgroup_load"
            | "simdgroup_store"
            | "simdgroup_multiply"
            | "simdgroup_multiply_accumulate"
    )
}

fn called(t: &Tokens, i: usize) -> bool {
    t.tokens[i].kind == TokenKind::Ident && matches!(t.at(i + 1), "(" | "<")
}

/// Names of functions that reach a barrier or SIMD-group operation.
pub(super) fn barrier_functions(t: &Tokens, scopes: &[Scope]) -> HashSet<String> {
    let mut calls: HashMap<&str, HashSet<&str>> = HashMap::new();
    for (i, scope) in scopes.iter().enumerate() {
        if scope.in_function || t.tokens[i].kind != TokenKind::Ident || t.at(i + 1) != "(" {
            continue;
        }
        let mut body = t.matching(i + 1) + 1;
        while matches!(
            t.at(body),
            "const" | "device" | "thread" | "constant" | "threadgroup" | "noexcept"
        ) {
            body += 1;
        }
        if t.at(body) == "{" {
            let end = t.matching(body);
            let names = (body..end).filter(|&k| called(t, k)).map(|k| t.at(k));
            calls.entry(t.at(i)).or_default().extend(names);
        }
    }
    let mut out: HashSet<String> = HashSet::new();
    loop {
        let before = out.len();
        for (name, inner) in &calls {
            if inner.iter().any(|n| is_barrier_name(n) || out.contains(*n)) {
                out.insert((*name).to_string());
            }
        }
        if out.len() == before {
            return out;
        }
    }
}

/// The kind of a kernel with the body at tokens `body..end`.
pub(super) fn kind(
    t: &Tokens,
    params: &[Param],
    barriers: &HashSet<String>,
    body: usize,
    end: usize,
) -> Kind {
    let in_body = (body..end).any(|i| {
        t.at(i) == "threadgroup"
            || (called(t, i) && (is_barrier_name(t.at(i)) || barriers.contains(t.at(i))))
    });
    let in_params = params.iter().any(|p| match &p.kind {
        ParamKind::Threadgroup => true,
        ParamKind::Builtin(b) => b.contains("simdgroup") || p.element == "tid_l",
        _ => false,
    });
    let lanes = params.iter().any(Param::is_lane);
    match (in_body || in_params, lanes) {
        (false, false) => Kind::Flat,
        (false, true) => Kind::FlatLane,
        (true, false) => Kind::Barrier,
        (true, true) => Kind::BarrierLane,
    }
}

/// The guard at the head of the body that begins at token `body`.
pub(super) fn guard(t: &Tokens, params: &[Param], body: usize) -> Option<Guard> {
    let gid = params
        .iter()
        .find(|p| p.kind == ParamKind::Builtin("thread_position_in_grid".into()))?;
    let i = body + 1;
    if t.at(i) != "if" || t.at(i + 1) != "(" || t.at(i + 2) != gid.name {
        return None;
    }
    let close = t.matching(i + 1);
    let vector = t.at(i + 3) == "." && t.at(i + 4) == "x";
    let op = if vector { i + 5 } else { i + 3 };
    let plain = t.at(op) == ">" && t.at(op + 1) == "=";
    let returns = t.at(close + 1) == "return" && t.at(close + 2) == ";";
    let uses_gid = (op + 2..close).any(|k| t.at(k) == gid.name);
    let logic = (op + 2..close)
        .any(|k| matches!(t.at(k), "|" | "&" | "?") && t.at(k) == t.at(k + 1) || t.at(k) == "?");
    (plain && returns && !uses_gid && !logic).then(|| Guard {
        statement: (i, close + 3),
        condition: (i + 2, close),
        bound: t.join(op + 2, close),
    })
}
