//! Rules on the flow of control: what the threads of a GPU cannot do, found in the functions that are compiled.

mod aliases;
mod components;
mod divergence;
pub(super) mod functions;
mod recursion;
mod rounds;
mod statements;
mod summaries;
mod uniformity;
pub(super) mod variables;
mod waits;
mod ways;

use self::functions::Functions;
use super::{ast::Node, index::Index, source::Source};
use crate::scan;

/// A broken rule, at a node of the tree.
pub(super) struct Broken<'n, 'a> {
    pub at: &'n Node<'a>,
    pub rule: &'static str,
    pub message: String,
    pub remedy: &'static str,
}

/// Names objects of the thread by their variables in a unit's functions: without aliases, and with components as members.
pub(super) fn name_objects(root: &mut Node<'_>, s: &Source<'_>, index: &Index) {
    for n in &mut root.inner {
        if n.offset(s.before).is_some() {
            aliases::replace(n, index);
            components::split(n, s);
        }
    }
}

/// Rules that the functions of a unit break.
pub(super) fn check<'n, 'a>(
    root: &'n Node<'a>,
    s: &Source<'_>,
    index: &Index,
) -> Vec<Broken<'n, 'a>> {
    let functions = Functions::new(root, s);
    let cycles = recursion::cycles(&functions)
        .into_iter()
        .map(|(at, names)| Broken {
            at,
            rule: "recursion",
            message: format!("a function calls itself: {names}"),
            remedy: "use a loop",
        });
    let waits = waits::waits(&functions, index, s).into_iter().map(|at| Broken {
        at,
        rule: "atomic-wait",
        message: "a loop that ends when another thread has written".into(),
        remedy: "use a barrier within a threadgroup, and a second launch between threadgroups: Apple's GPUs do not promise that other threads run meanwhile",
    });
    let mut undefined = Vec::new();
    for f in &functions.all {
        f.body.walk(&mut |at| {
            undefined.extend(functions.undefined(at).map(|name| Broken {
                at,
                rule: "unknown-name",
                message: format!("`{name}` is declared and has no body"),
                remedy: "define it in the unit: nothing is linked to it",
            }));
            true
        });
    }
    let scan = scan::scan(s.t);
    let divergent = divergence::divergent(&functions, &scan, index, s);
    let divergent = divergent.into_iter().map(|(at, message)| Broken {
        at,
        rule: "barrier-divergent",
        message,
        remedy: "put it where all threads pass that take part in it",
    });
    cycles
        .chain(waits)
        .chain(divergent)
        .chain(undefined)
        .collect()
}
