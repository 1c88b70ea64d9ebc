//! The address space of what an expression names. Clang parses without them: they are read from the declarations.

use super::{ast::Node, index::Index, source::Source};

impl Index {
    /// The space of an object, an lvalue.
    pub fn object_space(&self, n: &Node<'_>, s: &Source<'_>) -> &'static str {
        match n.kind.as_ref() {
            "DeclRefExpr" => {
                let Some(d) = n
                    .referenced_decl
                    .as_ref()
                    .and_then(|r| self.declared.get(r.id.as_ref()))
                else {
                    return "thread";
                };
                match d.spaces.last() {
                    // A pointer itself is in thread memory.
                    Some(_) if d.ty.trim_end().ends_with('*') => "thread",
                    Some(space) => space,
                    None if d.deduced => "deduced",
                    None => "thread",
                }
            }
            "MemberExpr" if n.is_arrow => self.pointee(n, s),
            "ArraySubscriptExpr" => n
                .inner
                .iter()
                .find(|c| is_pointer(c))
                .map_or("thread", |c| self.pointer_space(c, s)),
            "UnaryOperator" if n.opcode == "*" => self.pointee(n, s),
            "MemberExpr"
            | "ExtVectorElementExpr"
            | "ParenExpr"
            | "ImplicitCastExpr"
            | "ExprWithCleanups"
            | "MaterializeTemporaryExpr" => n
                .inner
                .first()
                .map_or("thread", |c| self.object_space(c, s)),
            "ConditionalOperator" => n.inner.get(1).map_or("thread", |c| self.object_space(c, s)),
            "CallExpr" => self.returned_space(n),
            _ => "thread",
        }
    }

    fn pointee(&self, n: &Node<'_>, s: &Source<'_>) -> &'static str {
        n.inner
            .first()
            .map_or("thread", |c| self.pointer_space(c, s))
    }

    /// The space that an expression of pointer type points to.
    pub fn pointer_space(&self, n: &Node<'_>, s: &Source<'_>) -> &'static str {
        match n.kind.as_ref() {
            "DeclRefExpr" => n
                .referenced_decl
                .as_ref()
                .map_or("thread", |r| self.named_space(&r.id)),
            "MemberExpr" => self.named_space(&n.referenced_member_decl),
            "ImplicitCastExpr" if n.cast_kind == "ArrayToPointerDecay" => n
                .inner
                .first()
                .map_or("thread", |c| self.object_space(c, s)),
            "ImplicitCastExpr"
            | "ParenExpr"
            | "ExprWithCleanups"
            | "CXXStaticCastExpr"
            | "CXXFunctionalCastExpr" => self.pointee(n, s),
            "BinaryOperator" => n
                .inner
                .iter()
                .find(|c| is_pointer(c))
                .map_or("thread", |c| self.pointer_space(c, s)),
            "UnaryOperator" if n.opcode == "&" => n
                .inner
                .first()
                .map_or("thread", |c| self.object_space(c, s)),
            "UnaryOperator" => self.pointee(n, s),
            "ConditionalOperator" => n
                .inner
                .get(1)
                .map_or("thread", |c| self.pointer_space(c, s)),
            "CStyleCastExpr" | "CXXReinterpretCastExpr" => cast_space(n, s),
            "CallExpr" => self.returned_space(n),
            "CXXThisExpr" => "this",
            _ => "thread",
        }
    }

    fn named_space(&self, id: &str) -> &'static str {
        match self.declared.get(id) {
            Some(d) => {
                let unnamed = if d.deduced { "deduced" } else { "thread" };
                d.spaces.last().copied().unwrap_or(unnamed)
            }
            None => "thread",
        }
    }

    fn returned_space(&self, n: &Node<'_>) -> &'static str {
        let callee = n.inner.first().map(Node::peeled);
        let reference = callee.and_then(|c| c.referenced_decl.as_ref());
        reference.map_or("thread", |r| self.named_space(&r.id))
    }
}

fn is_pointer(n: &Node<'_>) -> bool {
    n.ty.text()
        .trim_end()
        .trim_end_matches("const")
        .trim_end()
        .ends_with('*')
}

/// The space in the parentheses, or the angle brackets, of a cast; the last one if there are several.
pub fn cast_space(n: &Node<'_>, s: &Source<'_>) -> &'static str {
    let Some(from) = n.range.begin.behind(s.before) else {
        return "thread";
    };
    let mut i = s.token(from);
    let end = loop {
        match s.t.at(i) {
            "(" => break s.t.matching(i),
            "<" => break s.t.matching_angle(i).unwrap_or(i),
            "" => return "thread",
            _ => i += 1,
        }
    };
    let spaces = ["device", "constant", "threadgroup", "thread"];
    let named = (i..end)
        .rev()
        .find_map(|k| spaces.into_iter().find(|space| *space == s.t.at(k)));
    named.unwrap_or("deduced")
}
