//! Loops that wait for another thread: threads of Apple's GPUs that wait keep others from running, so that they never end.
//!
//! A loop ends when one of its conditions to leave holds. It waits if these depend on memory that other threads write, and
//! some way around the loop changes nothing of its own that they depend on: a counter, an index, a place in a list. What
//! makes progress whenever it fails is no wait: an exchange whose new value depends on the old one, a number taken from a queue.
//! An exchange whose place moves makes progress only on the ways where the place moves, or where it fails by chance.

use std::collections::{HashMap, HashSet};

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Functions},
    rounds::{self, split},
    statements::{branches, Loop},
    summaries::Summaries,
    variables::{self, Change, Graph},
    ways::{Round, Ways},
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
    if matches!(n.kind.as_ref(), "IfStmt" | "SwitchStmt") {
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
    /// Parts of the loop's condition.
    goes_on: Vec<&'n Node<'a>>,
    /// Memory of the exchanges whose place moves, and values that they expect.
    expected: Vec<(&'n str, &'n Node<'a>)>,
}

impl<'u, 'n, 'a> LoopFacts<'u, 'n, 'a> {
    /// Facts about a loop whose conditions to leave depend on what other threads write; `None` for others.
    fn new(l: &Loop<'n, 'a>, summaries: &'u Summaries<'u, 'n, 'a>) -> Option<Self> {
        // The loop is left when one of the parts does not hold.
        let goes_on: Vec<&Node<'a>> = l.condition.map(|c| split(c, "&&")).unwrap_or_default();
        let mut exits: Vec<_> = goes_on.iter().map(|part| split(part, "||")).collect();
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
            goes_on,
            expected: Vec::new(),
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
        out.expected = out.expected(l);
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
        let mut round = Round::default();
        let asked = |from: Ways, inside: bool| {
            let asked = l.condition.filter(|_| inside == l.tests_last);
            asked.map_or(from, |c| {
                self.outcomes(c, from.without_progress(), false)[0]
            })
        };
        let from = [l.declared].into_iter().flatten();
        let from = from.fold(Ways::start(), |w, n| self.after(n, w, false));
        let end = self.ways(l.body, asked(from, false), false, &mut round);
        let end = asked(end.either(round.again), true);
        let end = l.step.map_or(end, |n| self.after(n, end, false));
        end.is_idle()
    }

    /// Ways to the end of a statement from the ways to its begin; ways that end elsewhere are added to `round`. `inside` says
    /// that a condition of the loop decides whether it is reached.
    fn ways(&self, n: &'n Node<'a>, from: Ways, inside: bool, round: &mut Round) -> Ways {
        if let ("CaseStmt" | "DefaultStmt", Some(statement)) = (n.kind.as_ref(), n.inner.last()) {
            let label = n.inner.first().filter(|_| n.kind == "CaseStmt");
            let label = label.map(|l| l.inner.first().unwrap_or(l));
            let is_label =
                |value: &Node<'a>| label.is_some_and(|l| self.summaries.are_same(value, l));
            let found = self.expected.iter().any(|(_, value)| is_label(value));
            let chosen = round.chosen;
            let from = from.either(if found { chosen.equals() } else { chosen });
            return self.ways(statement, from, inside, round);
        }
        if from.is_empty() && n.kind != "CompoundStmt" {
            return from;
        }
        match n.kind.as_ref() {
            "CompoundStmt" => {
                let statements = n.inner.iter();
                statements.fold(from, |w, c| self.ways(c, w, inside, round))
            }
            "ReturnStmt" => Ways::default(),
            "BreakStmt" => {
                round.left = round.left.either(from);
                Ways::default()
            }
            "ContinueStmt" => {
                round.again = round.again.either(from);
                Ways::default()
            }
            "IfStmt" => {
                let (_, condition, branches) = branches(n);
                let start = from.without_progress();
                let outcomes = condition.map(|c| self.outcomes(c, start, inside));
                let [holds, fails] = outcomes.unwrap_or([start; 2]);
                let mut way = |branch: Option<&'n Node<'a>>, from: Ways| {
                    branch.map_or(from, |b| self.ways(b, from, true, round))
                };
                let then = way(branches.first(), holds);
                let both = then.either(way(branches.get(1), fails));
                self.chosen(condition, both).after_progress(from)
            }
            "SwitchStmt" => {
                let (_, condition, branches) = branches(n);
                let start = from.without_progress();
                let start = condition.map_or(start, |c| self.after(c, start, inside));
                let mut own = Round {
                    chosen: start,
                    ..Round::default()
                };
                let body = branches.first();
                let end = body.map_or(start, |b| self.ways(b, Ways::default(), true, &mut own));
                round.again = round.again.either(own.again);
                let missed = !body.is_some_and(|b| b.any(&mut |n| n.kind == "DefaultStmt"));
                let missed = if missed { start } else { Ways::default() };
                let all = end.either(own.left).either(missed);
                self.chosen(condition, all).after_progress(from)
            }
            // Breaks in it leave it alone.
            "ForStmt" | "WhileStmt" | "DoStmt" => {
                if self.advances(n, true) || n.any(&mut |n| self.searches(n)) {
                    from.advanced()
                } else {
                    from
                }
            }
            _ => self.after_assignment(n.peeled(), from, inside),
        }
    }

    /// Ways behind a choice: a condition on values of its own is assumed to choose one with progress.
    fn chosen(&self, condition: Option<&'n Node<'a>>, both: Ways) -> Ways {
        let foreign = || condition.is_some_and(|c| self.depends_on_others(c) && !self.elects(c));
        if both.progress && !foreign() {
            both.advanced()
        } else {
            both
        }
    }

    /// Ways behind an expression.
    fn after(&self, n: &'n Node<'a>, from: Ways, inside: bool) -> Ways {
        if self.advances(n, inside) {
            from.advanced()
        } else if n.any(&mut |n| self.searches(n)) {
            self.fails(n, from)
        } else {
            from
        }
    }

    /// Ways behind an exchange that fails. Where the round has read the value that is expected, another thread has succeeded
    /// meanwhile.
    fn fails(&self, n: &'n Node<'a>, from: Ways) -> Ways {
        let mut reads = false;
        n.walk(&mut |n| {
            let place = functions::arguments(n).first().map(variables::named);
            let is_read = |v: &&Node<'a>| {
                let v = v.peeled();
                let read = functions::arguments(v).first().map(variables::named);
                variables::callee_name(v) == "atomic_load_explicit" && read == place
            };
            reads |= self.searches(n) && self.expects(n).iter().any(is_read);
            true
        });
        if reads {
            from.advanced()
        } else {
            from.fails()
        }
    }

    /// Ways behind `s = c ? s + 1 : s`, as behind a choice of statements.
    fn after_assignment(&self, n: &'n Node<'a>, from: Ways, inside: bool) -> Ways {
        let compound = (n.kind == "CompoundAssignOperator").then(|| (&n.inner[0], &n.inner[1]));
        let Some((to, value)) = variables::assignment(n).or(compound) else {
            return self.after(n, from, inside);
        };
        let value = value.peeled();
        let ("ConditionalOperator", [condition, first, second]) =
            (value.kind.as_ref(), value.inner.as_slice())
        else {
            return self.after(n, from, inside);
        };
        let variable = variables::place(to.peeled());
        let keeps = |value: &Node<'a>| match compound {
            Some(_) => self.summaries.is_zero(value),
            None => variable.is_some() && variables::place(value.peeled()) == variable,
        };
        let [holds, fails] = self.outcomes(condition, from.without_progress(), inside);
        let way = |value: &Node<'a>, from: Ways| {
            if keeps(value) {
                from
            } else {
                self.after(n, from, inside)
            }
        };
        let both = way(first, holds).either(way(second, fails));
        self.chosen(Some(condition), both).after_progress(from)
    }

    /// Ways behind a condition: where it holds, and where it does not.
    fn outcomes(&self, n: &'n Node<'a>, from: Ways, inside: bool) -> [Ways; 2] {
        let inner = n.peeled();
        match (inner.opcode.as_ref(), inner.inner.as_slice()) {
            ("!", [operand]) => {
                let [holds, fails] = self.outcomes(operand, from, inside);
                [fails, holds]
            }
            ("&&", [first, second]) => {
                let [holds, fails] = self.outcomes(first, from, inside);
                let [both, late] = self.outcomes(second, holds, inside);
                [both, self.chosen(Some(first), fails.either(late))]
            }
            ("||", [first, second]) => {
                let [holds, fails] = self.outcomes(first, from, inside);
                let [late, neither] = self.outcomes(second, fails, inside);
                [self.chosen(Some(first), holds.either(late)), neither]
            }
            _ if self.is_success(inner) => [from.advanced(), self.fails(inner, from)],
            _ => {
                let after = self.after(n, from, inside);
                [true, false].map(|holds| {
                    if self.leaves(inner, holds) {
                        after.advanced()
                    } else if self.finds_expected(inner, holds) {
                        after.equals()
                    } else {
                        after
                    }
                })
            }
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

    /// An exchange at a place that moves: when it fails, the loop goes on only where it moves.
    fn searches(&self, n: &'n Node<'a>) -> bool {
        let Some(old) = variables::exchanged(n) else {
            return false;
        };
        let place = functions::arguments(n).first().map(variables::named);
        let moving = |c: &Change<'_, '_>| self.moves.contains(&std::ptr::from_ref(c.at));
        let moves = place.is_some_and(|named| {
            let changes = self.changes.iter();
            changes.filter(|c| named.contains(c.variable)).any(moving)
        });
        moves && !self.exchange_advances(n, old)
    }

    /// Memory of the exchanges whose place moves, and values that they expect.
    fn expected(&self, l: &Loop<'n, 'a>) -> Vec<(&'n str, &'n Node<'a>)> {
        let mut out = Vec::new();
        for part in l.parts() {
            part.walk(&mut |n| {
                let memory = functions::arguments(n).first().and_then(variables::root);
                if let (Some(memory), true) = (memory, self.searches(n)) {
                    out.extend(self.expects(n).iter().map(|&value| (memory, value)));
                }
                true
            });
        }
        out
    }

    /// The value that an exchange expects.
    fn expects(&self, n: &'n Node<'a>) -> &[&'n Node<'a>] {
        let old = variables::exchanged(n);
        let set =
            |c: &&Change<'_, '_>| Some(c.variable) == old && variables::exchanged(c.at).is_none();
        self.changes.iter().find(set).map_or(&[], |c| &c.values)
    }

    /// The condition, if it is `holds`, says that memory has what an exchange expects.
    fn finds_expected(&self, n: &'n Node<'a>, holds: bool) -> bool {
        if self.expected.is_empty() {
            return false;
        }
        let is = |found: &'n Node<'a>, is_value: &dyn Fn(&Node<'a>) -> bool| {
            let made = self.graph.closure(variables::named(found));
            let mut expected = self.expected.iter();
            expected.any(|(memory, value)| made.contains(memory) && is_value(value))
        };
        match (n.opcode.as_ref(), n.inner.as_slice()) {
            (operator @ ("==" | "!="), [a, b]) if (operator == "==") == holds => {
                is(a, &|value| self.summaries.are_same(value, b))
                    || is(b, &|value| self.summaries.are_same(value, a))
            }
            ("", _) if !holds && n.ty.text() != "bool" => {
                is(n, &|value| self.summaries.is_zero(value))
            }
            _ => false,
        }
    }

    /// The result of an exchange at a place that moves.
    fn is_success(&self, n: &'n Node<'a>) -> bool {
        let exchanges = |v: &&'n Node<'a>| {
            let parts = split(v, "&&");
            parts.iter().any(|part| self.searches(part.peeled()))
        };
        let variable = variables::variable(n);
        let set = || self.changes.iter().filter(|c| Some(c.variable) == variable);
        let all = |c: &Change<'n, 'a>| c.values.iter().any(exchanges);
        self.searches(n) || set().next().is_some() && set().all(all)
    }

    /// The condition, if it is `holds`, ends the loop.
    fn leaves(&self, n: &'n Node<'a>, holds: bool) -> bool {
        let Some(variable) = variables::variable(n) else {
            return false;
        };
        self.goes_on.iter().any(|part| {
            let part = part.peeled();
            let operand = part.inner.first().filter(|_| part.opcode == "!");
            let asked = operand.map_or(part, |o| o.peeled());
            variables::variable(asked) == Some(variable) && operand.is_some() == holds
        })
    }

    /// When the exchange fails, another thread has succeeded, or the loop ends.
    fn exchange_advances(&self, n: &'n Node<'a>, old: &str) -> bool {
        let names = |exit: &Node<'_>| {
            exit.any(&mut |n| variables::place(n) == Some(old))
                && !exit.any(&mut |c| std::ptr::eq(c, n))
        };
        let changes = self.changes.iter().filter(|c| c.variable == old).count();
        let tells = changes == 1 && self.exits.iter().flatten().any(|exit| names(exit));
        tells
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
