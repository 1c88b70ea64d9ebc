//! Loops that wait for another thread: threads of Apple's GPUs that wait keep others from running, so that they never end.
//!
//! A loop ends when one of its conditions to leave holds. It waits if these depend on memory that other threads write, and
//! some way around the loop changes nothing of its own that they depend on: a counter, an index, a place in a list. What
//! makes progress whenever it fails is no wait: an exchange whose new value depends on the old one, a number taken from a queue.

use std::collections::{HashMap, HashSet};

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Functions},
    rounds::{self, split},
    statements::{branches, Loop},
    summaries::Summaries,
    variables::{self, Change, Graph},
};

/// Loops of the unit that wait.
pub fn waits<'n, 'a>(
    functions: &Functions<'n, 'a>,
    index: &Index,
    s: &Source<'_>,
) -> Vec<&'n Node<'a>> {
    let summaries = Summaries::new(functions, index, s);
    let mut out = Vec::new();
    for f in &functions.all {
        f.body.walk(&mut |n| {
            if Loop::new(n).is_some_and(|l| waits_in(&l, &summaries)) {
                out.push(n);
            }
            true
        });
    }
    out
}

fn waits_in<'n, 'a>(l: &Loop<'n, 'a>, summaries: &Summaries<'_, 'n, 'a>) -> bool {
    if l.condition.is_some_and(is_false) || summaries.steps_together(l.body) {
        return false;
    }
    LoopFacts::new(l, summaries).is_some_and(|facts| facts.has_idle_round(l))
}

/// True for the condition of a block that is left at its end: `do { } while (false);`.
fn is_false(condition: &Node<'_>) -> bool {
    let value = condition.peeled();
    let literal = matches!(value.kind.as_ref(), "CXXBoolLiteralExpr" | "IntegerLiteral");
    literal && matches!(value.value.as_ref(), "false" | "0")
}

/// A condition in a loop.
struct Choice<'n, 'a> {
    condition: Option<&'n Node<'a>>,
    /// Variables that it names.
    named: HashSet<&'n str>,
    /// It reads what other threads write.
    reads: bool,
    /// Variables that its branches change.
    changed: HashSet<&'n str>,
}

/// Variables that are changed by the expressions below `n`; the conditions there are added to `choices`.
fn changed_below<'n, 'a>(
    n: &'n Node<'a>,
    by_node: &HashMap<*const Node<'a>, Vec<&'n str>>,
    summaries: &Summaries<'_, 'n, 'a>,
    choices: &mut Vec<Choice<'n, 'a>>,
) -> HashSet<&'n str> {
    let own = by_node.get(&std::ptr::from_ref(n)).into_iter().flatten();
    let mut out: HashSet<&str> = own.copied().collect();
    if n.kind == "IfStmt" {
        let (first, condition, branches) = branches(n);
        let mut changed = HashSet::new();
        for branch in branches {
            changed.extend(changed_below(branch, by_node, summaries, choices));
        }
        choices.push(Choice {
            condition,
            named: condition.map(variables::named).unwrap_or_default(),
            reads: condition.is_some_and(|c| summaries.reads_shared(c)),
            changed: changed.clone(),
        });
        out.extend(changed);
        for part in first.iter().chain(condition) {
            out.extend(changed_below(part, by_node, summaries, choices));
        }
        return out;
    }
    for child in &n.inner {
        out.extend(changed_below(child, by_node, summaries, choices));
    }
    out
}

/// Adds to a set until nothing is added.
fn grow<'n>(set: &mut HashSet<&'n str>, mut add: impl FnMut(&mut HashSet<&'n str>)) {
    loop {
        let before = set.len();
        add(set);
        if set.len() == before {
            return;
        }
    }
}

/// Ways to the end of a statement: with progress of the loop's own, and without.
#[derive(Clone, Copy, Default)]
struct Ways {
    progress: bool,
    idle: bool,
}

impl Ways {
    fn either(self, other: Self) -> Self {
        Self {
            progress: self.progress || other.progress,
            idle: self.idle || other.idle,
        }
    }

    /// The same ways, with progress.
    fn advanced(self) -> Self {
        Self {
            progress: self.progress || self.idle,
            idle: false,
        }
    }

    fn is_empty(self) -> bool {
        !self.progress && !self.idle
    }
}

/// Facts about one loop.
struct LoopFacts<'u, 'n, 'a> {
    summaries: &'u Summaries<'u, 'n, 'a>,
    changes: Vec<Change<'n, 'a>>,
    graph: Graph<'n>,
    /// Expressions whose change of a variable depends on what it was in the round before.
    moves: HashSet<*const Node<'a>>,
    /// Variables that the conditions to leave depend on.
    deciding: HashSet<&'n str>,
    /// Variables that each round sets anew.
    reset: HashSet<&'n str>,
    /// Calls that put back a number that was taken.
    undone: Vec<&'n Node<'a>>,
    /// Variables that the loop sets to what other threads write, or to what depends on it.
    foreign: HashSet<&'n str>,
    /// Conditions to leave, each of parts that hold together.
    exits: Vec<Vec<&'n Node<'a>>>,
}

impl<'u, 'n, 'a> LoopFacts<'u, 'n, 'a> {
    /// Facts about a loop whose conditions to leave depend on what other threads write; `None` for others.
    fn new(l: &Loop<'n, 'a>, summaries: &'u Summaries<'u, 'n, 'a>) -> Option<Self> {
        let mut exits = Vec::new();
        if let Some(condition) = l.condition {
            // The loop is left when one of the parts does not hold.
            let parts = split(condition, "&&").into_iter();
            exits.extend(parts.map(|part| split(part, "||")));
        }
        leaving(l.body, &mut Vec::new(), true, &mut exits);
        let changes: Vec<Change<'_, '_>> = l.parts().flat_map(|p| summaries.changes(p)).collect();
        let mut by_node: HashMap<*const Node<'a>, Vec<&str>> = HashMap::new();
        for c in &changes {
            by_node
                .entry(std::ptr::from_ref(c.at))
                .or_default()
                .push(c.variable);
        }
        let members: HashSet<_> = l.parts().flat_map(variables::members).collect();
        let mut choices = Vec::new();
        for part in l.parts() {
            changed_below(part, &by_node, summaries, &mut choices);
        }
        let mut out = Self {
            summaries,
            graph: Graph::new(&changes, &members),
            moves: HashSet::new(),
            deciding: HashSet::new(),
            reset: HashSet::new(),
            undone: Vec::new(),
            foreign: foreign(&changes, &members, &choices, summaries),
            exits,
            changes,
        };
        if !out.exits.iter().flatten().any(|n| out.depends_on_others(n)) {
            return None;
        }
        // Many ways to leave have parts in common.
        let mut parts: HashMap<*const Node<'a>, (HashSet<&str>, bool)> = HashMap::new();
        for n in out.exits.iter().flatten() {
            let part = parts.entry(std::ptr::from_ref(*n));
            part.or_insert_with(|| (out.origins(n, &choices), out.depends_on_others(n)));
        }
        let elects = |c: &&Choice<'n, 'a>| c.condition.is_some_and(|c| out.elects(c));
        let elected: HashSet<&str> = choices
            .iter()
            .filter(elects)
            .flat_map(|c| &c.changed)
            .copied()
            .collect();
        let mut asked: HashSet<&str> = parts.values().flat_map(|(o, _)| o).copied().collect();
        let mut exchanged = HashSet::new();
        for part in l.parts() {
            part.walk(&mut |n| {
                if let Some(old) = variables::exchanged(n) {
                    exchanged.insert(old);
                    asked.extend(
                        functions::arguments(n)
                            .first()
                            .into_iter()
                            .flat_map(variables::named),
                    );
                }
                true
            });
        }
        let reset = rounds::reset(l);
        // An exchange that fails leaves what memory has, whatever was expected.
        let kept = |c: &&Change<'n, 'a>| {
            !exchanged.contains(c.variable) || variables::exchanged(c.at).is_some()
        };
        let graph = Graph::new(out.changes.iter().filter(kept), &members);
        let moving = |c: &&Change<'n, 'a>| {
            let mut from = c.from.clone();
            if reset.contains(c.variable) {
                // What it was in the round before is known through other variables only.
                from.remove(c.variable);
            }
            asked.contains(c.variable)
                && kept(c)
                && !rounds::shares(c)
                && graph.closure(from).contains(c.variable)
        };
        let moving: Vec<&Change<'_, '_>> = out.changes.iter().filter(moving).collect();
        for (origins, waits) in parts.values_mut() {
            let moves = moving.iter().any(|c| origins.contains(c.variable));
            *waits &= !moves && elected.is_disjoint(origins);
        }
        let mut deciding = HashSet::new();
        for exit in &out.exits {
            let of_exit = || exit.iter().map(|n| &parts[&std::ptr::from_ref(*n)]);
            // Where one part waits, progress by another one does not leave.
            if !of_exit().any(|(_, waits)| *waits) {
                deciding.extend(of_exit().flat_map(|(origins, _)| origins));
            }
        }
        out.moves = moving.iter().map(|c| std::ptr::from_ref(c.at)).collect();
        out.deciding = deciding;
        out.reset = reset;
        out.undone = rounds::undone(l.body);
        Some(out)
    }

    /// Variables that an expression depends on, by the conditions under which they are changed too.
    fn origins(&self, n: &'n Node<'a>, choices: &[Choice<'n, 'a>]) -> HashSet<&'n str> {
        let mut out = self.graph.closure(variables::named(n));
        grow(&mut out, |out| {
            let choosing = choices.iter().filter(|c| !c.changed.is_disjoint(out));
            let read = choosing
                .flat_map(|c| &c.named)
                .chain(&*out)
                .copied()
                .collect();
            out.extend(self.graph.closure(read));
        });
        out
    }

    fn elects(&self, condition: &'n Node<'a>) -> bool {
        rounds::elects(condition, &self.changes, self.summaries)
    }

    fn depends_on_others(&self, n: &Node<'_>) -> bool {
        self.summaries.reads_shared(n) || !variables::named(n).is_disjoint(&self.foreign)
    }

    /// Some way around the loop makes no progress of its own.
    fn has_idle_round(&self, l: &Loop<'n, 'a>) -> bool {
        let mut again = Ways::default();
        let start = Ways {
            progress: false,
            idle: true,
        };
        let end = self.ways(l.body, start, false, &mut again).either(again);
        let others = [l.step, l.declared, l.condition];
        let advanced = others
            .into_iter()
            .flatten()
            .any(|n| self.advances(n, false));
        end.idle && !advanced
    }

    /// Ways to the end of a statement from the ways to its begin; ways to the next round are added to `again`. `inside` says
    /// that a condition of the loop decides whether it is reached.
    fn ways(&self, n: &'n Node<'a>, from: Ways, inside: bool, again: &mut Ways) -> Ways {
        if from.is_empty() {
            return from;
        }
        match n.kind.as_ref() {
            "CompoundStmt" => {
                let statements = n.inner.iter();
                statements.fold(from, |w, c| self.ways(c, w, inside, again))
            }
            "BreakStmt" | "ReturnStmt" => Ways::default(),
            "ContinueStmt" => {
                *again = again.either(from);
                Ways::default()
            }
            "IfStmt" => {
                let (_, condition, branches) = branches(n);
                let foreign =
                    condition.is_some_and(|c| self.depends_on_others(c) && !self.elects(c));
                let after = |advances: bool| if advances { from.advanced() } else { from };
                let holds = after(condition.is_some_and(|c| self.advances(c, inside)));
                let fails = after(condition.is_some_and(|c| self.surely_advances(c, inside)));
                let mut way = |branch: Option<&'n Node<'a>>, from: Ways| {
                    branch.map_or(from, |b| self.ways(b, from, true, again))
                };
                let then = way(branches.first(), holds);
                let both = then.either(way(branches.get(1), fails));
                // A condition on values of its own is assumed to choose a way with progress.
                if both.progress && !foreign {
                    both.advanced()
                } else {
                    both
                }
            }
            // Breaks in it leave it alone.
            "ForStmt" | "WhileStmt" | "DoStmt" | "SwitchStmt" => {
                let advanced = self.advances(n, true);
                let end = if advanced { from.advanced() } else { from };
                if n.kind == "SwitchStmt" && n.any(&mut |n| n.kind == "ContinueStmt") {
                    *again = again.either(end);
                }
                end
            }
            _ if self.advances(n, inside) => from.advanced(),
            _ => from,
        }
    }

    /// The expressions below `n` change what the loop ends by, from what it was.
    fn advances(&self, n: &'n Node<'a>, inside: bool) -> bool {
        let own = self.summaries.changes(n).iter().any(|c| {
            let set = || {
                (inside || self.is_flag(c.variable))
                    && c.at.kind != "VarDecl"
                    && !self.reset.contains(c.variable)
                    && c.from.is_disjoint(&self.foreign)
                    && !c.values.iter().any(|v| self.summaries.reads_shared(v))
            };
            self.deciding.contains(c.variable)
                && (self.moves.contains(&std::ptr::from_ref(c.at)) || set())
        });
        own || n.any(&mut |n| {
            self.summaries.advances(n)
                || self.summaries.takes_number(n)
                    && self.ends_in_order_of_number(n)
                    && !self.undone.iter().any(|undo| rounds::undoes(undo, n))
                || variables::exchanged(n).is_some_and(|old| self.exchange_advances(n, old))
        })
    }

    /// Does the work of [`Self::advances`] for those parts of a condition that are reached whatever other threads write.
    fn surely_advances(&self, n: &'n Node<'a>, inside: bool) -> bool {
        let inner = n.peeled();
        match (inner.opcode.as_ref(), inner.inner.as_slice()) {
            ("&&" | "||", [first, second]) => {
                let second =
                    || !self.depends_on_others(first) && self.surely_advances(second, inside);
                self.surely_advances(first, inside) || second()
            }
            ("!", [operand]) => self.surely_advances(operand, inside),
            _ => self.advances(n, inside),
        }
    }

    /// When the exchange fails, another thread has succeeded, or the loop goes on elsewhere or ends.
    fn exchange_advances(&self, n: &'n Node<'a>, old: &str) -> bool {
        let place = functions::arguments(n).first().map(variables::named);
        let moving = |c: &Change<'_, '_>| self.moves.contains(&std::ptr::from_ref(c.at));
        let searches = place.is_some_and(|named| {
            let changes = self.changes.iter();
            changes.filter(|c| named.contains(c.variable)).any(moving)
        });
        let names = |exit: &Node<'_>| {
            exit.any(&mut |n| variables::place(n) == Some(old))
                && !exit.any(&mut |c| std::ptr::eq(c, n))
        };
        let changes = self.changes.iter().filter(|c| c.variable == old).count();
        let tells = changes == 1 && self.exits.iter().flatten().any(|exit| names(exit));
        searches
            || tells
            || variables::retries(n, &self.changes, &self.graph)
            || self.ends_in_order_of(&|n| variables::place(n) == Some(old))
    }

    /// A `bool` that a condition to leave names.
    fn is_flag(&self, variable: &str) -> bool {
        let names = |n: &Node<'_>| variables::place(n) == Some(variable) && n.ty.text() == "bool";
        let mut exits = self.exits.iter().flatten();
        exits.any(|exit| exit.any(&mut |n| names(n)))
    }

    /// A number that was taken ends the loop when it is large, not when it is one value, as a lock's.
    fn ends_in_order_of_number(&self, taken: &Node<'_>) -> bool {
        let is_taken = |n: &Node<'_>| std::ptr::eq(n, taken);
        let holder = self
            .changes
            .iter()
            .find(|c| c.values.iter().any(|v| v.any(&mut |n| is_taken(n))));
        self.ends_in_order_of(&|n| {
            let depends = |c: &Change<'n, 'a>| {
                let variable = variables::place(n).and_then(|v| self.graph.own(v));
                variable.is_some_and(|v| self.graph.closure([v].into()).contains(c.variable))
            };
            is_taken(n) || holder.is_some_and(depends)
        })
    }

    /// A condition to leave asks which of two values is larger, of which one is found by `holds`.
    fn ends_in_order_of(&self, holds: &dyn Fn(&Node<'_>) -> bool) -> bool {
        self.exits.iter().flatten().any(|exit| {
            exit.any(&mut |n| {
                matches!(n.opcode.as_ref(), "<" | ">" | "<=" | ">=") && n.any(&mut |n| holds(n))
            })
        })
    }
}

/// Variables that a loop sets to what other threads write, to what depends on it, or under a condition on it.
fn foreign<'n, 'a>(
    changes: &[Change<'n, 'a>],
    members: &HashSet<(&'n str, &'n str)>,
    choices: &[Choice<'n, 'a>],
    summaries: &Summaries<'_, 'n, 'a>,
) -> HashSet<&'n str> {
    let reading: Vec<bool> = changes
        .iter()
        .map(|c| c.values.iter().any(|v| summaries.reads_shared(v)))
        .collect();
    let elects = |c: &&Choice<'n, 'a>| {
        c.condition
            .is_some_and(|c| rounds::elects(c, changes, summaries))
    };
    let choices: Vec<_> = choices.iter().filter(|c| !elects(c)).collect();
    let mut out = HashSet::new();
    grow(&mut out, |out| {
        for (c, reads) in changes.iter().zip(&reading) {
            if *reads || !c.from.is_disjoint(out) {
                out.extend([c.variable, c.object]);
                let own = members.iter().filter(|(object, _)| *object == c.variable);
                out.extend(own.map(|(_, member)| *member));
            }
        }
        for c in &choices {
            if c.reads || !c.named.is_disjoint(out) {
                out.extend(&c.changed);
            }
        }
    });
    out
}

/// Conditions around each statement that leaves the loop.
fn leaving<'n, 'a>(
    n: &'n Node<'a>,
    around: &mut Vec<&'n Node<'a>>,
    breaks: bool,
    out: &mut Vec<Vec<&'n Node<'a>>>,
) {
    match n.kind.as_ref() {
        "BreakStmt" if breaks => out.push(around.clone()),
        "ReturnStmt" => out.push(around.clone()),
        "IfStmt" => {
            let (_, condition, branches) = branches(n);
            for (branch, operator) in branches.iter().zip(["&&", "||"]) {
                let outer = around.len();
                around.extend(condition.into_iter().flat_map(|c| split(c, operator)));
                leaving(branch, around, breaks, out);
                around.truncate(outer);
            }
        }
        kind => {
            let own = !matches!(kind, "ForStmt" | "WhileStmt" | "DoStmt" | "SwitchStmt");
            for child in &n.inner {
                leaving(child, around, breaks && own, out);
            }
        }
    }
}
