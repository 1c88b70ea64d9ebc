//! The constructs of a unit as normalised keys, `group: what`.
//!
//! Words and literals come from the tokens, everything else from clang's tree. Bodies of templates are counted as they are
//! instantiated, with the types of the instantiation; of the templates themselves declarations and statements are counted.

mod declarations;
mod expressions;
mod tokens;

use std::collections::BTreeMap;

use super::{ast::Node, index::Index, source::Source, types::Detail};

/// Original file and line where a key was seen first.
pub type Place = (String, u32);

/// Keys that the walk over a tree collects.
pub(super) struct Collector<'a> {
    pub s: &'a Source<'a>,
    pub index: &'a Index,
    pub keys: BTreeMap<String, Place>,
}

/// Surroundings of a node in the tree.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// In a template that is not instantiated: types are not known.
    pattern: bool,
    /// In a class.
    record: bool,
    /// In a function.
    function: bool,
}

/// A pointer to whatever: `const pointer`. What it points to has keys where it is used.
fn pointee(shape: &str) -> String {
    let Some(inner) = shape.strip_suffix('*') else {
        return shape.into();
    };
    let constant = if inner.starts_with("const ") {
        "const "
    } else {
        ""
    };
    format!("{constant}pointer")
}

/// All keys of a unit, each with its first place.
pub(super) fn keys(root: &Node<'_>, s: &Source<'_>, index: &Index) -> BTreeMap<String, Place> {
    let mut c = Collector {
        s,
        index,
        keys: BTreeMap::new(),
    };
    tokens::collect(&mut c);
    for n in &root.inner {
        if n.offset(s.before).is_some() {
            c.node(n, Inside::default());
        }
    }
    c.keys
}

impl Collector<'_> {
    fn add(&mut self, key: String, n: &Node<'_>) {
        if let Some(offset) = n.offset(self.s.before) {
            self.add_at(key, self.s.token(offset));
        }
    }

    fn add_at(&mut self, key: String, token: usize) {
        if self.keys.contains_key(&key) {
            return;
        }
        let t = self.s.t;
        let place = t
            .tokens
            .get(token)
            .map_or((String::new(), 0), |t| (t.file.to_string(), t.line));
        self.keys.insert(key, place);
    }

    fn exact(&self, n: &Node<'_>) -> String {
        self.index.class(n.ty.text(), Detail::Exact)
    }

    fn kind(&self, n: &Node<'_>) -> String {
        self.index.class(n.ty.text(), Detail::Kind)
    }

    fn shape(&self, n: &Node<'_>) -> String {
        self.index.class(n.ty.text(), Detail::Shape)
    }

    /// The type of a pointer with the space that it points to; `const` says nothing about conversions.
    fn spaced_pointer(&self, n: &Node<'_>) -> String {
        let space = self.index.pointer_space(n, self.s);
        format!("{space} {}", pointee(&self.shape(n)))
    }

    /// One node with everything below.
    fn node(&mut self, n: &Node<'_>, at: Inside) {
        if n.is_implicit || n.kind.is_empty() {
            return;
        }
        let at = Inside {
            pattern: at.pattern || n.kind == "ClassTemplatePartialSpecializationDecl",
            ..at
        };
        let inside = self.declaration(n, at);
        if !at.pattern {
            self.expression(n);
        }
        self.statement(n, at);
        self.children(n, inside);
    }

    fn children(&mut self, n: &Node<'_>, at: Inside) {
        let mut pattern = matches!(
            n.kind.as_ref(),
            "ClassTemplateDecl" | "FunctionTemplateDecl" | "VarTemplateDecl"
        );
        for c in &n.inner {
            let kind = c.kind.as_ref();
            let skip = matches!(
                kind,
                "TemplateArgument" | "CXXDefaultArgExpr" | "CXXDefaultInitExpr"
            ) || kind.ends_with("Attr")
                || kind.ends_with("Type");
            if skip {
                continue;
            }
            let first = pattern
                && matches!(
                    kind,
                    "CXXRecordDecl"
                        | "VarDecl"
                        | "FunctionDecl"
                        | "CXXMethodDecl"
                        | "CXXConstructorDecl"
                        | "CXXConversionDecl"
                );
            let at = Inside {
                pattern: at.pattern || first,
                ..at
            };
            pattern &= !first;
            self.node(c, at);
        }
    }

    fn statement(&mut self, n: &Node<'_>, at: Inside) {
        let name = match n.kind.as_ref() {
            "ForStmt" => "for",
            "WhileStmt" => "while",
            "DoStmt" => "do",
            "IfStmt" => "if",
            "SwitchStmt" => "switch",
            "CaseStmt" => "case",
            "DefaultStmt" => "default",
            "BreakStmt" => "break",
            "ContinueStmt" => "continue",
            "ReturnStmt" if n.inner.is_empty() => "return without value",
            "ReturnStmt" => "return",
            "NullStmt" => "empty",
            "DeclStmt" if n.inner.len() > 1 => "several variables in one declaration",
            "GotoStmt" => "goto",
            "LabelStmt" => "label",
            "CXXForRangeStmt" => "for over a range",
            "CXXTryStmt" => "try",
            "AttributedStmt" | "CompoundStmt" | "DeclStmt" => return,
            k if k.ends_with("Stmt") && at.function => k,
            _ => return,
        };
        self.add(format!("statement: {name}"), n);
    }
}
