//! Loops that wait for another thread: threads of Apple's GPUs that wait keep others from running, so that they never end.
//!
//! A loop ends when one of its conditions to leave holds. It waits if these follow from memory that other threads write, and
//! some way around the loop changes nothing of its own that they follow from: a counter, an index, a place in a list. What
//! makes progress whenever it fails is no wait: an exchange whose new value follows from the old one, a number drawn from a queue.

use std::collections::HashSet;

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Functions},
    variables::{self, Change},
};

/// Loops of the unit that wait.
pub fn waits<'n, 'a>(
    functions: &Functions<'n, 'a>,
    index: &Index,
    s: &Source<'_>,
) -> Vec<&'n Node<'a>> {
    let mut unit = Unit {
        functions,
        index,
        s,
        reading: HashSet::new(),
        advancing: HashSet::new(),
    };
    unit.summaries();
    let mut out = Vec::new();
    for f in &functions.all {
        f.body.walk(&mut |n| {
            if Loop::new(n).is_some_and(|l| unit.is_wait(&l)) {
                out.push(n);
            }
            true
        });
    }
    out
}

struct Unit<'u, 'n, 'a> {
    functions: &'u Functions<'n, 'a>,
    index: &'u Index,
    s: &'u Source<'u>,
    /// Functions that return what other threads write.
    reading: HashSet<usize>,
    /// Functions that draw a number, or exchange until they succeed.
    advancing: HashSet<usize>,
}

/// A loop by its parts.
struct Loop<'n, 'a> {
    condition: Option<&'n Node<'a>>,
    step: Option<&'n Node<'a>>,
    body: &'n Node<'a>,
}

impl<'n, 'a> Loop<'n, 'a> {
    fn new(n: &'n Node<'a>) -> Option<Self> {
        let parts = n.inner.as_slice();
        let some = |n: &'n Node<'a>| (!n.kind.is_empty()).then_some(n);
        Some(match (n.kind.as_ref(), parts) {
            ("ForStmt", [_, _, condition, step, body]) => Self {
                condition: some(condition),
                step: some(step),
                body,
            },
            ("WhileStmt", [.., condition, body]) => Self {
                condition: Some(condition),
                step: None,
                body,
            },
            ("DoStmt", [body, condition]) => Self {
                condition: Some(condition),
                step: None,
                body,
            },
            _ => return None,
        })
    }

    fn parts(&self) -> impl Iterator<Item = &'n Node<'a>> {
        [Some(self.body), self.step, self.condition]
            .into_iter()
            .flatten()
    }
}

/// Ways to the end of a statement: with own progress, without, or none.
#[derive(Clone, Copy, Default)]
struct Ways {
    progress: bool,
    none: bool,
}

impl Ways {
    fn either(self, other: Self) -> Self {
        Self {
            progress: self.progress || other.progress,
            none: self.none || other.none,
        }
    }

    /// The same ways, with progress.
    fn advanced(self) -> Self {
        Self {
            progress: self.progress || self.none,
            none: false,
        }
    }

    fn is_empty(self) -> bool {
        !self.progress && !self.none
    }
}

/// A condition in a loop.
struct Choice<'n> {
    /// Variables that it names.
    named: HashSet<&'n str>,
    /// It reads what other threads write.
    reads: bool,
    /// Variables that its branches change.
    changed: HashSet<&'n str>,
}

impl<'n> Choice<'n> {
    fn new(n: &'n Node<'_>, unit: &Unit<'_, '_, '_>) -> Option<Self> {
        let (condition, branches) = (n.kind == "IfStmt").then(|| branches(n))?;
        let changes = branches.iter().flat_map(variables::changes);
        Some(Self {
            named: condition.map(variables::named).unwrap_or_default(),
            reads: condition.is_some_and(|c| unit.is_foreign(c)),
            changed: changes.map(|c| c.variable).collect(),
        })
    }
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

/// Facts about one loop.
struct Judge<'u, 'n, 'a> {
    unit: &'u Unit<'u, 'n, 'a>,
    changes: Vec<Change<'n, 'a>>,
    /// Variables that the conditions to leave follow from.
    deciding: HashSet<&'n str>,
    /// Variables that the loop sets to what other threads write, or to what follows from it.
    foreign: HashSet<&'n str>,
    /// Conditions to leave.
    exits: Vec<&'n Node<'a>>,
}

impl<'n, 'a> Unit<'_, 'n, 'a> {
    /// Finds functions that read and advance through others too.
    fn summaries(&mut self) {
        loop {
            let before = self.reading.len() + self.advancing.len();
            for (i, f) in self.functions.all.iter().enumerate() {
                if self.is_foreign(f.body) {
                    self.reading.insert(i);
                }
                let changes = variables::changes(f.body);
                let advances = |n: &Node<'_>| {
                    self.draws(n) || self.retries(n, &changes) || self.calls_advancing(n)
                };
                if f.body.any(&mut |n| advances(n)) {
                    self.advancing.insert(i);
                }
            }
            if self.reading.len() + self.advancing.len() == before {
                return;
            }
        }
    }

    /// Some expression in `n` has a value that other threads write.
    fn is_foreign(&self, n: &Node<'_>) -> bool {
        n.any(&mut |n| self.reads(n))
    }

    /// The expression itself reads memory of other threads.
    fn reads(&self, n: &Node<'_>) -> bool {
        if functions::is_call(n) {
            let name = variables::callee_name(n);
            let library = name.starts_with("atomic_") && !name.starts_with("atomic_store");
            let own = self.functions.called(n);
            return library || own.is_some_and(|f| self.reading.contains(&f));
        }
        n.cast_kind == "LValueToRValue"
            && n.inner.first().is_some_and(|place| {
                let space = self.index.object_space(place, self.s);
                matches!(space, "device" | "threadgroup")
            })
    }

    /// The expression draws a number: each call goes on by one.
    fn draws(&self, n: &Node<'_>) -> bool {
        if !functions::is_call(n) {
            return false;
        }
        let count = functions::arguments(n).get(1).map(Node::peeled);
        let zero = count.is_some_and(|c| c.value == "0");
        matches!(
            variables::callee_name(n),
            "atomic_fetch_add_explicit" | "atomic_fetch_sub_explicit"
        ) && !zero
    }

    fn calls_advancing(&self, n: &Node<'_>) -> bool {
        let called = functions::is_call(n)
            .then(|| self.functions.called(n))
            .flatten();
        called.is_some_and(|f| self.advancing.contains(&f))
    }

    /// The expression is an exchange whose new value follows from the old one: when it fails, another thread has succeeded.
    fn retries(&self, n: &Node<'_>, changes: &[Change<'_, '_>]) -> bool {
        let (Some(old), Some(new)) = (exchanged(n), functions::arguments(n).get(2)) else {
            return false;
        };
        variables::closure(variables::named(new), changes).contains(old)
    }

    fn is_wait(&self, l: &Loop<'n, 'a>) -> bool {
        let mut exits: Vec<&Node<'_>> = l.condition.into_iter().collect();
        leaving(l.body, &mut Vec::new(), true, &mut exits);
        let changes: Vec<Change<'_, '_>> = l.parts().flat_map(variables::changes).collect();
        let mut choices = Vec::new();
        for part in l.parts() {
            part.walk(&mut |n| {
                choices.extend(Choice::new(n, self));
                true
            });
        }
        let read = exits.iter().flat_map(|n| variables::named(n)).collect();
        let mut deciding = variables::closure(read, &changes);
        grow(&mut deciding, |deciding| {
            let choosing = choices.iter().filter(|c| !c.changed.is_disjoint(deciding));
            let read = choosing
                .flat_map(|c| &c.named)
                .chain(&*deciding)
                .copied()
                .collect();
            deciding.extend(variables::closure(read, &changes));
        });
        let reading: Vec<bool> = changes
            .iter()
            .map(|c| c.values.iter().any(|v| self.is_foreign(v)))
            .collect();
        let mut foreign = HashSet::new();
        grow(&mut foreign, |foreign| {
            for (c, reads) in changes.iter().zip(&reading) {
                if *reads || !c.from.is_disjoint(foreign) {
                    foreign.insert(c.variable);
                }
            }
            for c in &choices {
                if c.reads || !c.named.is_disjoint(foreign) {
                    foreign.extend(&c.changed);
                }
            }
        });
        let decided = exits.iter().any(|n| self.is_foreign(n)) || !foreign.is_disjoint(&deciding);
        let judge = Judge {
            unit: self,
            changes,
            deciding,
            foreign,
            exits,
        };
        decided && !self.meets(l.body) && judge.goes_round_idle(l)
    }

    /// True for steps that the threads of a threadgroup take together: they meet at a barrier, and they write what they read.
    fn meets(&self, body: &Node<'_>) -> bool {
        let calls = |n: &Node<'_>, found: &dyn Fn(&str) -> bool| {
            functions::is_call(n) && found(variables::callee_name(n))
        };
        let meets = body.any(&mut |n| calls(n, &|name| name == "threadgroup_barrier"));
        let stores = |n: &Node<'_>| {
            n.opcode.ends_with('=')
                && matches!(n.kind.as_ref(), "BinaryOperator" | "CompoundAssignOperator")
                && n.inner.first().is_some_and(|to| {
                    matches!(
                        self.index.object_space(to, self.s),
                        "device" | "threadgroup"
                    )
                })
        };
        let writes =
            |name: &str| name.starts_with("atomic_fetch_") || name.starts_with("atomic_store");
        meets && body.any(&mut |n| stores(n) || calls(n, &writes))
    }
}

/// Conditions around each statement that leaves the loop.
fn leaving<'n, 'a>(
    n: &'n Node<'a>,
    around: &mut Vec<&'n Node<'a>>,
    breaks: bool,
    out: &mut Vec<&'n Node<'a>>,
) {
    match n.kind.as_ref() {
        "BreakStmt" if breaks => out.extend(around.iter()),
        "ReturnStmt" => out.extend(around.iter()),
        "IfStmt" => {
            let (condition, branches) = branches(n);
            around.extend(condition);
            for branch in branches {
                leaving(branch, around, breaks, out);
            }
            around.pop();
        }
        kind => {
            let own = !matches!(kind, "ForStmt" | "WhileStmt" | "DoStmt" | "SwitchStmt");
            for child in &n.inner {
                leaving(child, around, breaks && own, out);
            }
        }
    }
}

/// Condition and branches of an `if`.
pub(super) fn branches<'n, 'a>(n: &'n Node<'a>) -> (Option<&'n Node<'a>>, &'n [Node<'a>]) {
    let at = usize::from(n.has_init) + usize::from(n.has_var);
    (n.inner.get(at), n.inner.get(at + 1..).unwrap_or_default())
}

impl<'n, 'a> Judge<'_, 'n, 'a> {
    /// Some way around the loop makes no progress of its own.
    fn goes_round_idle(&self, l: &Loop<'n, 'a>) -> bool {
        let mut again = Ways::default();
        let start = Ways {
            progress: false,
            none: true,
        };
        let end = self.ways(l.body, start, false, &mut again).either(again);
        let steps = [l.step, l.condition];
        let advanced = steps.into_iter().flatten().any(|n| self.advances(n, false));
        end.none && !advanced
    }

    /// Ways to the end of a statement from the ways to its begin; ways to the next round are added to `again`. `inside` says
    /// that a condition of the loop decides whether it is reached.
    fn ways(&self, n: &'n Node<'a>, from: Ways, inside: bool, again: &mut Ways) -> Ways {
        if from.is_empty() {
            return from;
        }
        match n.kind.as_ref() {
            "CompoundStmt" => n
                .inner
                .iter()
                .fold(from, |w, c| self.ways(c, w, inside, again)),
            "BreakStmt" | "ReturnStmt" => Ways::default(),
            "ContinueStmt" => {
                *again = again.either(from);
                Ways::default()
            }
            "IfStmt" => {
                let (condition, branches) = branches(n);
                let foreign = condition.is_some_and(|c| self.follows_from_others(c));
                let from = match condition {
                    Some(c) if self.advances(c, inside) => from.advanced(),
                    _ => from,
                };
                let mut ends = branches.iter().map(|b| self.ways(b, from, true, again));
                let then = ends.next().unwrap_or(from);
                let or_else = ends.next().unwrap_or(from);
                let both = then.either(or_else);
                // A condition on values of its own is taken to choose well.
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
                let goes_on = n.kind == "SwitchStmt" && n.any(&mut |n| n.kind == "ContinueStmt");
                if goes_on {
                    *again = again.either(end);
                }
                end
            }
            _ if self.advances(n, inside) => from.advanced(),
            _ => from,
        }
    }

    fn follows_from_others(&self, n: &Node<'_>) -> bool {
        self.unit.is_foreign(n)
            || n.any(&mut |n| variables::variable(n).is_some_and(|v| self.foreign.contains(v)))
    }

    /// The value follows from the variable's own, or from what it was in the round before.
    fn goes_on(&self, c: &Change<'n, '_>) -> bool {
        variables::closure(c.from.clone(), &self.changes).contains(c.variable)
    }

    /// The expression is an exchange at a place that the loop goes on from: the next free one is looked for.
    fn searches(&self, n: &Node<'_>) -> bool {
        let place = exchanged(n).and_then(|_| functions::arguments(n).first());
        let named = place.map(variables::named).unwrap_or_default();
        self.changes
            .iter()
            .any(|c| named.contains(c.variable) && self.goes_on(c))
    }

    /// The expressions below `n` change what the loop ends by, from what it was.
    fn advances(&self, n: &'n Node<'a>, inside: bool) -> bool {
        let own = variables::changes(n).iter().any(|c| {
            let goes_on = self.goes_on(c);
            let set = (inside || self.is_flag(c.variable))
                && c.at.kind != "VarDecl"
                && c.from.is_disjoint(&self.foreign)
                && !c.values.iter().any(|v| self.unit.is_foreign(v));
            self.deciding.contains(c.variable) && (goes_on || set)
        });
        own || n.any(&mut |n| {
            self.unit.retries(n, &self.changes)
                || self.searches(n)
                || self.unit.calls_advancing(n)
                || self.unit.draws(n) && self.ends_in_order(n)
                || exchanged(n).is_some_and(|old| {
                    self.ends_in_order_of(&|n| variables::variable(n) == Some(old))
                })
        })
    }

    /// A `bool` that a condition to leave names.
    fn is_flag(&self, variable: &str) -> bool {
        let names =
            |n: &Node<'_>| variables::variable(n) == Some(variable) && n.ty.text() == "bool";
        self.exits.iter().any(|exit| exit.any(&mut |n| names(n)))
    }

    /// A number that was drawn ends the loop when it is large, not when it is one value, as a lock's.
    fn ends_in_order(&self, draw: &Node<'_>) -> bool {
        let holder = self.changes.iter().find(|c| {
            c.values
                .iter()
                .any(|v| v.any(&mut |n| std::ptr::eq(n, draw)))
        });
        self.ends_in_order_of(&|n| {
            std::ptr::eq(n, draw)
                || holder.is_some_and(|c| variables::variable(n) == Some(c.variable))
        })
    }

    /// A condition to leave asks which of two values is larger, of which one is found by `holds`.
    fn ends_in_order_of(&self, holds: &dyn Fn(&Node<'_>) -> bool) -> bool {
        self.exits.iter().any(|exit| {
            exit.any(&mut |n| {
                matches!(n.opcode.as_ref(), "<" | ">" | "<=" | ">=") && n.any(&mut |n| holds(n))
            })
        })
    }
}

/// The variable with the old value, of a comparison and exchange.
fn exchanged<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    let compares = variables::callee_name(n).starts_with("atomic_compare_exchange");
    functions::arguments(n)
        .get(1)
        .filter(|_| compares)
        .and_then(variables::root)
}
