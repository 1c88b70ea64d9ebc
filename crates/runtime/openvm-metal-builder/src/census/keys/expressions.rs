//! Keys of expressions.

use super::{pointee, Collector};
use crate::census::{ast::Node, spaces::cast_space, types::Detail};

/// Nodes that say nothing of their own, or that the keys of their parents say.
const SILENT: &[&str] = &[
    "ParenExpr",
    "ExprWithCleanups",
    "MaterializeTemporaryExpr",
    "CXXBindTemporaryExpr",
    "SubstNonTypeTemplateParmExpr",
    "ConstantExpr",
    "ImplicitValueInitExpr",
    "DeclRefExpr",
    "CXXThisExpr",
    "IntegerLiteral",
    "FloatingLiteral",
    "CharacterLiteral",
    "StringLiteral",
    "UserDefinedLiteral",
    "ArrayInitLoopExpr",
    "ArrayInitIndexExpr",
    "OpaqueValueExpr",
];

impl Collector<'_> {
    pub(super) fn expression(&mut self, n: &Node<'_>) {
        let key = match n.kind.as_ref() {
            "BinaryOperator" | "CompoundAssignOperator" => self.binary(n),
            "UnaryOperator" => self.unary(n),
            "ConditionalOperator" => {
                let space = n.inner.get(1).filter(|c| self.shape(c).ends_with('*'));
                match space {
                    Some(c) => format!(
                        "operator: ?: on {}",
                        self.spaced_pointer(c).replace("const ", "")
                    ),
                    None if self.kind(n) == "struct" => {
                        format!("operator: ?: on struct, {}", self.chosen(n))
                    }
                    None => format!("operator: ?: on {}", self.kind(n)),
                }
            }
            "ArraySubscriptExpr" => self.subscript(n),
            "MemberExpr"
                if n.is_arrow
                    && n.inner
                        .first()
                        .is_some_and(|c| c.peeled().kind == "CXXThisExpr") =>
            {
                return
            }
            "MemberExpr" if n.is_arrow => {
                format!("operator: -> of {} pointer", self.space_below(n))
            }
            "MemberExpr" => format!(
                "operator: . of {} object",
                self.index.object_space(n, self.s)
            ),
            "ExtVectorElementExpr" => {
                let from = n.inner.first().map_or_else(String::new, |c| self.shape(c));
                let parts = if self.shape(n) == "vector" {
                    "several elements"
                } else {
                    "one element"
                };
                format!("operator: {parts} of {from}")
            }
            "CallExpr" => self.call(n),
            "CXXMemberCallExpr" => self.member_call(n),
            "CXXOperatorCallExpr" => self.operator_call(n),
            "ImplicitCastExpr" => match self.conversion(n) {
                Some(k) => k,
                None => return,
            },
            "CStyleCastExpr" => self.cast(n, "(T)x"),
            // The constructor has a key of its own.
            "CXXFunctionalCastExpr" if n.cast_kind == "ConstructorConversion" => return,
            "CXXFunctionalCastExpr" => self.cast(n, "T(x)"),
            "CXXStaticCastExpr" => self.cast(n, "static_cast"),
            "CXXReinterpretCastExpr" => self.cast(n, "reinterpret_cast"),
            "CXXConstCastExpr" => self.cast(n, "const_cast"),
            "CXXConstructExpr" | "CXXTemporaryObjectExpr" => match self.construct(n) {
                Some(k) => k,
                None => return,
            },
            "CXXScalarValueInitExpr" => format!("construct: {}()", self.kind(n)),
            "InitListExpr" => format!("construct: braces for {}", self.shape(n)),
            "UnaryExprOrTypeTraitExpr" => format!("operator: {}", n.name),
            "CXXBoolLiteralExpr" => "literal: true or false".into(),
            k if SILENT.contains(&k) || !k.ends_with("Expr") && !k.ends_with("Literal") => return,
            k => format!("expression: {}", k.trim_end_matches("Expr")),
        };
        self.add(key, n);
    }

    fn space_below(&self, n: &Node<'_>) -> &'static str {
        n.inner
            .first()
            .map_or("thread", |c| self.index.pointer_space(c, self.s))
    }

    fn binary(&self, n: &Node<'_>) -> String {
        let (Some(a), Some(b)) = (n.inner.first(), n.inner.get(1)) else {
            return format!("operator: {}", n.opcode);
        };
        if n.opcode == "," {
            return "operator: ,".into();
        }
        let assigned = n.kind == "CompoundAssignOperator";
        let left = self.shape(a);
        let right = self.shape(b);
        if n.opcode == "=" {
            let left = pointee(&left);
            return format!(
                "operator: = on {} {}",
                self.index.object_space(a, self.s),
                left.trim_start_matches("const ")
            );
        }
        if left.ends_with('*') || right.ends_with('*') {
            let class = |shape: &str| {
                if shape.ends_with('*') {
                    "pointer"
                } else {
                    "integer"
                }
            };
            let pointer = if left.ends_with('*') { a } else { b };
            let space = self.index.pointer_space(pointer, self.s);
            return format!(
                "operator: {space} {} {} {}",
                class(&left),
                n.opcode,
                class(&right)
            );
        }
        let family = match n.opcode.trim_end_matches('=') {
            "+" | "-" | "*" => "+ - *",
            "/" | "%" => "/ %",
            "<<" | ">>" => "<< >>",
            "&" | "|" | "^" => "& | ^",
            "&&" | "||" => "&& ||",
            _ => "== != < >",
        };
        let mark = if assigned { "assigning " } else { "" };
        let on = match (left.as_str(), assigned) {
            ("vector", _) => left,
            // The operator itself has the key of the exact type.
            (_, true) => self.kind(a),
            _ => self.exact(a),
        };
        format!("operator: {mark}{family} on {on}")
    }

    fn unary(&self, n: &Node<'_>) -> String {
        let Some(inner) = n.inner.first() else {
            return format!("operator: unary {}", n.opcode);
        };
        match n.opcode.as_ref() {
            "*" => format!(
                "operator: * of {} pointer",
                self.index.pointer_space(inner, self.s)
            ),
            "&" => {
                let what = match inner.peeled().kind.as_ref() {
                    "ArraySubscriptExpr" => "element",
                    "MemberExpr" => "member",
                    _ => "variable",
                };
                let space = self.index.object_space(inner, self.s);
                format!(
                    "operator: & of {space} {what}, {}",
                    pointee(&self.shape(inner))
                )
            }
            "++" | "--" if self.shape(inner).ends_with('*') => "operator: ++ -- on pointer".into(),
            "++" | "--" => {
                let place = if n.is_postfix { "behind" } else { "before" };
                format!("operator: ++ -- {place} {}", self.kind(inner))
            }
            op => format!("operator: unary {op} on {}", self.kind(inner)),
        }
    }

    fn subscript(&self, n: &Node<'_>) -> String {
        let (Some(a), Some(b)) = (n.inner.first(), n.inner.get(1)) else {
            return "operator: []".into();
        };
        let base = if self.shape(b).ends_with('*') { b } else { a };
        if !self.shape(base).ends_with('*') {
            return format!("operator: [] of {}", self.shape(a));
        }
        let array = base.kind == "ImplicitCastExpr" && base.cast_kind == "ArrayToPointerDecay";
        let what = if array { "array" } else { "pointer" };
        format!(
            "operator: [] of {} {what}",
            self.index.pointer_space(base, self.s)
        )
    }

    fn argument(&self, declared: &str, given: Option<&Node<'_>>) -> String {
        let class = self.index.class(declared, Detail::Exact);
        match given {
            // A type that the library computes from others.
            Some(g) if declared.contains("typename ") => self.exact(g),
            Some(g) if class.ends_with('*') => {
                // The pointer in a conversion to `const volatile`.
                format!("{} {class}", self.index.pointer_space(g, self.s))
            }
            Some(g) if class.ends_with('&') => {
                format!("{} {class}", self.index.object_space(g, self.s))
            }
            _ => class,
        }
    }

    fn call(&self, n: &Node<'_>) -> String {
        let callee = n.inner.first().map(Node::peeled);
        let Some(r) = callee.and_then(|c| c.referenced_decl.as_ref()) else {
            return "call: through an expression".into();
        };
        let Some(name) = self.index.library.get(r.id.as_ref()) else {
            return if self.index.declared.contains_key(r.id.as_ref()) {
                "call: own function".into()
            } else {
                format!("call: {}", r.name)
            };
        };
        let parameters = self.index.parameters(&r.ty.qual_type);
        let arguments: Vec<String> = parameters
            .iter()
            .enumerate()
            .map(|(i, p)| self.argument(p, n.inner.get(i + 1)))
            .collect();
        let arguments = arguments.join(", ");
        match name.as_str() {
            "__make" => {
                let shapes: Vec<String> = parameters
                    .iter()
                    .map(|p| self.index.class(p, Detail::Shape))
                    .collect();
                format!("construct: vector({})", shapes.join(", "))
            }
            "as_type" => {
                let from = parameters
                    .first()
                    .map_or_else(String::new, |p| self.index.class(p, Detail::Kind));
                format!("call: as_type<{}>({from})", self.kind(n))
            }
            _ => format!("call: {name}({arguments})"),
        }
    }

    fn member_call(&self, n: &Node<'_>) -> String {
        let Some(callee) = n.inner.first().map(Node::peeled) else {
            return "call: method".into();
        };
        if let Some(name) = self
            .index
            .library
            .get(callee.referenced_member_decl.as_ref())
        {
            return format!("call: {name}()");
        }
        let space = if callee.is_arrow {
            self.space_below(callee)
        } else {
            callee
                .inner
                .first()
                .map_or("thread", |c| self.index.object_space(c, self.s))
        };
        format!("call: own method of {space} object")
    }

    fn operator_call(&self, n: &Node<'_>) -> String {
        let reference = n
            .inner
            .first()
            .map(Node::peeled)
            .and_then(|c| c.referenced_decl.as_ref());
        let name = reference.map_or("operator", |r| r.name.as_ref());
        if let Some(library) = reference.and_then(|r| self.index.library.get(r.id.as_ref())) {
            return format!("call: {library} of the library");
        }
        let space = n
            .inner
            .get(1)
            .map_or("thread", |c| self.index.object_space(c, self.s));
        match name {
            "operator=" => format!("copy: to {space} struct by ="),
            "operator()" => format!("call: own operator() of {space} object"),
            _ if reference.is_some_and(|r| r.kind == "CXXMethodDecl") => {
                format!("call: own operator, method of {space} object")
            }
            _ => "call: own operator, function".into(),
        }
    }

    fn conversion(&self, n: &Node<'_>) -> Option<String> {
        let from = n.inner.first()?;
        // A number without suffix is a float: clang converts it from double.
        if from.kind == "FloatingLiteral" {
            return None;
        }
        let what = match n.cast_kind.as_ref() {
            "LValueToRValue"
            | "NoOp"
            | "ArrayToPointerDecay"
            | "FunctionToPointerDecay"
            | "BuiltinFnToFnPtr"
            | "UserDefinedConversion"
            | "ConstructorConversion" => return None,
            "BitCast" => format!(
                "{} to {}",
                pointee(&self.shape(from)),
                pointee(&self.shape(n))
            ),
            "VectorSplat" => format!("{} to vector", self.kind(from)),
            "NullToPointer" => "null to pointer".into(),
            _ => format!("{} to {}", self.kind(from), self.kind(n)),
        };
        Some(format!("conversion: {what}"))
    }

    fn cast(&self, n: &Node<'_>, form: &str) -> String {
        let Some(from) = n.inner.first() else {
            return format!("cast: {form}");
        };
        // The conversion itself is an implicit one below the cast.
        let mut source = from;
        while source.kind == "ImplicitCastExpr"
            && source
                .inner
                .first()
                .is_some_and(|c| c.kind != "FloatingLiteral")
        {
            source = &source.inner[0];
        }
        let target = self.kind(n);
        if target == "void" {
            return format!("cast: {form} to void");
        }
        if target.ends_with('*') {
            let to = cast_space(n, self.s);
            let source = if self.shape(source).ends_with('*') {
                self.spaced_pointer(source).replace("const ", "")
            } else if self.shape(source).ends_with(']') {
                format!("{} array", self.index.object_space(source, self.s))
            } else {
                self.kind(source)
            };
            return format!(
                "cast: {form} {source} to {to} {}",
                pointee(&self.shape(n)).trim_start_matches("const ")
            );
        }
        if self.shape(source).ends_with('*') {
            // `(T)x` does here what `reinterpret_cast` does.
            let pointer = self.spaced_pointer(source).replace("const ", "");
            return format!("cast: {pointer} to {}", self.exact(n));
        }
        format!("cast: {form} {} to {target}", self.kind(source))
    }

    /// Spaces of the objects that `?:` chooses from; a temporary is in thread memory.
    fn chosen(&self, n: &Node<'_>) -> String {
        let mut sides: Vec<&str> = n.inner.iter().skip(1).map(|c| self.side(c)).collect();
        sides.sort_unstable();
        sides.dedup();
        sides.join(" and ")
    }

    /// Clang copies an object to a temporary if the other side is one.
    fn side(&self, n: &Node<'_>) -> &'static str {
        let silent = matches!(
            n.kind.as_ref(),
            "CXXConstructExpr"
                | "ImplicitCastExpr"
                | "ParenExpr"
                | "ExprWithCleanups"
                | "MaterializeTemporaryExpr"
                | "CXXBindTemporaryExpr"
        );
        match n.inner.as_slice() {
            [inner] if silent => self.side(inner),
            _ if n.value_category == "lvalue" => self.index.object_space(n, self.s),
            _ => "thread",
        }
    }

    fn construct(&self, n: &Node<'_>) -> Option<String> {
        let class = self.index.class(n.ty.text(), Detail::Shape);
        let parameters = self.index.parameters(&n.ctor_type.qual_type);
        let name = self.index.record_name(n.ty.text());
        let copies = parameters.len() == 1
            && parameters[0].ends_with('&')
            && self.index.record_name(&parameters[0]) == name;
        Some(if copies {
            let space = n
                .inner
                .first()
                .map_or("thread", |c| self.index.object_space(c, self.s));
            format!("copy: from {space} {class}")
        } else if parameters.is_empty() {
            format!("construct: {class} by default")
        } else if class == "struct" {
            "construct: struct by constructor".into()
        } else {
            let list: Vec<String> = parameters
                .iter()
                .map(|p| self.index.class(p, Detail::Exact))
                .collect();
            format!("construct: {class}({})", list.join(", "))
        })
    }
}
