//! Variables that expressions read and statements change.

use std::collections::{HashMap, HashSet};

use super::{super::ast::Node, functions};

/// A change of a variable: an assignment, a step, a call that takes it by reference.
pub struct Change<'n, 'a> {
    /// Address of the variable or member; of memory, the one that points to it.
    pub variable: &'n str,
    /// Address of the whole object, of a member's change.
    pub object: &'n str,
    /// The expression that changes it.
    pub at: &'n Node<'a>,
    /// Variables of the new value, and of the place in memory.
    pub from: HashSet<&'n str>,
    /// Expressions that the new value is made of.
    pub values: Vec<&'n Node<'a>>,
}

/// Addresses of all variables that are named in `n`, and of members that are named of variables in place of these.
pub fn named<'n>(n: &'n Node<'_>) -> HashSet<&'n str> {
    let mut out = HashSet::new();
    n.walk(&mut |n| {
        let place = place(n);
        out.extend(place);
        place.is_none()
    });
    out
}

/// Members that are named below `n`, each behind its variable.
pub fn members<'n>(n: &'n Node<'_>) -> HashSet<(&'n str, &'n str)> {
    let mut out = HashSet::new();
    n.walk(&mut |n| {
        if let (Some(member), Some(object)) = (place(n), base(n)) {
            if member != object {
                out.insert((object, member));
            }
        }
        true
    });
    out
}

/// The variable, or the member of a variable, that an expression is: members of one name of two objects are one.
pub fn place<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    let object = n
        .inner
        .first()
        .filter(|_| n.kind == "MemberExpr" && !n.is_arrow);
    let member = object.filter(|object| variable(object.peeled()).is_some());
    variable(n).or_else(|| member.map(|_| n.referenced_member_decl.as_ref()))
}

/// The variable that a name names.
pub fn variable<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    match (n.kind.as_ref(), &n.referenced_decl) {
        ("DeclRefExpr", Some(r)) if matches!(r.kind.as_ref(), "VarDecl" | "ParmVarDecl") => {
            Some(&r.id)
        }
        // Members of the object itself.
        ("CXXThisExpr", _) => Some("this"),
        _ => None,
    }
}

/// The place at the root of an object: `s.x` of `s.x[i]`, `p` of `*(p + i)`.
pub fn root<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    place(n).or_else(|| within(n).and_then(root))
}

/// The variable at the root of an object: `s` of `s.x[i]`.
pub fn base<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    variable(n).or_else(|| within(n).and_then(base))
}

/// The object that an object is a part of, or the pointer that it is behind.
fn within<'n, 'a>(n: &'n Node<'a>) -> Option<&'n Node<'a>> {
    match n.kind.as_ref() {
        "BinaryOperator" => n.inner.iter().find(|c| c.ty.text().contains('*')),
        "ConditionalOperator" => n.inner.get(1),
        _ => n.inner.first(),
    }
}

/// The objects that an expression may be: two of a choice.
pub fn objects<'n, 'a>(n: &'n Node<'a>) -> Vec<&'n Node<'a>> {
    let mut at = n;
    loop {
        match (at.kind.as_ref(), at.inner.as_slice()) {
            ("ConditionalOperator", [_, first, second]) => {
                return [first, second].into_iter().flat_map(objects).collect();
            }
            ("DeclRefExpr" | "CXXThisExpr", _) => return vec![n],
            _ => match within(at) {
                Some(next) => at = next,
                None => return vec![n],
            },
        }
    }
}

/// Changes of variables by the expressions and declarations below `n`.
pub fn changes<'n, 'a>(n: &'n Node<'a>) -> Vec<Change<'n, 'a>> {
    let mut out = Vec::new();
    n.walk(&mut |n| {
        change(n, &mut out);
        true
    });
    out
}

/// Changes by `n` itself.
pub fn change<'n, 'a>(n: &'n Node<'a>, out: &mut Vec<Change<'n, 'a>>) {
    let mut push = |to: &'n Node<'a>, read: Vec<&'n Node<'a>>, values: Vec<&'n Node<'a>>| {
        let from: HashSet<&str> = read.iter().flat_map(|n| named(n)).collect();
        for object in objects(to) {
            out.extend(root(object).map(|variable| Change {
                variable,
                object: base(object).unwrap_or(variable),
                at: n,
                from: from.clone(),
                values: values.clone(),
            }));
        }
    };
    if let Some((to, value)) = assignment(n) {
        // Memory keeps what it has elsewhere; a variable, also a part of it, is replaced.
        let part = is_memory(to).then_some(to);
        push(to, part.into_iter().chain([value]).collect(), vec![value]);
        return;
    }
    match (n.kind.as_ref(), n.inner.as_slice()) {
        ("CompoundAssignOperator", [to, value]) => push(to, vec![to, value], vec![value]),
        ("UnaryOperator", [to]) if matches!(n.opcode.as_ref(), "++" | "--") => {
            push(to, vec![to], Vec::new());
        }
        ("VarDecl", _) if !n.init.is_empty() => {
            let values: Vec<&Node<'_>> = n.inner.iter().collect();
            out.push(Change {
                variable: &n.id,
                object: &n.id,
                at: n,
                from: values.iter().flat_map(|n| named(n)).collect(),
                values,
            });
        }
        _ if functions::is_call(n) => {
            // The value that a comparison finds follows from memory alone.
            let exchanged = callee_name(n).starts_with("atomic_compare_exchange");
            let arguments = functions::arguments(n);
            let object = functions::object(n);
            for a in arguments.iter().chain(object) {
                let Some(to) = changed(a) else { continue };
                let read = arguments
                    .iter()
                    .chain(object)
                    .filter(|other| !exchanged || !std::ptr::eq(*other, a));
                let read = read.take(if exchanged { 1 } else { usize::MAX }).collect();
                push(to, read, vec![n]);
            }
        }
        _ => {}
    }
}

/// The object and its new value, of an assignment of numbers or of objects.
pub fn assignment<'n, 'a>(n: &'n Node<'a>) -> Option<(&'n Node<'a>, &'n Node<'a>)> {
    match (n.kind.as_ref(), n.inner.as_slice()) {
        ("BinaryOperator", [to, value]) if n.opcode == "=" => Some((to, value)),
        ("CXXOperatorCallExpr", [_, to, value]) if callee_name(n) == "operator=" => {
            Some((to, value))
        }
        _ => None,
    }
}

/// True for objects behind a pointer.
fn is_memory(n: &Node<'_>) -> bool {
    let pointer = |n: &Node<'_>| place(n).is_some() && n.ty.text().contains('*');
    place(n.peeled()).is_none() && n.any(&mut |n| pointer(n))
}

/// Name of the function that a call names; empty for other expressions.
pub fn callee_name<'n>(call: &'n Node<'_>) -> &'n str {
    let callee = call.inner.first().filter(|_| functions::is_call(call));
    let callee = callee.map(Node::peeled);
    callee
        .and_then(|c| c.referenced_decl.as_ref())
        .map_or("", |r| &r.name)
}

/// The object that a call may change through this argument: one that is taken by reference, or by address, and is not const.
pub fn changed<'n, 'a>(argument: &'n Node<'a>) -> Option<&'n Node<'a>> {
    match argument.kind.as_ref() {
        "DeclRefExpr" | "MemberExpr" | "ArraySubscriptExpr"
            if argument.value_category == "lvalue" && !is_const(argument) =>
        {
            let function = argument
                .referenced_decl
                .as_ref()
                .is_some_and(|r| !r.kind.contains("Var"));
            (!function).then_some(argument)
        }
        "UnaryOperator" if argument.opcode == "&" => {
            argument.inner.first().filter(|inner| !is_const(inner))
        }
        "ParenExpr" => argument.inner.first().and_then(changed),
        _ => None,
    }
}

/// The memory of the thread that a call may change through a pointer: an array, or what the pointer points to.
pub fn pointed<'n, 'a>(argument: &'n Node<'a>) -> Option<&'n Node<'a>> {
    let ty = argument.ty.text().trim_end();
    (ty.ends_with('*') && !ty.starts_with("const ")).then_some(argument)
}

fn is_const(n: &Node<'_>) -> bool {
    n.ty.text().starts_with("const ")
}

/// The variable with the old value, of a comparison and exchange; to exchange a value for itself is to read it.
pub fn exchanged<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    let compares = callee_name(n).starts_with("atomic_compare_exchange");
    let [_, old, new, ..] = functions::arguments(n) else {
        return None;
    };
    let old = root(old).filter(|_| compares)?;
    (place(new.peeled()) != Some(old)).then_some(old)
}

/// The expression is an exchange whose new value, or what it stores beside, depends on the old one: when it fails, another
/// thread has succeeded.
pub fn retries<'n, 'a>(n: &'n Node<'a>, changes: &[Change<'n, 'a>], graph: &Graph<'n>) -> bool {
    let (Some(old), Some(new)) = (exchanged(n), functions::arguments(n).get(2)) else {
        return false;
    };
    // Variables of the loop that the old value is made of; where memory is read, the place is none of them.
    let mut origins = HashSet::from([old]);
    let mut before = 0;
    while before < origins.len() {
        before = origins.len();
        for c in changes.iter().filter(|c| exchanged(c.at).is_none()) {
            let reads = || c.values.iter().any(|v| v.any(&mut |v| reads_memory(v)));
            if origins.contains(c.variable) && !reads() {
                origins.extend(&c.from);
            }
        }
    }
    origins.retain(|v| graph.own(v).is_some());
    let is_result =
        |c: &Change<'_, '_>| c.values.iter().any(|v| v.any(&mut |v| std::ptr::eq(v, n)));
    let stored = |c: &Change<'n, 'a>| {
        let operand = c.at.inner.first().filter(|_| !functions::is_call(c.at));
        let to = assignment(c.at).map(|(to, _)| to).or(operand);
        let value = c.values.iter().flat_map(|v| named(v)).collect();
        c.at.kind != "VarDecl"
            && to.is_none_or(is_memory)
            && !origins.contains(c.variable)
            && !origins.is_disjoint(&graph.closure(value))
            && !is_result(c)
    };
    let masked = changes.iter().any(|c| c.variable == old && is_computed(c));
    !masked && (graph.closure(named(new)).contains(old) || changes.iter().any(stored))
}

/// The expression itself reads memory behind a pointer.
fn reads_memory(n: &Node<'_>) -> bool {
    callee_name(n).starts_with("atomic_")
        || n.cast_kind == "LValueToRValue" && n.inner.iter().any(is_memory)
}

/// A value that is calculated, such as the bits of a lock without the writer's: when memory differs from it, nothing need
/// have changed.
fn is_computed(c: &Change<'_, '_>) -> bool {
    let computes = |n: &Node<'_>| {
        n.kind == "BinaryOperator"
            && ["&", "|", "^", "+", "-", "*", "/", "%", "<<", ">>"].contains(&n.opcode.as_ref())
    };
    c.at.kind == "CompoundAssignOperator" || c.values.iter().any(|v| computes(v.peeled()))
}

/// Variables by what they are changed from.
pub struct Graph<'n>(HashMap<&'n str, HashSet<&'n str>>);

impl<'n> Graph<'n> {
    /// Changes of variables and of their `members`: an object is made of its members, and they are changed with it.
    pub fn new<'c, 'a: 'n>(
        changes: impl IntoIterator<Item = &'c Change<'n, 'a>>,
        members: &HashSet<(&'n str, &'n str)>,
    ) -> Self
    where
        'n: 'c,
    {
        let mut out: HashMap<&str, HashSet<&str>> = HashMap::new();
        for c in changes {
            out.entry(c.variable).or_default().extend(&c.from);
            if c.variable != c.object {
                out.entry(c.object).or_default().insert(c.variable);
                continue;
            }
            for (_, member) in members.iter().filter(|(object, _)| *object == c.variable) {
                out.entry(member).or_default().extend(&c.from);
            }
        }
        Self(out)
    }

    /// A variable's name in the graph, if it is changed.
    pub fn own(&self, variable: &str) -> Option<&'n str> {
        self.0.get_key_value(variable).map(|(own, _)| *own)
    }

    /// Variables that the values of `start` depend on, themselves among them.
    pub fn closure(&self, start: HashSet<&'n str>) -> HashSet<&'n str> {
        let mut queue: Vec<&str> = start.iter().copied().collect();
        let mut out = start;
        while let Some(v) = queue.pop() {
            for &from in self.0.get(v).into_iter().flatten() {
                if out.insert(from) {
                    queue.push(from);
                }
            }
        }
        out
    }
}
