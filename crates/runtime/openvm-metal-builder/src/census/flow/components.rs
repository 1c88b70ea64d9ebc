//! Components of vectors as members: a variable whose components alone are named is as many variables.

use std::collections::HashMap;

use super::{
    super::{ast::Node, source::Source},
    functions, variables,
};

/// Uses of a vector's variable.
#[derive(Clone, Copy, Default)]
struct Uses {
    all: usize,
    /// One component is read or written.
    single: usize,
}

/// Makes members of the components in every function below `root`.
pub fn split(root: &mut Node<'_>, s: &Source<'_>) {
    if root.inner.iter().any(|c| c.kind == "CompoundStmt") {
        let mut uses = HashMap::new();
        count(root, s, &mut uses);
        name(root, s, &uses);
        return;
    }
    root.inner.iter_mut().for_each(|c| split(c, s));
}

/// The variable whose single component an expression is, and the component.
fn component(n: &Node<'_>, s: &Source<'_>) -> Option<(String, &'static str)> {
    let object = n
        .inner
        .first()
        .filter(|_| n.kind == "ExtVectorElementExpr")?;
    let id = &object.peeled().referenced_decl.as_ref()?.id;
    let end = n.range.end.behind(s.before)?;
    let component = match s.t.at(s.token(end)) {
        "x" | "r" | "s0" => "x",
        "y" | "g" | "s1" => "y",
        "z" | "b" | "s2" => "z",
        "w" | "a" | "s3" => "w",
        _ => return None,
    };
    Some((id.to_string(), component))
}

/// The variable that is set to a vector made of numbers, and these.
fn made<'n, 'a>(n: &'n Node<'a>) -> Option<(String, Vec<&'n Node<'a>>)> {
    let [to, value] = n.inner.as_slice() else {
        return None;
    };
    let is_set = n.kind == "BinaryOperator" && n.opcode == "=" && to.kind == "DeclRefExpr";
    let id = to
        .referenced_decl
        .as_ref()
        .filter(|_| is_set)?
        .id
        .to_string();
    let value = value.peeled();
    let numbers = functions::arguments(value);
    let is_number = |n: &Node<'_>| !n.ty.text().contains("ext_vector_type");
    let made = variables::callee_name(value) == "__make" && numbers.iter().all(is_number);
    let size = to.ty.text().rsplit("ext_vector_type(").next()?;
    let size: usize = size.split(')').next()?.parse().ok()?;
    let all = match numbers {
        [one] => vec![one; size],
        several => several.iter().collect(),
    };
    (made && all.len() == size).then_some((id, all))
}

fn count(n: &Node<'_>, s: &Source<'_>, uses: &mut HashMap<String, Uses>) {
    if let Some((id, _)) = made(n) {
        uses.entry(id).or_default().single += 1;
    }
    if let Some((id, _)) = component(n, s) {
        uses.entry(id).or_default().single += 1;
    }
    if let Some(r) = &n.referenced_decl {
        uses.entry(r.id.to_string()).or_default().all += 1;
    }
    n.inner.iter().for_each(|c| count(c, s, uses));
}

fn name(n: &mut Node<'_>, s: &Source<'_>, uses: &HashMap<String, Uses>) {
    n.inner.iter_mut().for_each(|c| name(c, s, uses));
    let apart = |id: &str| uses.get(id).is_some_and(|u| u.all == u.single);
    if let Some((id, values)) = made(n).filter(|(id, _)| apart(id)) {
        let parts = ["x", "y", "z", "w"].into_iter().zip(values);
        let parts = parts.map(|(component, value)| {
            let mut to = Node {
                inner: vec![n.inner[0].clone()],
                ..n.inner[0].clone()
            };
            to.referenced_decl = None;
            member(&mut to, &id, component);
            Node {
                inner: vec![to, value.clone()],
                ..n.clone()
            }
        });
        let parts: Vec<Node<'_>> = parts.collect();
        n.opcode = ",".into();
        n.inner = parts;
        return;
    }
    if let Some((id, component)) = component(n, s).filter(|(id, _)| apart(id)) {
        member(n, &id, component);
    }
}

/// Makes a member of an expression.
fn member(n: &mut Node<'_>, id: &str, component: &'static str) {
    n.kind = "MemberExpr".into();
    n.name = component.into();
    n.referenced_member_decl = format!("{id}.{component}").into();
}
