//! Pointers to numbers of one type that are used as pointers to numbers of another: Apple's compiler assumes that a load of one
//! does not see a store of the other. Vectors and characters may lie over anything.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::{
    super::{ast::Node, flow::functions, index::Index, source::Source, types::Detail},
    Check,
};

/// Classes in each other that are looked into; a class in itself is a pointer.
const DEEPEST: usize = 8;

/// Pointers without a type of their own, to characters or `void`: what each is set to.
#[derive(Default)]
pub struct Untyped<'a>(HashMap<&'a str, Vec<&'a Node<'a>>>);

impl<'a> Untyped<'a> {
    /// Variables, members, parameters and functions of the unit, by address.
    pub fn new(root: &'a Node<'a>, s: &Source<'_>, index: &Index) -> Self {
        let mut out = Self::default();
        let mut parameters = HashMap::new();
        let own = || root.inner.iter().filter(|n| n.offset(s.before).is_some());
        for n in own() {
            out.declarations(n, index, &mut parameters);
        }
        for n in own() {
            out.calls(n, index, &parameters);
        }
        out
    }

    fn push(&mut self, id: &'a str, value: &'a Node<'a>, index: &Index) {
        if is_untyped(value.ty.text(), index) {
            self.0.entry(id).or_default().push(value);
        }
    }

    fn declarations(
        &mut self,
        n: &'a Node<'a>,
        index: &Index,
        parameters: &mut HashMap<&'a str, Vec<&'a str>>,
    ) {
        let value = n.inner.last();
        match (n.kind.as_ref(), n.inner.as_slice()) {
            ("VarDecl", [.., value]) if !n.init.is_empty() => self.push(&n.id, value, index),
            ("BinaryOperator", [to, value]) if n.opcode == "=" => {
                if let Some(id) = declaration(to.peeled()) {
                    self.push(id, value, index);
                }
            }
            ("FunctionDecl" | "CXXMethodDecl", _) if value.is_some() => {
                let own = n.inner.iter().filter(|c| c.kind == "ParmVarDecl");
                parameters.insert(&n.id, own.map(|p| p.id.as_ref()).collect());
                n.walk(&mut |at| {
                    if let ("ReturnStmt", [value]) = (at.kind.as_ref(), at.inner.as_slice()) {
                        self.push(&n.id, value, index);
                    }
                    true
                });
            }
            _ => {}
        }
        for c in &n.inner {
            self.declarations(c, index, parameters);
        }
    }

    fn calls(
        &mut self,
        n: &'a Node<'a>,
        index: &Index,
        parameters: &HashMap<&'a str, Vec<&'a str>>,
    ) {
        if functions::is_call(n) {
            let callee = n.inner.first().and_then(|c| declaration(c.peeled()));
            let own = callee.and_then(|id| parameters.get(id));
            for (parameter, value) in own.into_iter().flatten().zip(functions::arguments(n)) {
                self.push(parameter, value, index);
            }
        }
        n.inner
            .iter()
            .for_each(|c| self.calls(c, index, parameters));
    }

    /// Types of the pointers that an address was made from; casts to characters and sums say nothing about memory.
    fn origins(&self, n: &'a Node<'a>, index: &Index, seen: &mut HashSet<&'a str>) -> Vec<&'a str> {
        let own = n.ty.text();
        let inner = match (n.kind.as_ref(), n.inner.as_slice()) {
            ("ParenExpr" | "ExprWithCleanups", [inner]) => Some(inner),
            ("ImplicitCastExpr", [inner]) if n.cast_kind != "ArrayToPointerDecay" => Some(inner),
            ("BinaryOperator", parts) => parts.iter().find(|c| c.ty.text().contains('*')),
            ("ConditionalOperator", [_, first, second]) => {
                let mut out = self.origins(first, index, seen);
                out.extend(self.origins(second, index, seen));
                return out;
            }
            (kind, [.., inner]) if kind.ends_with("CastExpr") && is_untyped(own, index) => {
                Some(inner)
                    .filter(|inner| inner.ty.text().contains('*') || inner.kind == "ParenExpr")
            }
            _ => None,
        };
        if let Some(inner) = inner {
            return self.origins(inner, index, seen);
        }
        let callee = n.inner.first().filter(|_| functions::is_call(n));
        let id = declaration(callee.map_or(n, |c| c.peeled()));
        let values = id
            .and_then(|id| self.0.get(id))
            .filter(|_| is_untyped(own, index));
        match (id, values) {
            (Some(id), Some(values)) if seen.insert(id) => values
                .iter()
                .flat_map(|value| self.origins(value, index, seen))
                .collect(),
            _ => vec![own],
        }
    }
}

/// Address of the declaration that an expression names.
fn declaration<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    match (n.kind.as_ref(), &n.referenced_decl) {
        ("DeclRefExpr", Some(r)) => Some(r.id.as_ref()),
        ("MemberExpr", _) => Some(n.referenced_member_decl.as_ref()),
        _ => None,
    }
}

/// True for pointers to characters and to `void`.
fn is_untyped(ty: &str, index: &Index) -> bool {
    let class = index.class(ty, Detail::Exact);
    matches!(pointee(&class), Some("char" | "void"))
}

impl<'a> Check<'a> {
    /// A cast from numbers of one type to numbers of another, in memory.
    pub(super) fn punning(&mut self, n: &'a Node<'a>) {
        let Some(inner) = n.inner.last() else {
            return;
        };
        // A reference is cast as the object.
        let object = n.cast_kind == "LValueBitCast";
        let pointer = |ty: &str| {
            if object {
                format!("{ty} *")
            } else {
                ty.to_string()
            }
        };
        let to = self.numbers(&pointer(n.ty.text()), 0);
        let Some(to) = to.filter(|to| !to.contains("char")) else {
            return;
        };
        let mut seen = HashSet::new();
        let origins = match object {
            true => vec![inner.ty.text()],
            false => self.untyped.origins(inner, self.index, &mut seen),
        };
        let mut from = origins
            .iter()
            .filter_map(|ty| self.numbers(&pointer(ty), 0));
        let Some(from) = from.find(|from| from.is_disjoint(&to)) else {
            return;
        };
        let names = |set: &BTreeSet<String>| Vec::from_iter(set.iter().cloned()).join(", ");
        self.find(
            n,
            "type-punning",
            format!("a pointer to `{}` is used as a pointer to `{}`", names(&from), names(&to)),
            "load and store vectors (`as_type<uint>(*(device uchar4*)p)`), or convert values with as_type: Apple's compiler assumes that numbers of two types do not overlap",
        );
    }

    /// The numbers that a pointer points to, whatever their sign, or an array; of a class, those of all its members. `None`
    /// of other types, such as vectors.
    fn numbers(&self, ty: &str, depth: usize) -> Option<BTreeSet<String>> {
        // A pointer or reference to an array, or the array, by its elements.
        let array = ty.find("(*)[").or_else(|| ty.find("(&)["));
        let array = array.or_else(|| ty.find('[').filter(|_| ty.ends_with('*')));
        let ty = array.map_or(ty.to_string(), |at| format!("{} *", ty[..at].trim_end()));
        let class = self.index.class(&ty, Detail::Exact);
        match pointee(&class) {
            Some("void") => return None,
            Some(number) => return Some([number.to_string()].into()),
            None => {}
        }
        if !class.ends_with("struct*") || depth > DEEPEST {
            return None;
        }
        let record = self.index.records.get(&self.index.record_name(&ty))?;
        let mut out = BTreeSet::new();
        for field in &record.fields {
            out.extend(self.numbers(&format!("{field} *"), depth + 1)?);
        }
        (!out.is_empty()).then_some(out)
    }
}

/// The numbers that a pointer of a key's type points to, whatever their sign; `None` for other types.
fn pointee(class: &str) -> Option<&str> {
    let inner = class.strip_suffix('*')?.trim_start_matches("const ");
    Some(match inner {
        "char" | "uchar" => "char",
        "short" | "ushort" => "short",
        "int" | "uint" => "int",
        "long" | "ulong" => "long",
        "void" | "bool" | "half" | "bfloat" | "float" | "double" => inner,
        _ => return None,
    })
}
