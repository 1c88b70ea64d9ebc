//! Aliases of variables: pointers and references to memory of the thread, replaced by what they stand for.
//!
//! `*p` is `v` where `p` is `&v`. A pointer to one of several variables is a choice of them. Pointers to memory that threads
//! share stay: the rules tell them by their spaces.

use std::collections::HashMap;

use super::super::{
    ast::{Node, Reference},
    index::Index,
};

/// Replaces the aliases in every function below `root`.
pub fn replace(root: &mut Node<'_>, index: &Index) {
    if root.kind.starts_with("CXX") || root.kind.ends_with("Decl") {
        if root.inner.iter().any(|c| c.kind == "CompoundStmt") {
            function(root, index);
            return;
        }
        root.inner.iter_mut().for_each(|c| replace(c, index));
    }
}

/// A pointer or reference variable, and what it is set to.
#[derive(Default)]
struct Alias<'a> {
    sources: Vec<Node<'a>>,
    /// It is set in more ways than to `sources`, as by `p++`.
    moves: bool,
    /// A name of it.
    name: Node<'a>,
}

type Aliases<'a> = HashMap<String, Alias<'a>>;

fn function<'a>(f: &mut Node<'a>, index: &Index) {
    let mut aliases = Aliases::new();
    collect(f, index, &mut aliases);
    let ids: Vec<String> = aliases.keys().cloned().collect();
    let stands: HashMap<String, Node<'a>> = ids
        .into_iter()
        .filter_map(|id| Some((id.clone(), standing(&id, &aliases, index, 0)?)))
        .collect();
    substitute(f, &stands);
    direct(f, index);
}

/// Pointer and reference variables of the thread, with what they are set to.
fn collect<'a>(n: &Node<'a>, index: &Index, out: &mut Aliases<'a>) {
    if n.kind == "VarDecl" && is_own(&n.id, index) && is_address(n.ty.text()) {
        let alias = out.entry(n.id.to_string()).or_default();
        if let Some(value) = n.inner.last().filter(|_| !n.init.is_empty()) {
            alias.sources.push(value.clone());
        }
        alias.name = name(n);
    }
    let target = n.inner.first().and_then(|to| variable(to.peeled()));
    match (n.kind.as_ref(), n.inner.as_slice(), target) {
        ("BinaryOperator", [to, value], Some(id))
            if n.opcode == "=" && is_pointer(to.ty.text()) =>
        {
            let alias = out.entry(id.to_string()).or_default();
            alias.sources.push(value.clone());
        }
        ("CompoundAssignOperator", [to, _], Some(id)) if is_pointer(to.ty.text()) => {
            out.entry(id.to_string()).or_default().moves = true;
        }
        ("UnaryOperator", [to], Some(id))
            if matches!(n.opcode.as_ref(), "++" | "--") && is_pointer(to.ty.text()) =>
        {
            out.entry(id.to_string()).or_default().moves = true;
        }
        _ => {}
    }
    n.inner.iter().for_each(|c| collect(c, index, out));
}

/// A name of a declared variable.
fn name<'a>(n: &Node<'a>) -> Node<'a> {
    Node {
        kind: "DeclRefExpr".into(),
        ty: n.ty.clone(),
        range: n.range.clone(),
        value_category: "lvalue".into(),
        referenced_decl: Some(Box::new(Reference {
            id: n.id.clone(),
            kind: n.kind.clone(),
            name: n.name.clone(),
            ty: n.ty.clone(),
        })),
        ..Node::default()
    }
}

fn is_pointer(ty: &str) -> bool {
    let ty = ty.trim_end();
    ty.strip_suffix("const")
        .unwrap_or(ty)
        .trim_end()
        .ends_with('*')
}

fn is_address(ty: &str) -> bool {
    is_pointer(ty) || ty.trim_end().ends_with('&')
}

/// True for variables in memory of the thread, and for pointers to it.
fn is_own(id: &str, index: &Index) -> bool {
    let Some(declared) = index.declared.get(id) else {
        return true;
    };
    let shared = ["device", "constant", "threadgroup"];
    // A parameter of a template's type may point anywhere.
    let unknown = declared.deduced && !declared.is_auto;
    !unknown && !declared.spaces.last().is_some_and(|s| shared.contains(s))
}

/// Address of the variable that a name names.
fn variable<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    match (n.kind.as_ref(), &n.referenced_decl) {
        ("DeclRefExpr", Some(r)) if matches!(r.kind.as_ref(), "VarDecl" | "ParmVarDecl") => {
            Some(&r.id)
        }
        _ => None,
    }
}

/// Aliases of aliases that are followed.
const DEEPEST: usize = 8;

/// The expression that an alias stands for; `None` where it may be another.
fn standing<'a>(id: &str, aliases: &Aliases<'a>, index: &Index, depth: usize) -> Option<Node<'a>> {
    let alias = aliases.get(id).filter(|_| depth < DEEPEST)?;
    let mut moves = alias.moves;
    let mut out: Vec<Node<'a>> = Vec::new();
    for source in &alias.sources {
        let mut bases = Vec::new();
        if !bases_of(source, index, &mut bases) {
            return None;
        }
        if bases.iter().any(|b| b == id) {
            moves = true;
            continue;
        }
        let mut stands = HashMap::new();
        for base in &bases {
            if aliases.contains_key(base) {
                stands.insert(base.clone(), standing(base, aliases, index, depth + 1)?);
            }
        }
        let mut source = source.clone();
        substitute(&mut source, &stands);
        out.push(source);
    }
    let first = out.pop()?;
    if out.is_empty() && moves {
        return Some(choice(&alias.name, first.clone(), first));
    }
    Some(
        out.into_iter()
            .fold(first, |a, b| choice(&alias.name, a, b)),
    )
}

/// One of two objects, by the value of a pointer.
fn choice<'a>(name: &Node<'a>, first: Node<'a>, second: Node<'a>) -> Node<'a> {
    Node {
        kind: "ConditionalOperator".into(),
        ty: first.ty.clone(),
        range: first.range.clone(),
        value_category: first.value_category.clone(),
        inner: vec![name.clone(), first, second],
        ..Node::default()
    }
}

/// Variables whose memory an address points into, added to `out`; false if that is not known, or no memory of the thread.
fn bases_of(n: &Node<'_>, index: &Index, out: &mut Vec<String>) -> bool {
    if let Some(id) = variable(n) {
        out.push(id.to_string());
        return is_own(id, index);
    }
    match (n.kind.as_ref(), n.inner.as_slice()) {
        ("ConditionalOperator", [_, first, second]) => {
            bases_of(first, index, out) && bases_of(second, index, out)
        }
        ("BinaryOperator", parts) if matches!(n.opcode.as_ref(), "+" | "-") => parts
            .iter()
            .find(|c| c.ty.text().contains('*'))
            .is_some_and(|c| bases_of(c, index, out)),
        (
            "ArraySubscriptExpr" | "MemberExpr" | "ParenExpr" | "ExtVectorElementExpr",
            [first, ..],
        ) => bases_of(first, index, out),
        ("UnaryOperator", [inner]) if matches!(n.opcode.as_ref(), "&" | "*") => {
            bases_of(inner, index, out)
        }
        (kind, [inner]) if kind.ends_with("CastExpr") || kind == "ExprWithCleanups" => {
            bases_of(inner, index, out)
        }
        _ => false,
    }
}

/// Puts in place of each alias what it stands for.
fn substitute<'a>(n: &mut Node<'a>, stands: &HashMap<String, Node<'a>>) {
    // What is set is the pointer itself.
    let sets = n.kind == "CompoundAssignOperator"
        || n.kind == "BinaryOperator" && n.opcode == "="
        || matches!(n.opcode.as_ref(), "++" | "--");
    let set = n.inner.first().filter(|_| sets).map(Node::peeled);
    let set = set.filter(|to| is_pointer(to.ty.text())).and_then(variable);
    let skipped = set.is_some();
    let stepped = set
        .filter(|_| n.kind == "UnaryOperator")
        .and_then(|id| stands.get(id));
    let loads = n.kind == "ImplicitCastExpr" && n.cast_kind == "LValueToRValue";
    let named = if loads { n.inner.first() } else { None };
    let named = named.filter(|c| is_pointer(c.ty.text())).unwrap_or(n);
    if let Some(stand) = variable(named).and_then(|id| stands.get(id)) {
        *n = stand.clone();
        return;
    }
    for c in n.inner.iter_mut().skip(usize::from(skipped)) {
        substitute(c, stands);
    }
    // `*p++`: the pointer that is read is one that moves.
    if let Some(stand) = stepped {
        if let ("ConditionalOperator", [_, first, second]) =
            (stand.kind.as_ref(), stand.inner.as_slice())
        {
            let choice = choice(n, first.clone(), second.clone());
            *n = choice;
            return;
        }
    }
    let address = n.inner.first().map(Node::peeled);
    let address = address.is_some_and(|a| a.kind == "UnaryOperator" && a.opcode == "&");
    if address && n.kind == "UnaryOperator" && n.opcode == "*" {
        if let Some(object) = n.inner[0].peeled().inner.first().cloned() {
            *n = object;
        }
    }
}

/// Writes `p->x` and `this->x` as `p.x` where the object is the thread's, and takes its pointers for arrays: an object of the
/// thread is known by its name.
fn direct(n: &mut Node<'_>, index: &Index) {
    n.inner.iter_mut().for_each(|c| direct(c, index));
    let object = n.inner.first().map(Node::peeled);
    let own = object.is_some_and(|o| {
        o.kind == "CXXThisExpr"
            || o.kind == "UnaryOperator" && o.opcode == "&"
            || variable(o).is_some_and(|id| is_own(id, index))
    });
    if n.kind == "MemberExpr" && n.is_arrow && own {
        n.is_arrow = false;
        let address = object.filter(|o| o.kind == "UnaryOperator");
        if let Some(object) = address.and_then(|a| a.inner.first()).cloned() {
            n.inner = vec![object];
        }
    }
    let parameter = n
        .referenced_decl
        .as_ref()
        .filter(|r| r.kind == "ParmVarDecl");
    let pointer = parameter.filter(|r| is_pointer(n.ty.text()) && is_own(&r.id, index));
    if n.kind == "DeclRefExpr" && pointer.is_some() {
        let element = n.ty.text().trim_end().trim_end_matches("const").trim_end();
        let element = element.strip_suffix('*').unwrap_or(element).trim_end();
        n.ty.qual_type = format!("{element}[]").into();
        n.ty.desugared_qual_type = "".into();
    }
}
