//! Meaning of names: the declarations of a unit and of the library by their addresses in clang.

use std::collections::{HashMap, HashSet};

use super::{ast::Node, source::Source};

/// A variable, parameter, member or function of the unit.
#[derive(Clone, Debug)]
pub struct Declared {
    /// The type, without typedefs so far as clang says.
    pub ty: String,
    /// The address spaces that its declaration names, in order.
    pub spaces: Vec<&'static str>,
    /// A pointer or reference whose type is `auto`, or a template parameter alone.
    pub deduced: bool,
    /// A parameter that is written as an array.
    pub array: bool,
    /// The type is `auto`.
    pub is_auto: bool,
    /// Pointers that the declaration writes, beside those in names of types.
    pub stars: usize,
}

/// A class of the unit; a template and its specialisations are one.
#[derive(Clone, Debug, Default)]
pub struct Record {
    /// Some constructor is declared, if only as defaulted.
    pub constructor: bool,
    /// One of them is for objects in threadgroup memory: `T() threadgroup = default;`.
    pub threadgroup_constructor: bool,
    /// Some member has an initialiser.
    pub initialiser: bool,
    /// Types of the members.
    pub fields: Vec<String>,
    /// Names of the members, in order.
    pub names: Vec<String>,
}

/// Meaning of names.
#[derive(Default)]
pub struct Index {
    /// Functions and types of the library: address to name, with `precise::` or `fast::`.
    pub library: HashMap<String, String>,
    /// Declarations of the unit by address.
    pub declared: HashMap<String, Declared>,
    /// Functions of the unit that are `constexpr`, by address.
    pub constexpr: HashSet<String>,
    /// Typedefs by name.
    pub typedefs: HashMap<String, String>,
    /// Enumerations of the unit.
    pub enums: HashSet<String>,
    /// Classes of the unit by name.
    pub records: HashMap<String, Record>,
    /// Classes and enumerations of the library.
    pub library_types: HashSet<String>,
}

/// Words of address spaces.
pub const SPACES: [&str; 4] = ["device", "constant", "threadgroup", "thread"];

impl Index {
    /// Everything that `root` declares.
    pub fn new(root: &Node<'_>, s: &Source<'_>) -> Self {
        let mut out = Self::default();
        for n in &root.inner {
            match n.offset(s.before) {
                Some(_) => out.own(n, s),
                None => out.library(n, ""),
            }
        }
        out
    }

    fn library(&mut self, n: &Node<'_>, inside: &str) {
        match n.kind.as_ref() {
            "NamespaceDecl" => {
                let inside = match n.name.as_ref() {
                    "metal" => String::new(),
                    name => format!("{inside}{name}::"),
                };
                n.inner.iter().for_each(|c| self.library(c, &inside));
            }
            "TypedefDecl" | "TypeAliasDecl" => {
                self.typedefs.insert(n.name.to_string(), n.ty.text().into());
            }
            "CXXRecordDecl"
            | "ClassTemplateSpecializationDecl"
            | "EnumDecl"
            | "ClassTemplateDecl" => {
                self.library_types.insert(n.name.to_string());
                let inside = format!("{}::", n.name);
                n.inner.iter().for_each(|c| self.library(c, &inside));
            }
            "FunctionDecl" | "CXXMethodDecl" | "CXXConversionDecl" | "CXXConstructorDecl" => {
                self.library
                    .insert(n.id.to_string(), format!("{inside}{}", n.name));
            }
            "FunctionTemplateDecl" => n.inner.iter().for_each(|c| self.library(c, inside)),
            _ => {}
        }
    }

    fn own(&mut self, n: &Node<'_>, s: &Source<'_>) {
        if n.constexpr {
            self.constexpr.insert(n.id.to_string());
        }
        match n.kind.as_ref() {
            "TypedefDecl" | "TypeAliasDecl" => {
                // One name with two meanings, a member type of two classes, has none.
                let ty = n.ty.text();
                let known = self
                    .typedefs
                    .entry(n.name.to_string())
                    .or_insert_with(|| ty.into());
                if known != ty {
                    *known = String::new();
                }
            }
            "EnumDecl" => {
                self.enums.insert(n.name.to_string());
            }
            "CXXRecordDecl"
            | "ClassTemplateSpecializationDecl"
            | "ClassTemplatePartialSpecializationDecl"
                if !n.is_implicit =>
            {
                self.record(n, s);
            }
            "VarDecl" | "ParmVarDecl" | "FieldDecl" | "FunctionDecl" | "CXXMethodDecl" => {
                let d = declared(n, s);
                self.declared.insert(n.id.to_string(), d);
            }
            _ => {}
        }
        n.inner.iter().for_each(|c| self.own(c, s));
    }

    fn record(&mut self, n: &Node<'_>, s: &Source<'_>) {
        let threadgroup = has_threadgroup_constructor(n, s);
        let r = self.records.entry(n.name.to_string()).or_default();
        r.threadgroup_constructor |= threadgroup;
        for m in n.inner.iter().filter(|m| !m.is_implicit) {
            match m.kind.as_ref() {
                "CXXConstructorDecl" => r.constructor = true,
                // A template of constructors.
                "FunctionTemplateDecl" if m.name == n.name => r.constructor = true,
                "FieldDecl" => {
                    r.initialiser |= m.has_in_class_initializer;
                    r.fields.push(m.ty.text().to_string());
                    // Instances of a template have the same ones.
                    if !r.names.iter().any(|name| *name == m.name) {
                        r.names.push(m.name.to_string());
                    }
                }
                _ => {}
            }
        }
    }

    /// The class of this type, without qualifiers, arrays, typedefs and template arguments.
    pub fn record_name(&self, ty: &str) -> String {
        let mut ty = ty;
        loop {
            let plain = ty.trim();
            let plain = plain.split(['[', '*', '&']).next().unwrap_or(plain).trim();
            let plain = ["const ", "volatile ", "struct ", "typename "]
                .iter()
                .fold(plain, |t, q| t.strip_prefix(q).unwrap_or(t));
            let base = plain.split('<').next().unwrap_or(plain);
            let base = base.rsplit("::").next().unwrap_or(base).trim();
            match self.typedefs.get(base) {
                Some(next) if !plain.contains('<') && next != ty && !next.is_empty() => ty = next,
                _ => return base.to_string(),
            }
        }
    }
}

/// True if the class declares `NAME() threadgroup`, which the parsed text may lack: it differs in the address space only.
fn has_threadgroup_constructor(n: &Node<'_>, s: &Source<'_>) -> bool {
    let token = |l: &super::ast::Location| l.behind(s.before).map(|o| s.token(o));
    let (Some(from), Some(to)) = (token(&n.range.begin), token(&n.range.end)) else {
        return false;
    };
    let t = s.t;
    (from..to).any(|i| {
        let behind = |k: usize| t.at(i + k);
        behind(0) == n.name
            && behind(1) == "("
            && behind(2) == ")"
            && (behind(3) == "threadgroup" || behind(4) == "threadgroup")
    })
}

/// The address spaces of a declaration: words of its text from the first qualifier to the name.
fn declared(n: &Node<'_>, s: &Source<'_>) -> Declared {
    let t = s.t;
    let name = n.loc.behind(s.before).map_or(0, |o| s.token(o));
    let mut at = n
        .range
        .begin
        .behind(s.before)
        .map_or(name, |o| s.token(o))
        .min(name);
    let qualifier = |w: &str| {
        SPACES.contains(&w)
            || matches!(
                w,
                "const" | "static" | "constexpr" | "inline" | "volatile" | "METAL_FUNC"
            )
    };
    while at > 0 && qualifier(t.at(at - 1)) {
        at -= 1;
    }
    let words: Vec<&str> = (at..name).map(|i| t.at(i)).collect();
    let spaces = words
        .iter()
        .filter_map(|w| SPACES.iter().find(|s| *s == w).copied())
        .collect();
    let rest: Vec<&&str> = words.iter().filter(|w| !qualifier(w)).collect();
    let ty = n.ty.text();
    // An array may have a product of template parameters for its length.
    let pointer = ty.split('[').next().is_some_and(|t| t.contains(['*', '&']));
    let array = n.kind == "ParmVarDecl" && t.at(name + 1) == "[" && !t.is_attribute(name + 1);
    // Variables before it in the same declaration have their own.
    let own = words.iter().rev().take_while(|w| **w != ",");
    Declared {
        is_auto: words.contains(&"auto"),
        stars: own.filter(|w| **w == "*").count(),
        ty: ty.to_string(),
        deduced: pointer && !array && !rest.iter().any(|w| matches!(**w, "*" | "&")),
        array,
        spaces,
    }
}
