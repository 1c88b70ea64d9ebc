//! Rounds of a loop: variables that each sets anew, and numbers that it takes and puts back.

use std::collections::HashSet;

use super::{
    super::ast::Node,
    functions,
    statements::{branches, Loop},
    summaries::Summaries,
    variables::{self, Change},
};

/// Variables that every round sets anew: declared in it, or set at the top of its statements.
pub fn reset<'n>(l: &Loop<'n, '_>) -> HashSet<&'n str> {
    let mut out = HashSet::new();
    for part in l.parts() {
        part.walk(&mut |n| {
            if n.kind == "VarDecl" && !n.init.is_empty() {
                out.insert(n.id.as_ref());
            }
            true
        });
    }
    let single = [l.body];
    let statements: Vec<&Node<'_>> = match l.body.kind.as_ref() {
        "CompoundStmt" => l.body.inner.iter().collect(),
        _ => single.to_vec(),
    };
    for statement in statements {
        if statement.any(&mut |n| n.kind == "ContinueStmt") {
            break;
        }
        let Some((to, value)) = variables::assignment(statement.peeled()) else {
            continue;
        };
        let variable = variables::place(to.peeled());
        out.extend(variable.filter(|v| !variables::named(value).contains(v)));
    }
    out
}

/// Calls that change a number in memory and forget what it was, on ways to the next round.
pub fn undone<'n, 'a>(n: &'n Node<'a>) -> Vec<&'n Node<'a>> {
    let leaves = |n: &Node<'_>| matches!(n.kind.as_ref(), "BreakStmt" | "ReturnStmt");
    match n.kind.as_ref() {
        "CompoundStmt" if n.inner.iter().any(leaves) => {
            // Those in branches before may go on.
            let branches = n.inner.iter().filter(|c| c.kind == "IfStmt");
            branches.flat_map(undone).collect()
        }
        "CompoundStmt" => n.inner.iter().flat_map(undone).collect(),
        "IfStmt" => branches(n).2.iter().flat_map(undone).collect(),
        _ if step(n.peeled()).is_some() => vec![n.peeled()],
        _ => Vec::new(),
    }
}

/// A condition that holds for some thread of the SIMD-group in each round: its value is the one of the first thread, or the
/// least or largest of all.
pub fn elects<'n, 'a>(
    condition: &'n Node<'a>,
    changes: &[Change<'n, 'a>],
    summaries: &Summaries<'_, 'n, 'a>,
) -> bool {
    split(condition, "&&").into_iter().any(|part| {
        let equation = part.peeled();
        let [first, second] = equation.inner.as_slice() else {
            return false;
        };
        let reads = summaries.reads_shared(part);
        equation.opcode == "=="
            && (is_elected(first, second, changes, reads)
                || is_elected(second, first, changes, reads))
    })
}

/// The value that one thread of the SIMD-group has, of values that `own` is one of. Where it `reads` memory, the thread finds
/// the same value only at the same place.
fn is_elected<'n, 'a>(
    n: &'n Node<'a>,
    own: &'n Node<'a>,
    changes: &[Change<'n, 'a>],
    reads: bool,
) -> bool {
    let named = variables::named(own);
    let atomic = own.any(&mut |n| variables::callee_name(n).starts_with("atomic_"));
    let of_group = |n: &'n Node<'a>| {
        let one = match (variables::callee_name(n), functions::arguments(n)) {
            ("simd_broadcast_first" | "simd_min" | "simd_max", _) => true,
            ("simd_shuffle" | "simd_broadcast", [_, lane]) => is_leader(lane, changes),
            _ => false,
        };
        let is_own = |value: &'n Node<'a>| {
            if reads {
                !atomic && is_same(value, own)
            } else {
                variables::named(value).is_superset(&named)
            }
        };
        one && !named.is_empty() && functions::arguments(n).first().is_some_and(is_own)
    };
    let variable = variables::variable(n.peeled());
    let set = changes.iter().filter(|c| Some(c.variable) == variable);
    let mut values = set.flat_map(|c| &c.values).map(|v| v.peeled());
    of_group(n.peeled()) || values.any(of_group)
}

/// The position of a thread that the threads of the SIMD-group choose anew in each round.
fn is_leader(lane: &Node<'_>, changes: &[Change<'_, '_>]) -> bool {
    let chosen = |n: &Node<'_>| {
        n.any(&mut |n| {
            matches!(
                variables::callee_name(n),
                "simd_min" | "simd_max" | "ctz" | "clz"
            )
        })
    };
    let named = variables::named(lane);
    let mut set = changes.iter().filter(|c| named.contains(c.variable));
    chosen(lane) || set.any(|c| c.values.iter().any(|v| chosen(v)))
}

/// The expressions have the same text.
pub fn is_same(a: &Node<'_>, b: &Node<'_>) -> bool {
    let (a, b) = (a.peeled(), b.peeled());
    let name = |n: &Node<'_>| n.referenced_decl.as_ref().map(|r| r.id.to_string());
    (&a.kind, &a.opcode, &a.value, &a.referenced_member_decl)
        == (&b.kind, &b.opcode, &b.value, &b.referenced_member_decl)
        && name(a) == name(b)
        && a.inner.len() == b.inner.len()
        && a.inner.iter().zip(&b.inner).all(|(a, b)| is_same(a, b))
}

/// A change of a variable to what another thread of the SIMD-group has in it.
pub fn shares(c: &Change<'_, '_>) -> bool {
    let shared = |n: &Node<'_>| {
        variables::callee_name(n).starts_with("simd_broadcast")
            && functions::arguments(n)
                .first()
                .is_some_and(|a| variables::place(a.peeled()) == Some(c.variable))
    };
    c.values.iter().any(|v| shared(v.peeled()))
}

/// Operands of a chain of one logical operator.
pub fn split<'n, 'a>(n: &'n Node<'a>, operator: &str) -> Vec<&'n Node<'a>> {
    let inner = n.peeled();
    if inner.kind == "BinaryOperator" && inner.opcode == operator {
        inner
            .inner
            .iter()
            .flat_map(|c| split(c, operator))
            .collect()
    } else {
        vec![n]
    }
}

/// The direction in which a call changes a number in memory.
fn step(n: &Node<'_>) -> Option<bool> {
    match variables::callee_name(n) {
        "atomic_fetch_add_explicit" => Some(true),
        "atomic_fetch_sub_explicit" => Some(false),
        _ => None,
    }
}

/// True if `undo` puts back the number that `taken` takes.
pub fn undoes(undo: &Node<'_>, taken: &Node<'_>) -> bool {
    let part = |n: &Node<'_>, i: usize| {
        let argument = functions::arguments(n).get(i).map(Node::peeled);
        argument.map(|a| (sorted(a), a.value.to_string()))
    };
    let opposite = matches!((step(undo), step(taken)), (Some(a), Some(b)) if a != b);
    opposite && (0..2).all(|i| part(undo, i) == part(taken, i))
}

/// Variables that an expression names, in order.
fn sorted(n: &Node<'_>) -> Vec<String> {
    let mut out: Vec<String> = variables::named(n).into_iter().map(String::from).collect();
    out.sort();
    out
}
