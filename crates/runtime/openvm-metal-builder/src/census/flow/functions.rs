//! The functions of a unit that are compiled, and their calls.

use std::collections::{HashMap, HashSet};

use super::super::{ast::Node, source::Source};

/// A function with a body; of a template each instance is one.
pub struct Function<'n, 'a> {
    /// Address of its first declaration.
    pub id: &'n str,
    pub name: &'n str,
    /// Byte of the name in the unit.
    pub offset: Option<usize>,
    pub parameters: Vec<&'n Node<'a>>,
    pub body: &'n Node<'a>,
}

/// The functions of a unit, in the order of the text.
pub struct Functions<'n, 'a> {
    pub all: Vec<Function<'n, 'a>>,
    /// Position in `all` by the address of any declaration.
    by_id: HashMap<&'n str, usize>,
    /// Names of functions that are declared and have no body, by address.
    bodiless: HashMap<&'n str, &'n str>,
    /// Constants of value 0.
    zeros: HashSet<&'n str>,
}

const FUNCTIONS: [&str; 4] = [
    "FunctionDecl",
    "CXXMethodDecl",
    "CXXConversionDecl",
    "CXXConstructorDecl",
];

impl<'n, 'a> Functions<'n, 'a> {
    pub fn new(root: &'n Node<'a>, s: &Source<'_>) -> Self {
        let (mut bodies, mut first, mut bodiless) = (Vec::new(), HashMap::new(), HashMap::new());
        for n in root.inner.iter().filter(|n| n.offset(s.before).is_some()) {
            collect(n, &mut bodies, &mut first, &mut bodiless);
        }
        let canonical = |id: &'n str| first.get(id).copied().unwrap_or(id);
        let all: Vec<Function<'n, 'a>> = bodies
            .into_iter()
            .map(|(n, body)| Function {
                id: canonical(&n.id),
                name: &n.name,
                offset: n.offset(s.before),
                parameters: n.inner.iter().filter(|c| c.kind == "ParmVarDecl").collect(),
                body,
            })
            .collect();
        let by_first: HashMap<&str, usize> =
            all.iter().enumerate().map(|(i, f)| (f.id, i)).collect();
        let declared = first
            .iter()
            .filter_map(|(id, first)| Some((*id, *by_first.get(first)?)));
        let by_id = declared
            .chain(by_first.iter().map(|(id, i)| (*id, *i)))
            .collect();
        let bodiless: HashMap<&str, &str> = bodiless;
        let mut zeros = HashSet::new();
        root.walk(&mut |n| {
            let value = n.inner.last().filter(|_| !n.init.is_empty());
            let constant = n.kind == "VarDecl" && n.ty.text().starts_with("const ");
            if constant && value.is_some_and(|v| v.peeled().value == "0") {
                zeros.insert(n.id.as_ref());
            }
            true
        });
        Self {
            all,
            by_id,
            bodiless,
            zeros,
        }
    }

    /// True for the number 0, and for names of constants with that value.
    pub fn is_zero(&self, n: &Node<'_>) -> bool {
        let named = named_id(n).is_some_and(|id| self.zeros.contains(id));
        n.value == "0" || named
    }

    /// Position in [`Self::all`] of the function that a name or a member names.
    pub fn named(&self, n: &Node<'_>) -> Option<usize> {
        self.by_id.get(named_id(n)?).copied()
    }

    /// The name of the function that an expression names, if the unit declares it and does not define it.
    pub fn undefined(&self, n: &Node<'_>) -> Option<&'n str> {
        let id = named_id(n)?;
        let name = self.bodiless.get(id).copied();
        name.filter(|_| !self.by_id.contains_key(id))
    }

    /// Position of the function that a call calls; `None` for the library's.
    pub fn called(&self, call: &Node<'_>) -> Option<usize> {
        self.named(call.inner.first()?.peeled())
    }
}

/// Address of the declaration that a name or a member names.
fn named_id<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    match (n.kind.as_ref(), &n.referenced_decl) {
        ("DeclRefExpr", Some(r)) => Some(r.id.as_ref()),
        ("MemberExpr", _) => Some(n.referenced_member_decl.as_ref()),
        _ => None,
    }
}

/// Functions with bodies below `n`, and the first declaration of each that has several. The text of a template is left out
/// for its instances.
fn collect<'n, 'a>(
    n: &'n Node<'a>,
    bodies: &mut Vec<(&'n Node<'a>, &'n Node<'a>)>,
    first: &mut HashMap<&'n str, &'n str>,
    bodiless: &mut HashMap<&'n str, &'n str>,
) {
    if n.is_implicit && n.kind != "CXXRecordDecl" {
        return;
    }
    let pattern = match n.kind.as_ref() {
        "FunctionTemplateDecl" => n
            .inner
            .iter()
            .position(|c| FUNCTIONS.contains(&c.kind.as_ref())),
        "ClassTemplateDecl" => n.inner.iter().position(|c| c.kind == "CXXRecordDecl"),
        "ClassTemplatePartialSpecializationDecl" => return,
        kind if FUNCTIONS.contains(&kind) => {
            if !n.previous_decl.is_empty() {
                let before: &str = &n.previous_decl;
                let origin = first.get(before).copied().unwrap_or(before);
                first.insert(&n.id, origin);
            }
            if let Some(body) = n.inner.iter().find(|c| c.kind == "CompoundStmt") {
                bodies.push((n, body));
            } else if n.explicitly_defaulted.is_empty() {
                bodiless.insert(&n.id, &n.name);
            }
            return;
        }
        "NamespaceDecl" | "CXXRecordDecl" | "ClassTemplateSpecializationDecl" => None,
        _ => return,
    };
    for (i, child) in n.inner.iter().enumerate() {
        if Some(i) != pattern {
            collect(child, bodies, first, bodiless);
        }
    }
}

/// Arguments of a call, with the object of an operator.
pub fn arguments<'n, 'a>(call: &'n Node<'a>) -> &'n [Node<'a>] {
    call.inner.get(1..).unwrap_or_default()
}

/// The object of a call of a member function.
pub fn object<'n, 'a>(call: &'n Node<'a>) -> Option<&'n Node<'a>> {
    let member = call.inner.first().filter(|c| c.kind == "MemberExpr");
    member.and_then(|m| m.inner.first())
}

/// True for calls of functions, members and operators.
pub fn is_call(n: &Node<'_>) -> bool {
    matches!(
        n.kind.as_ref(),
        "CallExpr" | "CXXMemberCallExpr" | "CXXOperatorCallExpr"
    )
}
