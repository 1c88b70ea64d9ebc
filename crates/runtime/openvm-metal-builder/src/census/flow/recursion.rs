//! Functions that call themselves, directly or through others: Metal has no stack for them.

use super::{
    super::ast::Node,
    functions::{Function, Functions},
};

/// The call that closes each cycle of functions, with the names around it.
pub fn cycles<'n, 'a>(functions: &Functions<'n, 'a>) -> Vec<(&'n Node<'a>, String)> {
    let edges: Vec<Vec<(usize, &Node<'_>)>> =
        functions.all.iter().map(|f| calls(f, functions)).collect();
    let mut out = Vec::new();
    let mut done = vec![false; edges.len()];
    for start in 0..edges.len() {
        if done[start] {
            continue;
        }
        let Some(path) = path_back(start, &edges) else {
            continue;
        };
        let (_, call) = path[path.len() - 1];
        let mut names = vec![functions.all[start].name];
        for (to, _) in path {
            done[to] = true;
            names.push(functions.all[to].name);
        }
        out.push((call, names.join(" -> ")));
    }
    out
}

fn calls<'n, 'a>(
    f: &Function<'n, 'a>,
    functions: &Functions<'n, 'a>,
) -> Vec<(usize, &'n Node<'a>)> {
    let mut out = Vec::new();
    f.body.walk(&mut |n| {
        out.extend(functions.named(n).map(|to| (to, n)));
        true
    });
    out
}

/// A shortest way of calls from a function to itself.
fn path_back<'n, 'a>(
    start: usize,
    edges: &[Vec<(usize, &'n Node<'a>)>],
) -> Option<Vec<(usize, &'n Node<'a>)>> {
    let mut from: Vec<Option<(usize, &'n Node<'a>)>> = vec![None; edges.len()];
    let mut queue = std::collections::VecDeque::from([start]);
    while let Some(at) = queue.pop_front() {
        for &(to, call) in &edges[at] {
            if from[to].is_none() {
                from[to] = Some((at, call));
                queue.push_back(to);
            }
        }
    }
    let mut path = Vec::new();
    let mut at = start;
    loop {
        let (before, call) = from[at]?;
        path.push((at, call));
        at = before;
        if at == start {
            path.reverse();
            return Some(path);
        }
    }
}
