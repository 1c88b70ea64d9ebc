//! Barriers and SIMD-group operations that not all threads reach.
//!
//! Each kernel is followed statement by statement, through the functions that it calls, with the uniformity of its variables
//! and of the conditions around. A value in memory is as uniform as its address.

use std::collections::HashMap;

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Functions},
    statements::{branches, Loop},
    uniformity::{Uniformity, Value},
    variables,
};
use crate::{
    scan::{KernelFn, Scan},
    signature::ParamKind,
};

type State<'n> = HashMap<&'n str, Value>;

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
        let at = f.offset.map(|offset| s.token(offset));
        let is_kernel = |k: &&KernelFn| at.is_some_and(|at| k.range.0 <= at && at < k.range.1);
        if let Some(kernel) = scan.functions.iter().find(is_kernel) {
            unit.kernel = f.name;
            let parameters = f.parameters.iter();
            let arguments = parameters
                .map(|p| Value::of(parameter(kernel, &p.name)))
                .collect();
            let around = (Uniformity::Threadgroup, Reason::Condition);
            unit.function(i, (Value::default(), arguments), around);
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

/// Uniformity that a call of the library needs of the conditions around it.
fn needed(name: &str) -> Option<Uniformity> {
    match name {
        "threadgroup_barrier" => Some(Uniformity::Threadgroup),
        // They ask which threads are there.
        "simd_is_first" | "quad_is_first" | "simd_active_threads_mask" => None,
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

/// Uniformity of a library function's result, from the ones of its arguments.
fn result(name: &str, arguments: &[Value]) -> Uniformity {
    let weakest = arguments.iter().map(Value::whole).max().unwrap_or_default();
    let by_lane = name == "simd_shuffle"
        && arguments
            .get(1)
            .is_some_and(|lane| lane.whole() <= Uniformity::SimdGroup);
    let of_group = name.strip_prefix("simd_");
    if by_lane || of_group.is_some_and(|op| ONE_RESULT.contains(&op)) {
        weakest.min(Uniformity::SimdGroup)
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
        weakest
    }
}

/// True for functions of the library that write to their arguments.
fn writes(name: &str) -> bool {
    [
        "atomic_compare_exchange",
        "frexp",
        "modf",
        "sincos",
        "simdgroup_load",
        "simdgroup_multiply",
    ]
    .iter()
    .any(|p| name.starts_with(p))
}

/// The object of a member function and the arguments.
type Arguments = (Value, Vec<Value>);

/// A function as it is called: its position, its arguments, and the conditions around the call.
type Called = (usize, Arguments, Uniformity);

struct Unit<'u, 'n, 'a> {
    functions: &'u Functions<'n, 'a>,
    index: &'u Index,
    s: &'u Source<'u>,
    kernel: &'n str,
    /// Results of functions, and their arguments afterwards.
    known: HashMap<Called, (Value, Arguments)>,
    out: Vec<(&'n Node<'a>, String)>,
}

/// Reason for which not all threads reach a statement.
#[derive(Clone, Copy)]
enum Reason {
    Condition,
    Return,
    Break,
}

/// Uniformity of the statements by which threads left before.
#[derive(Clone, Copy, Default)]
struct Gone {
    /// Uniformity of `return`.
    returned: Uniformity,
    /// Uniformity of `break`, from the innermost loop or `switch`.
    broke: Uniformity,
    /// Uniformity of `continue`, to the next round of the innermost loop.
    continued: Uniformity,
}

impl Gone {
    fn join(self, other: Self) -> Self {
        Self {
            returned: self.returned.max(other.returned),
            broke: self.broke.max(other.broke),
            continued: self.continued.max(other.continued),
        }
    }
}

/// The place in a function that is followed.
struct Walk<'n> {
    state: State<'n>,
    /// Uniformity of reaching the statement: of conditions around it, and of threads that are gone.
    here: Uniformity,
    /// Reason of `here`.
    reason: Reason,
    gone: Gone,
    /// No thread reaches the next statement: all have returned, or left the loop.
    ended: bool,
    result: Value,
    /// Loops around the statement.
    loops: usize,
}

/// Loops in each other that are followed more than once: the work doubles with each.
const DEEPEST: usize = 6;

impl<'n> Walk<'n> {
    /// Enters a branch under a condition.
    fn enter(&mut self, uniformity: Uniformity) {
        if uniformity > self.here {
            (self.here, self.reason) = (uniformity, Reason::Condition);
        }
    }

    /// Goes on behind a statement from which some threads may be gone.
    fn go_on(&mut self) {
        let Gone {
            returned,
            broke,
            continued,
        } = self.gone;
        for (uniformity, reason) in [
            (returned, Reason::Return),
            (broke, Reason::Break),
            (continued, Reason::Break),
        ] {
            if uniformity > self.here {
                (self.here, self.reason) = (uniformity, reason);
            }
        }
    }

    fn value(&self, variable: &str) -> Value {
        self.state.get(variable).cloned().unwrap_or_default()
    }
}

impl<'n, 'a> Unit<'_, 'n, 'a> {
    /// Follows a function that is called under these conditions; its result and its arguments afterwards.
    fn function(
        &mut self,
        i: usize,
        arguments: Arguments,
        (here, reason): (Uniformity, Reason),
    ) -> (Value, Arguments) {
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
            reason,
            gone: Gone::default(),
            ended: false,
            result: Value::default(),
            loops: 0,
        };
        self.statement(f.body, &mut walk);
        let after = (walk.value("this"), names().map(|p| walk.value(p)).collect());
        let out = (walk.result, after);
        self.known.insert(key, out.clone());
        out
    }

    fn statement(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        if w.ended && !matches!(n.kind.as_ref(), "CaseStmt" | "DefaultStmt") {
            return;
        }
        match n.kind.as_ref() {
            "IfStmt" => self.choice(n, w),
            "SwitchStmt" => self.cases(n, w),
            "BreakStmt" => {
                w.gone.broke = w.gone.broke.max(w.here);
                w.ended = true;
            }
            "ContinueStmt" => {
                w.gone.continued = w.gone.continued.max(w.here);
                w.ended = true;
            }
            "ReturnStmt" => {
                for value in &n.inner {
                    let value = self.expression(value, w).decided(w.here);
                    w.result.join(&value);
                }
                w.gone.returned = w.gone.returned.max(w.here);
                w.ended = true;
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
            _ => match Loop::new(n) {
                Some(l) => self.rounds(&l, w),
                None => {
                    self.expression(n, w);
                }
            },
        }
    }

    fn choice(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        let (first, condition, branches) = branches(n);
        first.iter().for_each(|c| self.statement(c, w));
        let uniformity =
            condition.map_or(Uniformity::Threadgroup, |c| self.expression(c, w).whole());
        let (here, reason, gone) = (w.here, w.reason, w.gone);
        let before = w.state.clone();
        let mut after: Option<State<'n>> = None;
        let mut left = gone;
        for branch in [branches.first(), branches.get(1)] {
            w.state.clone_from(&before);
            (w.here, w.reason, w.gone, w.ended) = (here, reason, gone, false);
            w.enter(uniformity);
            if let Some(branch) = branch {
                self.statement(branch, w);
            }
            let mut of_branch = w.gone;
            if w.ended && uniformity <= here {
                // All threads took this branch, or none: behind it nobody is missed.
                of_branch.returned = gone.returned;
                of_branch.continued = gone.continued;
            }
            left = left.join(of_branch);
            if !w.ended {
                match &mut after {
                    Some(after) => join(after, &w.state),
                    None => after = Some(w.state.clone()),
                }
            }
        }
        w.ended = after.is_none();
        w.state = after.unwrap_or(before);
        (w.here, w.reason, w.gone) = (here, reason, left);
        w.go_on();
    }

    fn cases(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) {
        let [first @ .., value, body] = n.inner.as_slice() else {
            return;
        };
        first.iter().for_each(|c| self.statement(c, w));
        let uniformity = self.expression(value, w).whole();
        let (here, reason, broke) = (w.here, w.reason, w.gone.broke);
        let before = w.state.clone();
        let mut after = before.clone();
        w.enter(uniformity);
        let entered = (w.here, w.reason);
        w.gone.broke = Uniformity::Threadgroup;
        for part in &body.inner {
            if matches!(part.kind.as_ref(), "CaseStmt" | "DefaultStmt") {
                if w.ended {
                    // Nothing falls into it.
                    w.state.clone_from(&before);
                    (w.here, w.reason) = entered;
                    w.gone.broke = Uniformity::Threadgroup;
                } else {
                    join(&mut w.state, &before);
                }
                w.ended = false;
            }
            self.statement(part, w);
            join(&mut after, &w.state);
        }
        w.state = after;
        w.ended = false;
        (w.here, w.reason, w.gone.broke) = (here, reason, broke);
        w.go_on();
    }

    /// A loop: followed until no uniformity changes, once within many loops.
    fn rounds(&mut self, l: &Loop<'n, 'a>, w: &mut Walk<'n>) {
        l.first.iter().for_each(|c| self.statement(c, w));
        let (here, reason, gone) = (w.here, w.reason, w.gone);
        let mut uniformity = Uniformity::Threadgroup;
        w.loops += 1;
        loop {
            let before = (w.state.clone(), uniformity);
            (w.here, w.reason, w.ended) = (here, reason, false);
            w.gone = Gone {
                returned: w.gone.returned,
                ..Gone::default()
            };
            w.enter(uniformity);
            w.go_on();
            let mut test = |unit: &mut Self, w: &mut Walk<'n>| {
                l.declared.iter().for_each(|c| unit.statement(c, w));
                let of = |c| unit.expression(c, w).whole();
                uniformity = uniformity.max(l.condition.map_or(Uniformity::Threadgroup, of));
                w.enter(uniformity);
            };
            if !l.tests_last {
                test(self, w);
            }
            let round = (w.here, w.reason);
            self.statement(l.body, w);
            // Threads meet again at the end of the round.
            (w.here, w.reason, w.ended) = (round.0, round.1, false);
            w.gone.continued = Uniformity::Threadgroup;
            w.go_on();
            if let Some(step) = l.step {
                self.expression(step, w);
            }
            if l.tests_last {
                test(self, w);
            }
            uniformity = uniformity.max(w.gone.broke);
            join(&mut w.state, &before.0);
            if w.loops > DEEPEST || w.state == before.0 && uniformity == before.1 {
                break;
            }
        }
        w.loops -= 1;
        w.ended = false;
        let returned = w.gone.returned;
        (w.here, w.reason, w.gone) = (here, reason, Gone { returned, ..gone });
        w.go_on();
    }

    /// Uniformity of an expression; its assignments and calls are followed.
    fn expression(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) -> Value {
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
        match (n.kind.as_ref(), n.opcode.as_ref(), n.inner.as_slice()) {
            (_, "&&" | "||", [first, second]) => {
                let mut value = self.expression(first, w);
                value.join(&self.under(value.whole(), second, w));
                return value;
            }
            ("ConditionalOperator", _, [condition, first, second]) => {
                let condition = self.expression(condition, w).whole();
                let mut value = self.under(condition, first, w);
                value.join(&self.under(condition, second, w));
                return value.decided(condition);
            }
            _ => {}
        }
        let mut parts: Vec<Value> = n.inner.iter().map(|c| self.expression(c, w)).collect();
        let weakest = parts.iter().map(Value::whole).max().unwrap_or_default();
        let value = match (n.kind.as_ref(), n.opcode.as_ref(), n.inner.as_slice()) {
            ("MemberExpr", _, [_]) => parts[0].member(&n.name),
            ("ExtVectorElementExpr", _, [_]) => parts[0].member(&self.component(n)),
            ("ArraySubscriptExpr", _, [_, _]) => parts.swap_remove(0).decided(parts[0].whole()),
            ("InitListExpr", ..) => self.aggregate(n, &parts),
            // Members that a constructor sets are not told apart.
            ("CXXConstructExpr" | "CXXTemporaryObjectExpr", _, [_, _, ..]) => Value::default(),
            // A conversion, a copy, a pointer and its object.
            (_, "" | "&" | "*", [_]) => parts.swap_remove(0),
            _ => Value::of(weakest),
        };
        let changes =
            n.kind == "CompoundAssignOperator" || matches!(n.opcode.as_ref(), "++" | "--");
        if let Some(to) = n.inner.first().filter(|_| changes) {
            self.assign(to, Value::of(weakest.max(w.here)), w);
        }
        value
    }

    /// An expression that a condition of this uniformity decides about.
    fn under(&mut self, uniformity: Uniformity, n: &'n Node<'a>, w: &mut Walk<'n>) -> Value {
        let (here, reason) = (w.here, w.reason);
        w.enter(uniformity);
        let value = self.expression(n, w);
        (w.here, w.reason) = (here, reason);
        value
    }

    /// An object that is given by its members.
    fn aggregate(&self, n: &Node<'_>, parts: &[Value]) -> Value {
        let record = self.index.records.get(&self.index.record_name(n.ty.text()));
        let names = record.map(|r| r.names.as_slice()).unwrap_or_default();
        if names.len() == parts.len() {
            return Value::of_members(names.iter().map(String::as_str).zip(parts));
        }
        // An array: its elements are one.
        let mut value = Value::default();
        parts.iter().for_each(|part| value.join(part));
        value
    }

    /// Name of a component of a vector, by the text; of several, their names together.
    fn component(&self, n: &Node<'_>) -> String {
        let end = n.range.end.behind(self.s.before);
        end.map_or_else(String::new, |end| {
            self.s.t.at(self.s.token(end)).to_string()
        })
    }

    /// Gives an object a value.
    fn assign(&self, to: &'n Node<'a>, value: Value, w: &mut Walk<'n>) {
        let objects = variables::objects(to);
        for object in &objects {
            self.assign_one(object, &value, objects.len() > 1, w);
        }
    }

    /// Gives an object a value, or one of several objects that it may be.
    fn assign_one(&self, to: &'n Node<'a>, value: &Value, several: bool, w: &mut Walk<'n>) {
        let space = self.index.object_space(to, self.s);
        if space == "threadgroup" || space == "device" && variables::variable(to.peeled()).is_none()
        {
            // Memory has one value for all threads, a pointer stays what it was.
            return;
        }
        let (mut at, mut path, mut part) = (to.peeled(), Vec::new(), several);
        loop {
            match (at.kind.as_ref(), at.inner.as_slice()) {
                ("MemberExpr", [object]) => {
                    path.push(at.name.to_string());
                    at = object.peeled();
                }
                ("ExtVectorElementExpr", [object]) => {
                    let name = self.component(at);
                    part |= name.len() > 1;
                    if name.len() == 1 {
                        path.push(name);
                    }
                    at = object.peeled();
                }
                ("ArraySubscriptExpr" | "UnaryOperator", [object, ..]) => {
                    part = true;
                    at = object.peeled();
                }
                ("BinaryOperator", parts) => {
                    let Some(pointer) = parts.iter().find(|c| c.ty.text().contains('*')) else {
                        return;
                    };
                    part = true;
                    at = pointer.peeled();
                }
                _ => break,
            }
        }
        if let Some(variable) = variables::variable(at) {
            path.reverse();
            w.state
                .entry(variable)
                .or_default()
                .set(&path.join("."), value, part);
        }
    }

    fn call(&mut self, n: &'n Node<'a>, w: &mut Walk<'n>) -> Value {
        let object = functions::object(n);
        let arguments = functions::arguments(n);
        let of_object = object.map_or_else(Value::default, |o| self.expression(o, w));
        let values: Vec<Value> = arguments.iter().map(|a| self.expression(a, w)).collect();
        let name = variables::callee_name(n);
        let Some(i) = self.functions.called(n) else {
            return self.library(n, name, (of_object, values), w);
        };
        // An operator that is a member has its object first.
        let parameters = self.functions.all[i].parameters.len();
        let first = usize::from(object.is_none() && values.len() > parameters);
        let of_operator = values
            .first()
            .filter(|_| first == 1)
            .cloned()
            .unwrap_or(of_object);
        let called = (of_operator.clone(), values[first..].to_vec());
        let (value, (own, after)) = self.function(i, called, (w.here, w.reason));
        let objects = object.into_iter().chain(&arguments[..first]);
        let changed = objects.map(|o| (o, &of_operator, &own));
        let others = arguments[first..].iter().zip(&values[first..]).zip(&after);
        for (argument, before, after) in changed.chain(others.map(|((a, b), c)| (a, b, c))) {
            if before != after {
                let own = |a: &&'n Node<'a>| self.index.pointer_space(a, self.s) == "thread";
                let changed = variables::changed(argument);
                if let Some(to) = changed.or_else(|| variables::pointed(argument).filter(own)) {
                    self.assign(to, after.clone().decided(w.here), w);
                }
            }
        }
        value
    }

    fn library(
        &mut self,
        n: &'n Node<'a>,
        name: &str,
        (of_object, values): Arguments,
        w: &mut Walk<'n>,
    ) -> Value {
        let known = || self.out.iter().any(|(at, _)| std::ptr::eq(*at, n));
        if needed(name).is_some_and(|needed| w.here > needed) && !known() {
            let of = match w.here {
                Uniformity::SimdGroup => "SIMD-group",
                _ => "thread",
            };
            let reason = match w.reason {
                Reason::Condition => format!("under a condition on the {of}"),
                Reason::Return => "after some threads have returned".into(),
                Reason::Break => "after some threads have left the loop".into(),
            };
            self.out
                .push((n, format!("`{name}` {reason} in kernel `{}`", self.kernel)));
        }
        let arguments = functions::arguments(n);
        let scalars = || {
            arguments
                .iter()
                .all(|a| self.index.components(a.ty.text()) == Some(1))
        };
        if name == "__make" && values.len() > 1 && scalars() {
            return Value::of_members(["x", "y", "z", "w"].into_iter().zip(&values));
        }
        let value = Value::of(result(name, &values).max(of_object.whole()));
        if writes(name) {
            for to in arguments.iter().filter_map(variables::changed) {
                self.assign(to, value.clone().decided(w.here), w);
            }
        }
        value
    }
}
