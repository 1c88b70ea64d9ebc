//! Facts about the functions of a unit, through the functions that they call.

use std::collections::HashSet;

use super::{
    super::{ast::Node, index::Index, source::Source},
    functions::{self, Functions},
    variables::{self, Change, Graph},
};

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
    /// Parameters of functions that are set without being read, by address.
    replaced: HashSet<&'n str>,
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
            replaced: HashSet::new(),
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
                let graph = Graph::new(&changes);
                if f.body.any(&mut |n| variables::retries(n, &changes, &graph)) {
                    advancing.insert(i);
                }
            }
        }
        let sets = [reading, advancing, storing, with_barrier].map(|set| spread(set, &callees));
        [out.reading, out.advancing, out.storing, out.with_barrier] = sets;
        for f in functions
            .all
            .iter()
            .filter(|f| f.parameters.iter().any(|p| p.ty.text().ends_with('&')))
        {
            let changes = variables::changes(f.body);
            let graph = Graph::new(&changes);
            for p in &f.parameters {
                let id: &str = &p.id;
                let mut own = changes.iter().filter(|c| c.variable == id).peekable();
                if own.peek().is_some() && !own.any(|c| graph.closure(c.from.clone()).contains(id))
                {
                    out.replaced.insert(id);
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
        let zero = count.is_some_and(|c| c.value == "0");
        matches!(
            variables::callee_name(n),
            "atomic_fetch_add_explicit" | "atomic_fetch_sub_explicit"
        ) && !zero
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

    /// Changes of variables below `n`, with those by functions that it calls: memory behind a pointer that they store to,
    /// parameters that they set and do not read.
    pub fn changes(&self, n: &'n Node<'a>) -> Vec<Change<'n, 'a>> {
        let mut out = variables::changes(n);
        for c in &mut out {
            let called = functions::is_call(c.at)
                .then(|| self.functions.called(c.at))
                .flatten();
            let Some(f) = called.map(|f| &self.functions.all[f]) else {
                continue;
            };
            let arguments = functions::arguments(c.at).iter().zip(&f.parameters);
            let mut same = arguments.filter(|(a, _)| variables::root(a) == Some(c.variable));
            if let (Some((_, p)), None) = (same.next(), same.next()) {
                if self.replaced.contains(p.id.as_ref()) {
                    c.from.remove(c.variable);
                }
            }
        }
        n.walk(&mut |call| {
            let called = functions::is_call(call)
                .then(|| self.functions.called(call))
                .flatten();
            if called.is_some_and(|f| self.storing.contains(&f)) {
                let arguments = functions::arguments(call).iter();
                let pointers = arguments.filter(|a| a.ty.text().trim_end().ends_with('*'));
                // An object may have a pointer.
                let roots = pointers
                    .chain(functions::object(call))
                    .filter_map(variables::root);
                out.extend(roots.map(|variable| Change {
                    variable,
                    at: call,
                    from: [variable].into(),
                    values: Vec::new(),
                }));
            }
            true
        });
        out
    }
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
