//! Guards, barriers and the width of SIMD-groups.
//!
//! Barriers by tokens are those under a condition that names the thread: a build refuses them, without clang. The census follows
//! functions, data and loops.

use crate::{
    error::Finding,
    lexer::TokenKind,
    lint::Source,
    scan::{KernelFn, Kind},
    signature::ParamKind,
};

pub(crate) fn check(s: &Source<'_>, out: &mut Vec<Finding>) {
    for f in &s.scan.functions {
        match f.kind {
            Kind::Flat | Kind::FlatLane => guard(s, f, out),
            Kind::Barrier | Kind::BarrierLane => barriers(s, f, out),
        }
        simd_width(s, f, out);
    }
}

fn body(f: &KernelFn) -> (usize, usize) {
    (f.params_tokens.1 + 1, f.range.1 - 1)
}

/// A flat kernel that returns early on something else than the plain guard.
fn guard(s: &Source<'_>, f: &KernelFn, out: &mut Vec<Finding>) {
    let (from, _) = body(f);
    if f.guard.is_some() || s.t.at(from) != "if" {
        return;
    }
    let close = s.t.matching(from + 1);
    let returns = s.t.at(close + 1) == "return"
        || (s.t.at(close + 1) == "{" && s.t.at(close + 2) == "return");
    if returns && f.kind == Kind::Flat {
        out.push(s.finding(
            from,
            "flat-guard",
            format!("the guard of kernel `{}` is not of the plain form", f.name),
            "begin with exactly `if (gid >= EXPRESSION_OF_PARAMETERS) return;`",
        ));
    }
}

fn thread_names(f: &KernelFn) -> Vec<&str> {
    f.params
        .iter()
        .filter(|p| match &p.kind {
            ParamKind::Builtin(b) => {
                b.starts_with("thread_")
                    || b.starts_with("simdgroup_index")
                    || b.starts_with("quadgroup_index")
            }
            _ => false,
        })
        .map(|p| p.name.as_str())
        .collect()
}

/// Names of [`thread_names`] whose values differ between the threads of a SIMD-group.
fn lane_names(f: &KernelFn) -> Vec<&str> {
    let is_group = |name: &&str| {
        f.params.iter().any(|p| {
            let of_group =
                matches!(&p.kind, ParamKind::Builtin(b) if b.starts_with("simdgroup_index"));
            of_group && p.name == **name
        })
    };
    let names = thread_names(f).into_iter();
    names.filter(|name| !is_group(name)).collect()
}

fn is_sync(word: &str) -> bool {
    matches!(word, "threadgroup_barrier" | "simdgroup_barrier")
        || word.starts_with("simd_")
        || word.starts_with("quad_")
}

/// Barriers and SIMD-group operations under a condition on the thread, or after a thread has returned.
fn barriers(s: &Source<'_>, f: &KernelFn, out: &mut Vec<Finding>) {
    let t = s.t;
    let (from, to) = body(f);
    let threads = thread_names(f);
    let lanes = lane_names(f);
    let sync =
        |i: usize| t.tokens[i].kind == TokenKind::Ident && is_sync(t.at(i)) && t.at(i + 1) == "(";
    let report = |at: usize, message: String, out: &mut Vec<Finding>| {
        out.push(s.finding(
            at,
            "barrier-divergent",
            message,
            "put the barrier where all threads of the threadgroup pass",
        ));
    };
    let barrier = |i: usize| sync(i) && t.at(i) == "threadgroup_barrier";
    let (mut returned, mut groups_returned): (Option<u32>, Option<u32>) = (None, None);
    let mut i = from;
    while i < to {
        let left = returned.or(groups_returned.filter(|_| barrier(i)));
        if let (true, Some(line)) = (sync(i), left) {
            report(
                i,
                format!(
                    "`{}` after some threads have returned in line {line}",
                    t.at(i)
                ),
                out,
            );
            return;
        }
        if t.at(i) == "if" && t.at(i + 1) == "(" {
            let close = t.matching(i + 1);
            let names = |names: &[&str]| (i + 2..close).any(|k| names.contains(&t.at(k)));
            let divergent = names(&threads);
            // The threads of a SIMD-group take one way: they lack barriers of the threadgroup alone.
            let by_group = divergent && !names(&lanes);
            let end = if t.at(close + 1) == "{" {
                t.matching(close + 1)
            } else {
                (close..to).find(|&k| t.at(k) == ";").unwrap_or(to)
            };
            if divergent {
                let is_lost = |k: usize| if by_group { barrier(k) } else { sync(k) };
                if let Some(k) = (close + 1..end).find(|&k| is_lost(k)) {
                    report(
                        k,
                        format!("`{}` under a condition on the thread", t.at(k)),
                        out,
                    );
                }
                let returns = (close + 1..=end).any(|k| t.at(k) == "return");
                let line = returns.then(|| t.tokens[i].line);
                if by_group {
                    groups_returned = groups_returned.or(line);
                } else {
                    returned = returned.or(line);
                    i = end;
                }
            }
        }
        i += 1;
    }
    let asks = |name: &str| {
        f.params
            .iter()
            .any(|p| matches!(&p.kind, ParamKind::Builtin(b) if b == name))
    };
    let barrier = (from..to).any(|k| t.at(k) == "threadgroup_barrier");
    let sized = asks("threads_per_threadgroup")
        || asks("threads_per_grid")
        || asks("simdgroups_per_threadgroup");
    if barrier && !threads.is_empty() && !sized {
        out.push(s.finding(
            f.params_tokens.0,
            "threadgroup-size",
            format!("kernel `{}` depends on one threadgroup size", f.name),
            "take [[threads_per_threadgroup]] and loop `for (i = tid; i < n; i += tpg)`",
        ));
    }
}

/// Thread index taken apart with a literal SIMD width.
fn simd_width(s: &Source<'_>, f: &KernelFn, out: &mut Vec<Finding>) {
    let t = s.t;
    let (from, to) = body(f);
    let threads = thread_names(f);
    for i in from..to.saturating_sub(3) {
        if !threads.contains(&t.at(i)) || t.at(i - 1) == "." {
            continue;
        }
        let number = |k: usize| t.at(k).trim_end_matches(['u', 'U']).to_string();
        let literal = match t.at(i + 1) {
            "&" => number(i + 2) == "31",
            "%" | "/" => number(i + 2) == "32",
            ">" => t.at(i + 2) == ">" && number(i + 3) == "5",
            _ => false,
        };
        if literal && f.kind.barriers() {
            out.push(s.finding(
                i,
                "simd-width",
                format!("`{}` is taken apart with a literal SIMD width", t.at(i)),
                "use [[thread_index_in_simdgroup]] and [[threads_per_simdgroup]]",
            ));
        }
    }
}
