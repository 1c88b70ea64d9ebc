//! Variables that expressions read and statements change.

use std::collections::{HashMap, HashSet};

use super::{super::ast::Node, functions};

/// A change of a variable: an assignment, a step, a call that takes it by reference.
pub struct Change<'n, 'a> {
    /// Address of the variable; of memory, the variable that points to it.
    pub variable: &'n str,
    /// The expression that changes it.
    pub at: &'n Node<'a>,
    /// Variables of the new value, and of the place in memory.
    pub from: HashSet<&'n str>,
    /// Expressions that the new value is made of.
    pub values: Vec<&'n Node<'a>>,
}

/// Addresses of all variables that are named in `n`.
pub fn named<'n>(n: &'n Node<'_>) -> HashSet<&'n str> {
    let mut out = HashSet::new();
    n.walk(&mut |n| {
        out.extend(variable(n));
        true
    });
    out
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

/// The variable at the root of an object: `s` of `s.x[i]`, `p` of `*(p + i)`.
pub fn root<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    variable(n).or_else(|| match n.kind.as_ref() {
        "BinaryOperator" => n
            .inner
            .iter()
            .find(|c| c.ty.text().contains('*'))
            .and_then(root),
        _ => n.inner.first().and_then(root),
    })
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
    let mut push =
        |variable: Option<&'n str>, read: Vec<&'n Node<'a>>, values: Vec<&'n Node<'a>>| {
            let from = read.iter().flat_map(|n| named(n)).collect();
            out.extend(variable.map(|variable| Change {
                variable,
                at: n,
                from,
                values,
            }));
        };
    if let Some((to, value)) = assignment(n) {
        // A variable alone is replaced; of an object or of memory a part.
        let place = variable(to.peeled()).is_none().then_some(to);
        push(
            root(to),
            place.into_iter().chain([value]).collect(),
            vec![value],
        );
        return;
    }
    match (n.kind.as_ref(), n.inner.as_slice()) {
        ("CompoundAssignOperator", [to, value]) => push(root(to), vec![to, value], vec![value]),
        ("UnaryOperator", [to]) if matches!(n.opcode.as_ref(), "++" | "--") => {
            push(root(to), vec![to], Vec::new());
        }
        ("VarDecl", _) if !n.init.is_empty() => {
            let values: Vec<&Node<'_>> = n.inner.iter().collect();
            push(Some(&n.id), values.clone(), values);
        }
        _ if functions::is_call(n) => {
            // The value that a comparison finds follows from memory alone.
            let exchanged = callee_name(n).starts_with("atomic_compare_exchange");
            let arguments = functions::arguments(n);
            let object = n.inner.first().filter(|c| c.kind == "MemberExpr");
            let object = object.and_then(|m| m.inner.first());
            for a in arguments.iter().chain(object) {
                let Some(to) = changed(a) else { continue };
                let read = arguments
                    .iter()
                    .chain(object)
                    .filter(|other| !exchanged || !std::ptr::eq(*other, a));
                let read = read.take(if exchanged { 1 } else { usize::MAX }).collect();
                push(root(to), read, vec![n]);
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

/// Name of the function that a call names.
pub fn callee_name<'n>(call: &'n Node<'_>) -> &'n str {
    let callee = call.inner.first().map(Node::peeled);
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

fn is_const(n: &Node<'_>) -> bool {
    n.ty.text().starts_with("const ")
}

/// Variables from which the values of `start` follow by these changes.
pub fn closure<'n>(start: HashSet<&'n str>, changes: &[Change<'n, '_>]) -> HashSet<&'n str> {
    let mut by: HashMap<&str, Vec<&Change<'n, '_>>> = HashMap::new();
    for c in changes {
        by.entry(c.variable).or_default().push(c);
    }
    let mut out = start.clone();
    let mut queue: Vec<&str> = start.into_iter().collect();
    while let Some(v) = queue.pop() {
        for from in by.get(v).into_iter().flatten().flat_map(|c| &c.from) {
            if out.insert(from) {
                queue.push(from);
            }
        }
    }
    out
}
