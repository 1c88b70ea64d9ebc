//! Facts about the functions of a unit, through the functions that they call.

use std::collections::HashSet;

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Function, Functions},
    rounds,
    variables::{self, Change, Graph},
};

/// Rounds in which changes by functions are found: calls in each other.
const DEEPEST: usize = 8;

pub struct Summaries<'u, 'n, 'a> {
    functions: &'u Functions<'n, 'a>,
    index: &'u Index,
    s: &'u Source<'u>,
    /// Functions that return what other threads write.
    reading: HashSet<usize>,
    /// Functions that take a number, or exchange until they succeed.
    advancing: HashSet<usize>,
    /// Functions that store to memory that threads share.
    storing: HashSet<usize>,
    /// Functions with a barrier of the threadgroup.
    with_barrier: HashSet<usize>,
    /// Changes by each function of what it is given.
    effects: Vec<Vec<Effect<'n>>>,
}

impl<'u, 'n, 'a> Summaries<'u, 'n, 'a> {
    pub fn new(functions: &'u Functions<'n, 'a>, index: &'u Index, s: &'u Source<'u>) -> Self {
        let mut out = Self {
            functions,
            index,
            s,
            reading: HashSet::new(),
            advancing: HashSet::new(),
            storing: HashSet::new(),
            with_barrier: HashSet::new(),
            effects: Vec::new(),
        };
        let callees: Vec<Vec<usize>> = functions
            .all
            .iter()
            .map(|f| {
                let mut out = Vec::new();
                f.body.walk(&mut |n| {
                    out.extend(functions.named(n));
                    true
                });
                out
            })
            .collect();
        let own = |found: &dyn Fn(&Node<'a>) -> bool| -> HashSet<usize> {
            let all = functions.all.iter().enumerate();
            all.filter(|(_, f)| f.body.any(&mut |n| found(n)))
                .map(|(i, _)| i)
                .collect()
        };
        let reading = own(&|n| out.reads(n));
        let storing = own(&|n| out.stores(n));
        let with_barrier = own(&|n| variables::callee_name(n) == "threadgroup_barrier");
        let mut advancing = own(&|n| out.takes_number(n));
        for (i, f) in functions.all.iter().enumerate() {
            if f.body.any(&mut |n| variables::exchanged(n).is_some()) {
                let changes = variables::changes(f.body);
                let graph = Graph::new(&changes, &variables::members(f.body));
                if f.body.any(&mut |n| variables::retries(n, &changes, &graph)) {
                    advancing.insert(i);
                }
            }
        }
        let sets = [reading, advancing, storing, with_barrier].map(|set| spread(set, &callees));
        [out.reading, out.advancing, out.storing, out.with_barrier] = sets;
        // A function that is called stands before or behind: what it changes in turn is known after some rounds.
        for _ in 0..DEEPEST {
            let effects: Vec<_> = functions.all.iter().map(|f| out.effects_of(f)).collect();
            let known = effects == out.effects;
            out.effects = effects;
            if known {
                break;
            }
        }
        out
    }

    /// Changes by a function of what it is given.
    fn effects_of(&self, f: &Function<'n, 'a>) -> Vec<Effect<'n>> {
        let changes = self.changes(f.body);
        let graph = Graph::new(&changes, &variables::members(f.body));
        let parameter = |id: &str| f.parameters.iter().find(|p| p.id == id);
        let mut declared = HashSet::new();
        f.body.walk(&mut |n| {
            if n.kind == "VarDecl" {
                declared.insert(n.id.as_ref());
            }
            true
        });
        let mut out: Vec<Effect<'n>> = Vec::new();
        for c in &changes {
            let given = match parameter(c.object) {
                Some(p) if p.ty.text().trim_end().ends_with('&') => true,
                Some(p) => p.ty.text().contains('*') && !sets_pointer(c),
                None => c.object == "this",
            };
            if given {
                let mut from = graph.closure(c.from.clone());
                from.retain(|id| !declared.contains(id));
                let effect = Effect {
                    variable: c.variable,
                    object: c.object,
                    from,
                };
                if !out.contains(&effect) {
                    out.push(effect);
                }
            }
        }
        out
    }

    /// Some expression in `n` has a value that other threads write.
    pub fn reads_shared(&self, n: &Node<'_>) -> bool {
        n.any(&mut |n| {
            let called = functions::is_call(n)
                .then(|| self.functions.called(n))
                .flatten();
            self.reads(n) || called.is_some_and(|f| self.reading.contains(&f))
        })
    }

    /// The expression itself reads memory of other threads.
    fn reads(&self, n: &Node<'_>) -> bool {
        if functions::is_call(n) {
            let name = variables::callee_name(n);
            return name.starts_with("atomic_") && !name.starts_with("atomic_store");
        }
        let read = n.inner.first().filter(|_| n.cast_kind == "LValueToRValue");
        read.is_some_and(|place| self.is_shared(place))
    }

    /// The expression itself stores to memory of other threads.
    fn stores(&self, n: &Node<'_>) -> bool {
        let is_store = matches!(n.kind.as_ref(), "BinaryOperator" | "CompoundAssignOperator")
            && n.opcode.ends_with('=')
            || matches!(n.opcode.as_ref(), "++" | "--");
        let name = variables::callee_name(n);
        let atomic = name.starts_with("atomic_fetch_") || name.starts_with("atomic_store");
        let to = n.inner.first().filter(|_| is_store);
        let to = to.or_else(|| variables::assignment(n).map(|(to, _)| to));
        atomic || to.is_some_and(|to| self.is_shared(to))
    }

    fn is_shared(&self, place: &Node<'_>) -> bool {
        matches!(
            self.index.object_space(place, self.s),
            "device" | "threadgroup"
        )
    }

    /// The expression takes a number: each call has the next one.
    pub fn takes_number(&self, n: &Node<'_>) -> bool {
        let count = functions::arguments(n).get(1).map(Node::peeled);
        let zero = count.is_some_and(|c| self.functions.is_zero(c));
        matches!(
            variables::callee_name(n),
            "atomic_fetch_add_explicit" | "atomic_fetch_sub_explicit"
        ) && !zero
    }

    pub fn is_zero(&self, n: &Node<'_>) -> bool {
        self.functions.is_zero(n.peeled())
    }

    /// The expressions are one constant.
    pub fn are_same(&self, a: &Node<'_>, b: &Node<'_>) -> bool {
        self.is_zero(a) && self.is_zero(b) || rounds::is_same(a, b)
    }

    /// The expression calls a function that advances.
    pub fn advances(&self, n: &Node<'_>) -> bool {
        let called = functions::is_call(n)
            .then(|| self.functions.called(n))
            .flatten();
        called.is_some_and(|f| self.advancing.contains(&f))
    }

    /// True for steps that the threads of a threadgroup take together: they have a barrier, and they write what they read.
    pub fn steps_together(&self, body: &Node<'a>) -> bool {
        let in_function = |n: &Node<'_>, set: &HashSet<usize>| {
            let called = functions::is_call(n)
                .then(|| self.functions.called(n))
                .flatten();
            called.is_some_and(|f| set.contains(&f))
        };
        body.any(&mut |n| {
            variables::callee_name(n) == "threadgroup_barrier" || in_function(n, &self.with_barrier)
        }) && body.any(&mut |n| self.stores(n) || in_function(n, &self.storing))
    }

    /// Changes of variables below `n`, with those by functions that it calls: of objects that these take by reference or by
    /// pointer, of members of their object, and memory behind a pointer that they store to.
    pub fn changes(&self, n: &'n Node<'a>) -> Vec<Change<'n, 'a>> {
        let called = |n: &Node<'_>| {
            functions::is_call(n)
                .then(|| self.functions.called(n))
                .flatten()
        };
        let mut out = variables::changes(n);
        out.retain(|c| called(c.at).is_none());
        n.walk(&mut |call| {
            let Some(f) = called(call) else { return true };
            let parts = Parts::new(call, self.functions.all[f].parameters.len());
            for effect in self.effects.get(f).into_iter().flatten() {
                out.extend(effect.at(call, &parts, &self.functions.all[f].parameters));
            }
            if self.storing.contains(&f) {
                let pointers = parts
                    .arguments
                    .iter()
                    .filter(|a| a.ty.text().trim_end().ends_with('*') && !self.is_own(a));
                // An object may have a pointer.
                let roots = pointers.chain(parts.object).filter_map(variables::root);
                out.extend(roots.map(|variable| Change {
                    variable,
                    object: variable,
                    at: call,
                    from: [variable].into(),
                    values: Vec::new(),
                }));
            }
            true
        });
        out
    }

    /// True for pointers to memory of the thread.
    fn is_own(&self, pointer: &Node<'_>) -> bool {
        self.index.pointer_space(pointer, self.s) == "thread"
    }
}

/// A call by its parts.
struct Parts<'n, 'a> {
    /// The object of a member function or operator.
    object: Option<&'n Node<'a>>,
    arguments: &'n [Node<'a>],
}

impl<'n, 'a> Parts<'n, 'a> {
    fn new(call: &'n Node<'a>, parameters: usize) -> Self {
        let (object, arguments) = (functions::object(call), functions::arguments(call));
        // An operator that is a member has its object first.
        match arguments.split_first() {
            Some((first, rest)) if object.is_none() && arguments.len() > parameters => Self {
                object: Some(first),
                arguments: rest,
            },
            _ => Self { object, arguments },
        }
    }
}

/// A change by a function of what it is given.
#[derive(Clone, PartialEq)]
struct Effect<'n> {
    /// The parameter or member that is changed.
    variable: &'n str,
    /// The parameter that it is a part of, or `this`.
    object: &'n str,
    /// Parameters and members that the new value is made of.
    from: HashSet<&'n str>,
}

impl<'n> Effect<'n> {
    /// The change by one call.
    fn at<'a>(
        &self,
        call: &'n Node<'a>,
        parts: &Parts<'n, 'a>,
        parameters: &[&'n Node<'a>],
    ) -> Vec<Change<'n, 'a>> {
        let given = |id: &str| -> Option<&'n Node<'a>> {
            let mut both = parameters.iter().zip(parts.arguments);
            let argument = both.find(|(p, _)| p.id == id).map(|(_, a)| a);
            argument.or(parts.object.filter(|_| id == "this"))
        };
        let Some(argument) = given(self.object) else {
            return Vec::new();
        };
        let mut from = HashSet::new();
        for id in &self.from {
            match given(id) {
                Some(argument) => from.extend(variables::named(argument)),
                None => {
                    from.insert(*id);
                }
            }
        }
        let objects = variables::objects(argument).into_iter();
        let change = |object: &'n Node<'a>| {
            let base = variables::base(object)?;
            let whole = self.variable == self.object;
            let variable = if whole {
                variables::root(object)?
            } else {
                self.variable
            };
            Some(Change {
                variable,
                object: base,
                at: call,
                from: from.clone(),
                values: vec![call],
            })
        };
        objects.filter_map(change).collect()
    }
}

/// True for a change of a pointer itself, not of what it points to.
fn sets_pointer(c: &Change<'_, '_>) -> bool {
    let to = variables::assignment(c.at).map(|(to, _)| to);
    let to = to.or_else(|| c.at.inner.first().filter(|_| !functions::is_call(c.at)));
    to.is_some_and(|to| variables::variable(to.peeled()) == Some(c.object))
}

/// Functions of a set, and all that call them.
fn spread(mut set: HashSet<usize>, callees: &[Vec<usize>]) -> HashSet<usize> {
    let mut callers = vec![Vec::new(); callees.len()];
    for (caller, callees) in callees.iter().enumerate() {
        callees
            .iter()
            .for_each(|&callee| callers[callee].push(caller));
    }
    let mut queue: Vec<usize> = set.iter().copied().collect();
    while let Some(f) = queue.pop() {
        for &caller in &callers[f] {
            if set.insert(caller) {
                queue.push(caller);
            }
        }
    }
    set
}
