//! Barriers and SIMD-group operations that not all threads reach.
//!
//! Each kernel is followed statement by statement, through the functions that it calls, with the uniformity of its variables
//! and of the conditions around. A value in memory is as uniform as its address.

use std::collections::{BTreeMap, HashMap};

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Functions},
    variables,
    waits::branches,
};
use crate::{
    scan::{KernelFn, Scan},
    signature::ParamKind,
};

/// Threads for which a value is the same; the analysis of uniformity, from the strongest to none.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Uniformity {
    /// All of a threadgroup.
    #[default]
    Threadgroup,
    /// All of a SIMD-group.
    SimdGroup,
    /// None: the value depends on the thread.
    Divergent,
}

/// Uniformity of an object, by members.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
struct Value<'n> {
    /// Members that have no entry of their own, or the object if it has none.
    rest: Uniformity,
    members: BTreeMap<&'n str, Uniformity>,
}

impl<'n> Value<'n> {
    fn of(rest: Uniformity) -> Self {
        let members = BTreeMap::new();
        Self { rest, members }
    }

    /// Uniformity of the whole object: the weakest of its parts.
    fn whole(&self) -> Uniformity {
        self.members
            .values()
            .fold(self.rest, |most, m| most.max(*m))
    }

    fn member(&self, name: &str) -> Uniformity {
        self.members.get(name).copied().unwrap_or(self.rest)
    }

    /// The same value under a condition.
    fn decided(mut self, uniformity: Uniformity) -> Self {
        self.members
            .values_mut()
            .for_each(|m| *m = (*m).max(uniformity));
        self.rest = self.rest.max(uniformity);
        self
    }

    fn join(&mut self, other: &Self) {
        let names: Vec<&'n str> = self
            .members
            .keys()
            .chain(other.members.keys())
            .copied()
            .collect();
        for name in names {
            let joined = self.member(name).max(other.member(name));
            self.members.insert(name, joined);
        }
        self.rest = self.rest.max(other.rest);
    }
}

type State<'n> = HashMap<&'n str, Value<'n>>;

fn join<'n>(into: &mut State<'n>, other: &State<'n>) {
    for (variable, value) in other {
        match into.get_mut(variable) {
            Some(known) => known.join(value),
            None => {
                into.insert(variable, value.clone());
            }
        }
    }
}

/// Operations that not all threads reach, each with the reason.
pub fn divergent<'n, 'a>(
    functions: &Functions<'n, 'a>,
    scan: &Scan,
    index: &Index,
    s: &Source<'_>,
) -> Vec<(&'n Node<'a>, String)> {
    let mut unit = Unit {
        functions,
        index,
        s,
        kernel: "",
        known: HashMap::new(),
        out: Vec::new(),
    };
    for (i, f) in functions.all.iter().enumerate() {
        unit.kernel = f.name;
        if let Some(kernel) = scan.functions.iter().find(|k| k.name == f.name) {
            let parameters = f.parameters.iter();
            let arguments = parameters
                .map(|p| Value::of(parameter(kernel, &p.name)))
                .collect();
            unit.function(i, (Value::default(), arguments), Uniformity::Threadgroup);
        }
    }
    unit.out
}

/// Uniformity of a parameter of a kernel.
fn parameter(kernel: &KernelFn, name: &str) -> Uniformity {
    let named = kernel.params.iter().find(|p| p.name == name);
    match named.map(|p| &p.kind) {
        Some(ParamKind::Builtin(b))
            if b.starts_with("thread_") || b.starts_with("quadgroup_index") =>
        {
            Uniformity::Divergent
        }
        Some(ParamKind::Builtin(b)) if b.starts_with("simdgroup_index") => Uniformity::SimdGroup,
        _ => Uniformity::Threadgroup,
    }
}

/// Uniformity that conditions around a call of the library need.
fn allowed(name: &str) -> Option<Uniformity> {
    match name {
        "threadgroup_barrier" => Some(Uniformity::Threadgroup),
        _ if name.starts_with("simd_")
            || name.starts_with("quad_")
            || name == "simdgroup_barrier" =>
        {
            Some(Uniformity::SimdGroup)
        }
        _ => None,
    }
}

/// Operations of a SIMD-group with one result, without `simd_`.
const ONE_RESULT: [&str; 12] = [
    "sum",
    "product",
    "min",
    "max",
    "and",
    "or",
    "xor",
    "any",
    "all",
    "ballot",
    "broadcast",
    "broadcast_first",
];

/// Uniformity of a library function's result, from the one of its arguments.
fn result(name: &str, arguments: Uniformity) -> Uniformity {
    let of_group = name.strip_prefix("simd_");
    if of_group.is_some_and(|op| ONE_RESULT.contains(&op)) {
        arguments.min(Uniformity::SimdGroup)
    } else if [
        "simd_",
        "quad_",
        "atomic_fetch_",
        "atomic_exchange",
        "atomic_compare",
    ]
    .iter()
    .any(|p| name.starts_with(p))
    {
        Uniformity::Divergent
    } else {
        arguments
    }
}

/// The object of a member function and the arguments.
type Arguments<'n> = (Value<'n>, Vec<Value<'n>>);

struct Unit<'u, 'n, 'a> {
    functions: &'u Functions<'n, 'a>,
    index: &'u Index,
    s: &'u Source<'u>,
    kernel: &'n str,
    /// Results of functions, and their arguments afterwards.
    known: HashMap<(usize, Arguments<'n>, Uniformity), (Value<'n>, Arguments<'n>)>,
    out: Vec<(&'n Node<'a>, String)>,
}

/// A way through a function.
#[derive(Default)]
struct Walk<'n> {
    state: State<'n>,
    /// Uniformity of reaching the statement: of conditions around it, and of returns before.
    here: Uniformity,
    /// Reason of `here`.
    reason: &'static str,
    /// Uniformity of reaching the rest of a round of the innermost loop: of `continue` before.
    skipped: Uniformity,
    /// Uniformity of another round of the innermost loop, or `switch`: of `break` before.
    left: Uniformity,
    /// Uniformity of reaching the rest of the function: of `return` before.
    returned: Uniformity,
    result: Value<'n>,
    /// Loops around the statement.
    loops: usize,
}

/// Loops in each other that are followed more than once: the work doubles with each.
const DEEPEST: usize = 6;

const CONDITION: &str = "under a condition on the thread";
const RETURN: &str = "after some threads have returned";
const LEFT: &str = "after some threads have left the loop";

impl<'n> Walk<'n> {
    /// Enters a branch under a condition.
    fn enter(&mut self, uniformity: Uniformity) {
        if uniformity > self.here {
            (self.here, self.reason) = (uniformity, CONDITION);
        }
    }

    /// Goes on behind a statement which some threads may have left for good.
    fn go_on(&mut self) {
        for (uniformity, reason) in [
            (self.returned, RETURN),
            (self.left, LEFT),
            (self.skipped, LEFT),
        ] {
            if uniformity > self.here {
                (self.here, self.reason) = (uniformity, reason);
            }
        }
    }

    fn value(&self, variable: &str) -> Value<'n> {
        self.state.get(variable).cloned().unwrap_or_default()
    }
}

impl<'n, 'a> Unit<'_, 'n, 'a> {
    /// Follows a function; its result and its arguments afterwards.
    fn function(
        &mut self,
        i: usize,
        arguments: Arguments<'n>,
        here: Uniformity,
    ) -> (Value<'n>, Arguments<'n>) {
        let key = (i, arguments.clone(), here);
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        // A function that calls itself finds this.
        self.known
            .insert(key.clone(), (Value::default(), arguments.clone()));
        let f = &self.functions.all[i];
        let names = || f.parameters.iter().map(|p| p.id.as_ref());
        let (object, values) = arguments;
        let mut walk = Walk {
            state: names().zip(values).chain([("this", object)]).collect(),
            here,
            reason: CONDITION,
            ..Walk::default()
        };
        self.statement(f.body, &mut walk);
        let after = (walk.value("this"), names().map(|p| walk.value(p)).collect());
        let out = (walk.result, after);
        self.known.insert(key, out.clone());
        out
    }

    fn statement(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        match n.kind.as_ref() {
            "IfStmt" => self.choice(n, w),
            "ForStmt" | "WhileStmt" | "DoStmt" => self.rounds(n, w),
            "SwitchStmt" => self.cases(n, w),
            "BreakStmt" => w.left = w.left.max(w.here),
            "ContinueStmt" => w.skipped = w.skipped.max(w.here),
            "ReturnStmt" => {
                for value in &n.inner {
                    let value = self.expression(value, w).decided(w.here);
                    w.result.join(&value);
                }
                w.returned = w.returned.max(w.here);
            }
            "DeclStmt" | "CompoundStmt" | "CaseStmt" | "DefaultStmt" | "AttributedStmt" => {
                n.inner.iter().for_each(|c| self.statement(c, w));
            }
            "VarDecl" => {
                let mut value = Value::default();
                for c in &n.inner {
                    value = self.expression(c, w);
                }
                w.state.insert(&n.id, value.decided(w.here));
            }
            _ => {
                self.expression(n, w);
            }
        }
    }

    fn choice(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        let (condition, branches) = branches(n);
        let uniformity =
            condition.map_or(Uniformity::Threadgroup, |c| self.expression(c, w).whole());
        let (here, reason) = (w.here, w.reason);
        let before = w.state.clone();
        let mut after = State::new();
        for branch in [branches.first(), branches.get(1)] {
            w.state.clone_from(&before);
            (w.here, w.reason) = (here, reason);
            w.enter(uniformity);
            if let Some(branch) = branch {
                self.statement(branch, w);
            }
            join(&mut after, &w.state);
        }
        w.state = after;
        (w.here, w.reason) = (here, reason);
        w.go_on();
    }

    fn cases(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        let [.., value, body] = n.inner.as_slice() else {
            return;
        };
        let uniformity = self.expression(value, w).whole();
        let (here, reason) = (w.here, w.reason);
        let left = std::mem::take(&mut w.left);
        let before = w.state.clone();
        w.enter(uniformity);
        self.statement(body, w);
        join(&mut w.state, &before);
        (w.here, w.reason, w.left) = (here, reason, left);
        w.go_on();
    }

    /// A loop: followed until no uniformity changes, once within many loops.
    fn rounds(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        let (first, condition, step, body) = match (n.kind.as_ref(), n.inner.as_slice()) {
            ("ForStmt", [first, _, condition, step, body]) => {
                (Some(first), condition, Some(step), body)
            }
            ("WhileStmt", [.., condition, body]) | ("DoStmt", [body, condition]) => {
                (None, condition, None, body)
            }
            _ => return,
        };
        if let Some(first) = first {
            self.statement(first, w);
        }
        let outer = (w.here, w.reason, w.left, w.skipped);
        let mut uniformity = Uniformity::Threadgroup;
        w.loops += 1;
        loop {
            let before = (w.state.clone(), uniformity);
            (w.here, w.reason, w.left, w.skipped) = (
                outer.0,
                outer.1,
                Uniformity::Threadgroup,
                Uniformity::Threadgroup,
            );
            w.enter(uniformity);
            if n.kind != "DoStmt" {
                uniformity = uniformity.max(self.expression(condition, w).whole());
                w.enter(uniformity);
            }
            self.statement(body, w);
            if let Some(step) = step {
                self.expression(step, w);
            }
            if n.kind == "DoStmt" {
                uniformity = uniformity.max(self.expression(condition, w).whole());
            }
            uniformity = uniformity.max(w.left);
            join(&mut w.state, &before.0);
            if w.loops > DEEPEST || w.state == before.0 && uniformity == before.1 {
                break;
            }
        }
        w.loops -= 1;
        (w.here, w.reason, w.left, w.skipped) = outer;
        w.go_on();
    }

    /// Uniformity of an expression; its assignments and calls are followed.
    fn expression(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) -> Value<'n> {
        if let Some(variable) = variables::variable(n) {
            return w.value(variable);
        }
        if let Some((to, from)) = variables::assignment(n) {
            let value = self.expression(from, w);
            self.expression(to, w);
            self.assign(to, value.clone().decided(w.here), w);
            return value;
        }
        if functions::is_call(n) {
            return self.call(n, w);
        }
        let mut parts = n
            .inner
            .iter()
            .map(|c| self.expression(c, w))
            .collect::<Vec<_>>();
        let most = parts.iter().map(Value::whole).max().unwrap_or_default();
        let value = match (n.kind.as_ref(), n.inner.as_slice()) {
            ("MemberExpr", [object]) => {
                let member = parts[0].member(&n.referenced_member_decl);
                // Another object's member, in memory, is where its pointer points.
                let own = !n.is_arrow || object.kind == "CXXThisExpr";
                Value::of(if own { member } else { most })
            }
            ("ConditionalOperator", [_, _, _]) => {
                let mut value = parts.swap_remove(1);
                value.join(&parts[1]);
                value.decided(parts[0].whole())
            }
            // A conversion, or a copy.
            (_, [_]) if n.opcode.is_empty() => parts.swap_remove(0),
            _ => Value::of(most),
        };
        if let ("CompoundAssignOperator", [to, _]) = (n.kind.as_ref(), n.inner.as_slice()) {
            self.assign(to, value.clone().decided(w.here), w);
        }
        value
    }

    /// Gives an object a value.
    fn assign(&self, to: &'n Node<'a>, value: Value<'n>, w: &mut Walk<'n>) {
        let space = self.index.object_space(to, self.s);
        let to = to.peeled();
        if let Some(variable) = variables::variable(to) {
            if space != "threadgroup" {
                w.state.insert(variable, value);
            }
            return;
        }
        // Memory has one value for all threads, a pointer stays what it was.
        if matches!(space, "device" | "threadgroup") {
            return;
        }
        let member = (to.kind == "MemberExpr")
            .then(|| to.inner.first())
            .flatten();
        let owner = member.and_then(|object| variables::variable(object.peeled()));
        match (owner, variables::root(to)) {
            (Some(owner), _) => {
                let members = &mut w.state.entry(owner).or_default().members;
                members.insert(&to.referenced_member_decl, value.whole());
            }
            // An element of an array, or of a member.
            (None, Some(root)) => {
                let known = w.value(root).decided(value.whole());
                w.state.insert(root, known);
            }
            (None, None) => {}
        }
    }

    fn call(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) -> Value<'n> {
        let object = n.inner.first().filter(|c| c.kind == "MemberExpr");
        let object = object.and_then(|m| m.inner.first());
        let arguments = functions::arguments(n);
        let of_object = object.map_or_else(Value::default, |o| self.expression(o, w));
        let values: Vec<Value<'n>> = arguments.iter().map(|a| self.expression(a, w)).collect();
        let most = values
            .iter()
            .chain([&of_object])
            .map(Value::whole)
            .max()
            .unwrap_or_default();
        let name = variables::callee_name(n);
        let (value, after) = match self.functions.called(n) {
            Some(i) => {
                // An operator that is a member has its object first.
                let parameters = self.functions.all[i].parameters.len();
                let (first, rest) = values.split_at(values.len().saturating_sub(parameters));
                let of_operator = first.first().cloned().unwrap_or(of_object);
                let (value, (own, after)) = self.function(i, (of_operator, rest.to_vec()), w.here);
                let first = first.iter().map(|_| own.clone());
                (value, (own.clone(), first.chain(after).collect()))
            }
            None => {
                if allowed(name).is_some_and(|most| w.here > most)
                    && !self.out.iter().any(|(at, _)| std::ptr::eq(*at, n))
                {
                    self.out.push((
                        n,
                        format!("`{name}` {} in kernel `{}`", w.reason, self.kernel),
                    ));
                }
                let value = Value::of(result(name, most));
                (value.clone(), (value.clone(), vec![value; values.len()]))
            }
        };
        let (own, each) = after;
        let changed = object
            .into_iter()
            .zip([own])
            .chain(arguments.iter().zip(each));
        for (argument, value) in changed {
            if let Some(to) = variables::changed(argument) {
                self.assign(to, value.decided(w.here), w);
            }
        }
        value
    }
}
