//! Keys of declarations.

use super::{pointee, tokens::names, Collector, Inside};
use crate::census::{ast::Node, types::Detail};

impl Collector<'_> {
    /// The keys of a declaration, and where its parts stand.
    pub(super) fn declaration(&mut self, n: &Node<'_>, at: Inside) -> Inside {
        let in_function = Inside {
            function: true,
            record: false,
            ..at
        };
        match n.kind.as_ref() {
            "FunctionDecl" | "CXXMethodDecl" | "CXXConstructorDecl" | "CXXConversionDecl"
            | "CXXDestructorDecl" => {
                self.function(n, at);
                return in_function;
            }
            "VarDecl" => self.variable(n, at),
            "ParmVarDecl" => self.parameter(n, at),
            "FieldDecl" => self.field(n, at),
            "CXXRecordDecl"
            | "ClassTemplateSpecializationDecl"
            | "ClassTemplatePartialSpecializationDecl" => {
                self.record(n, at);
                return Inside { record: true, ..at };
            }
            "EnumDecl" => {
                let class = if n.scoped_enum_tag.is_empty() {
                    "enum"
                } else {
                    "enum class"
                };
                self.add(format!("type: {class}"), n);
            }
            "TypedefDecl" => self.add("type: typedef".into(), n),
            "TypeAliasDecl" => self.add("type: using alias".into(), n),
            "TypeAliasTemplateDecl" => self.add("type: using alias template".into(), n),
            "TemplateTypeParmDecl" => self.template_parameter(n, "a type"),
            "TemplateTemplateParmDecl" => self.template_parameter(n, "a template"),
            "NonTypeTemplateParmDecl" => {
                let ty = self.exact(n);
                self.template_parameter(n, &ty);
            }
            "UsingDirectiveDecl" => self.add("name: using namespace".into(), n),
            "NamespaceDecl" => self.add("name: namespace".into(), n),
            "ClassTemplateDecl" | "FunctionTemplateDecl" | "EnumConstantDecl" | "EmptyDecl" => {}
            k if k.ends_with("Decl") => {
                self.add(format!("declaration: {}", k.trim_end_matches("Decl")), n)
            }
            _ => {}
        }
        at
    }

    fn template_parameter(&mut self, n: &Node<'_>, what: &str) {
        let pack = if n.is_parameter_pack { ", pack" } else { "" };
        let default = if n.inner.iter().any(|c| c.kind == "TemplateArgument") {
            ", default"
        } else {
            ""
        };
        self.add(format!("template: parameter is {what}{pack}{default}"), n);
    }

    fn function(&mut self, n: &Node<'_>, at: Inside) {
        let kernel = self.words_before(n).contains(&"kernel");
        let operator = n
            .name
            .strip_prefix("operator")
            .filter(|o| !o.starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        let fixed = |s: &str| s.to_string();
        match n.kind.as_ref() {
            "CXXConstructorDecl" => {
                let how = match n.explicitly_defaulted.as_ref() {
                    "default" => "defaulted",
                    "deleted" => "deleted",
                    _ if n.inner.iter().any(|c| c.kind == "CXXCtorInitializer") => {
                        "with initialisers"
                    }
                    _ => "without initialisers",
                };
                self.add(format!("constructor: {how}{}", self.trailing_spaces(n)), n);
            }
            "CXXDestructorDecl" => self.add(fixed("destructor: declared"), n),
            "CXXConversionDecl" => {
                self.add(format!("method: conversion{}", self.trailing_spaces(n)), n)
            }
            "CXXMethodDecl" => {
                let what = match (operator, n.storage_class.as_ref()) {
                    (Some(o), _) => format!("operator{}", o.trim()),
                    (None, "static") => fixed("static"),
                    _ => fixed("named"),
                };
                let constant = if n.ty.qual_type.trim_end().ends_with("const") {
                    " const"
                } else {
                    ""
                };
                self.add(
                    format!("method: {what}{constant}{}", self.trailing_spaces(n)),
                    n,
                );
            }
            _ if kernel => self.add(fixed("function: kernel"), n),
            _ => match operator {
                Some(o) => self.add(format!("function: operator{}", o.trim()), n),
                None if n.storage_class == "static" => self.add(fixed("function: static"), n),
                None => self.add(fixed("function: plain"), n),
            },
        }
        if !matches!(
            n.kind.as_ref(),
            "CXXConstructorDecl" | "CXXDestructorDecl" | "CXXConversionDecl"
        ) && !at.pattern
        {
            let class = pointee(&self.index.returned(n.ty.text(), Detail::Shape));
            let space = self
                .index
                .declared
                .get(n.id.as_ref())
                .and_then(|d| d.spaces.last());
            let space = space.map_or(String::new(), |s| format!("{s} "));
            let auto = self.words_before(n).contains(&"auto");
            let class = if auto {
                "auto".into()
            } else {
                format!("{space}{class}")
            };
            self.add(format!("function: returns {class}"), n);
        }
    }

    /// Address spaces behind the parameters of a member function.
    fn trailing_spaces(&self, n: &Node<'_>) -> String {
        let t = self.s.t;
        let Some(name) = n.loc.behind(self.s.before).map(|o| self.s.token(o)) else {
            return String::new();
        };
        let Some(open) = (name..t.len().min(name + 6))
            .rev()
            .find(|&k| t.at(k) == "(" && t.at(k - 1) != "operator")
        else {
            return String::new();
        };
        let mut close = t.matching(open);
        // `operator()(...)`.
        if t.at(close + 1) == "(" {
            close = t.matching(close + 1);
        }
        let mut out = String::new();
        for k in close + 1..t.len() {
            match t.at(k) {
                w @ ("device" | "constant" | "thread" | "threadgroup") => {
                    out.push(' ');
                    out.push_str(w);
                }
                "const" => {}
                _ => break,
            }
        }
        out
    }

    /// Words of a declaration before its name.
    fn words_before(&self, n: &Node<'_>) -> Vec<&str> {
        let t = self.s.t;
        let Some(name) = n.loc.behind(self.s.before).map(|o| self.s.token(o)) else {
            return Vec::new();
        };
        let from = (0..name)
            .rev()
            .find(|&k| matches!(t.at(k), ";" | "}" | "{" | "," | ")"))
            .map_or(0, |k| k + 1);
        (from..name).map(|k| t.at(k)).collect()
    }

    /// Form of a variable's initialiser, by the token after its name.
    fn initialised(&self, n: &Node<'_>) -> &'static str {
        let t = self.s.t;
        let mut i = n
            .loc
            .behind(self.s.before)
            .map_or(t.len(), |o| self.s.token(o) + 1);
        while t.at(i) == "[" {
            i = t.matching(i) + 1;
        }
        match t.at(i) {
            "=" => "with =",
            "(" => "by constructor",
            "{" => "by braces",
            ":" => "of a range",
            _ => "without initialiser",
        }
    }

    fn variable(&mut self, n: &Node<'_>, at: Inside) {
        let Some(d) = self.index.declared.get(n.id.as_ref()).cloned() else {
            return;
        };
        let words = self.words_before(n);
        let is_auto = words.contains(&"auto");
        let constant = if words.contains(&"constexpr") {
            "constexpr "
        } else {
            ""
        };
        let place = match (at.function, at.record) {
            (true, _) if n.storage_class == "static" => "static local ",
            (true, _) => "",
            (false, true) => "static member ",
            (false, false) => "global ",
        };
        if n.storage_class == "static" && !at.function && !at.record {
            self.add("specifier: static before a global variable".into(), n);
        }
        if at.pattern && self.shape(n).contains('T') {
            return;
        }
        let ty = pointee(&self.shape(n));
        let ty = if is_auto { format!("auto {ty}") } else { ty };
        let space = match d.spaces.last() {
            Some(s) => format!("{s} "),
            None if d.deduced => "deduced ".into(),
            None => String::new(),
        };
        let init = self.initialised(n);
        self.add(format!("variable: {place}{constant}{space}{ty} {init}"), n);
        self.attributes(n, &format!("{place}{space}{ty}"));
    }

    fn parameter(&mut self, n: &Node<'_>, at: Inside) {
        let Some(d) = self.index.declared.get(n.id.as_ref()).cloned() else {
            return;
        };
        let shape = self.shape(n);
        if at.pattern && (d.deduced || shape.contains('T')) {
            return;
        }
        let space = match d.spaces.last() {
            Some(s) => format!("{s} "),
            None if d.deduced => "deduced ".into(),
            None if d.array => "array, ".into(),
            None if shape.ends_with(['*', '&']) => "unqualified ".into(),
            None => String::new(),
        };
        let default = if n.init.is_empty() { "" } else { ", default" };
        self.add(format!("parameter: {space}{}{default}", pointee(&shape)), n);
        // What is pointed to is in the key of the parameter.
        let on = match shape.chars().last() {
            Some('*') => format!("{space}pointer"),
            Some('&') => format!("{space}reference"),
            _ => self.exact(n),
        };
        self.attributes(n, &on);
    }

    fn field(&mut self, n: &Node<'_>, at: Inside) {
        let Some(d) = self.index.declared.get(n.id.as_ref()).cloned() else {
            return;
        };
        let shape = self.shape(n);
        if at.pattern && shape.contains('T') {
            return;
        }
        let shape = pointee(&shape);
        let space = d.spaces.last().map_or(String::new(), |s| format!("{s} "));
        let init = if n.has_in_class_initializer {
            ", initialiser"
        } else {
            ""
        };
        self.add(format!("member: {space}{shape}{init}"), n);
        self.attributes(n, &format!("member {space}{shape}"));
    }

    /// Attributes behind the name of `n`.
    fn attributes(&mut self, n: &Node<'_>, on: &str) {
        let t = self.s.t;
        let Some(name) = n.loc.behind(self.s.before).map(|o| self.s.token(o)) else {
            return;
        };
        let mut i = name;
        // A parameter without a name stands at what follows it.
        while i < t.len() && !matches!(t.at(i), "," | ";" | ")" | "=" | "{") && !t.is_attribute(i) {
            i += 1;
        }
        while t.is_attribute(i) {
            for a in names(t, i) {
                self.add_at(format!("attribute: [[{a}]] on {on}"), i);
            }
            i = t.matching(i) + 1;
        }
    }

    fn record(&mut self, n: &Node<'_>, at: Inside) {
        if !n.complete_definition {
            return self.add(format!("type: {} declared", n.tag_used), n);
        }
        let place = if at.function {
            " in a function"
        } else if at.record {
            " in a class"
        } else {
            ""
        };
        let partial = if n.kind == "ClassTemplatePartialSpecializationDecl" {
            ", partial specialisation"
        } else {
            ""
        };
        let base = if n.bases.is_empty() {
            ""
        } else {
            ", base class"
        };
        self.add(format!("type: {}{place}{partial}{base}", n.tag_used), n);
    }
}
