//! Rules on clang's tree: what Apple's compiler rejects and a C++ compiler takes.

mod punning;
mod values;

use std::{collections::HashMap, sync::OnceLock};

use super::{
    ast::Node,
    flow,
    index::{self, Index},
    source::Source,
};
use crate::error::Finding;

/// Threadgroup memory of Apple's GPUs.
const THREADGROUP_BYTES: usize = 32_768;

/// Names of namespace `metal` and what they are.
const METAL_NAMES: &str = include_str!("../../../census/metal_names.txt");

fn metal_names() -> &'static HashMap<&'static str, &'static str> {
    static NAMES: OnceLock<HashMap<&str, &str>> = OnceLock::new();
    NAMES.get_or_init(|| {
        let lines = METAL_NAMES.lines().filter(|l| !l.starts_with('#'));
        let entry = |l: &'static str| {
            let mut words = l.split_whitespace();
            Some((words.next()?, words.last()?))
        };
        lines.filter_map(entry).collect()
    })
}

/// Rules that the tree of a unit breaks.
pub fn check<'a>(root: &'a Node<'a>, s: &'a Source<'a>, index: &'a Index) -> Vec<Finding> {
    let mut c = Check {
        s,
        index,
        untyped: punning::Untyped::new(root, s, index),
        out: Vec::new(),
    };
    for n in &root.inner {
        if n.offset(s.before).is_some() {
            c.global(n);
            c.constants(n);
            c.node(n);
        }
    }
    c.out
}

/// Rules on control flow that a unit breaks, its objects named by [`flow::name_objects`].
pub fn flow(root: &Node<'_>, s: &Source<'_>, index: &Index) -> Vec<Finding> {
    let mut c = Check {
        s,
        index,
        untyped: punning::Untyped::default(),
        out: Vec::new(),
    };
    for broken in flow::check(root, s, index) {
        c.find(broken.at, broken.rule, broken.message, broken.remedy);
    }
    c.out
}

struct Check<'a> {
    s: &'a Source<'a>,
    index: &'a Index,
    untyped: punning::Untyped<'a>,
    out: Vec<Finding>,
}

impl<'a> Check<'a> {
    fn find(&mut self, n: &Node<'_>, rule: &'static str, message: String, remedy: &'static str) {
        let (file, line) = n
            .offset(self.s.before)
            .map_or_else(Default::default, |o| self.s.place(o));
        let finding = Finding {
            file,
            line,
            rule,
            message,
            remedy,
        };
        if !self.out.contains(&finding) {
            self.out.push(finding);
        }
    }

    /// A name at namespace scope, where `using namespace metal` makes two of it.
    fn global(&mut self, n: &Node<'_>) {
        if n.is_implicit || n.name.is_empty() {
            return;
        }
        let function = matches!(n.kind.as_ref(), "FunctionDecl" | "FunctionTemplateDecl");
        let named = function
            || matches!(
                n.kind.as_ref(),
                "CXXRecordDecl"
                    | "ClassTemplateDecl"
                    | "EnumDecl"
                    | "TypedefDecl"
                    | "TypeAliasDecl"
                    | "TypeAliasTemplateDecl"
                    | "VarDecl"
                    | "VarTemplateDecl"
                    | "EnumConstantDecl"
            );
        let theirs = metal_names().get(n.name.as_ref()).copied();
        if let Some(theirs) = theirs.filter(|t| named && !(function && *t == "func")) {
            self.find(
                n,
                "std-name",
                format!(
                    "`{}` is a name of Apple's library too ({}): with `using namespace metal` it means two things",
                    n.name,
                    theirs.replace("func", "function")
                ),
                "give it another name, or put it in a namespace of its own",
            );
        }
        if n.kind == "EnumDecl" && n.scoped_enum_tag.is_empty() {
            n.inner.iter().for_each(|c| self.global(c));
        }
    }

    fn node(&mut self, n: &'a Node<'a>) {
        if n.is_implicit {
            return;
        }
        if let Some(base) = n.bases.first() {
            self.find(
                n,
                "base-class",
                format!(
                    "`{}` has the base class `{}`: Metal has no derived classes",
                    n.name, base.ty.qual_type
                ),
                "make the base a member, or write its members out",
            );
        }
        if n.kind == "VarDecl" {
            self.threadgroup_variable(n);
        }
        if n.kind.ends_with("CastExpr") && n.kind != "ImplicitCastExpr" {
            self.punning(n);
            self.vector_cast(n);
        }
        match n.kind.as_ref() {
            "VarDecl" | "ParmVarDecl" | "FieldDecl" | "FunctionDecl" | "CXXMethodDecl" => {
                self.pointers(n)
            }
            "TypeAliasDecl" | "TypedefDecl" => self.alias(n),
            "ConditionalOperator" => self.chosen_pointer(n),
            _ => {}
        }
        self.literal(n);
        self.vectors(n);
        self.lane(n);
        self.components(n);
        n.inner.iter().for_each(|c| self.node(c));
    }

    /// A pointer to pointers: each has its own address space.
    fn pointers(&mut self, n: &Node<'_>) {
        let Some(d) = self.index.declared.get(n.id.as_ref()) else {
            return;
        };
        if d.stars > 1 && !d.deduced && d.spaces.len() < d.stars {
            self.unspaced(n);
        }
    }

    /// A name of a pointer type: the address space stands in its declaration.
    fn alias(&mut self, n: &Node<'_>) {
        let Some(from) = n.range.begin.behind(self.s.before) else {
            return;
        };
        let t = self.s.t;
        let words = (self.s.token(from)..t.len()).map(|i| t.at(i));
        let words: Vec<&str> = words.take_while(|w| *w != ";").collect();
        let count = |found: &dyn Fn(&str) -> bool| words.iter().filter(|w| found(w)).count();
        if count(&|w| index::SPACES.contains(&w)) < count(&|w| w == "*") {
            self.unspaced(n);
        }
    }

    fn unspaced(&mut self, n: &Node<'_>) {
        self.find(
            n,
            "address-space",
            format!(
                "`{}` of `{}` has a pointer without an address space",
                n.ty.qual_type, n.name
            ),
            "name the space of each pointer: `device float* thread*`",
        );
    }

    /// A pointer into one of two address spaces.
    fn chosen_pointer(&mut self, n: &Node<'_>) {
        let [_, first, second] = n.inner.as_slice() else {
            return;
        };
        if !n.ty.text().trim_end().ends_with('*') {
            return;
        }
        let spaces = [first, second].map(|n| self.index.pointer_space(n, self.s));
        let known = |space: &&str| matches!(*space, "device" | "constant" | "threadgroup");
        if spaces.iter().all(known) && spaces[0] != spaces[1] {
            self.find(
                n,
                "address-space-mix",
                format!("a pointer to `{}` or to `{}`", spaces[0], spaces[1]),
                "choose between the values",
            );
        }
    }

    fn threadgroup_variable(&mut self, n: &Node<'_>) {
        let Some(d) = self.index.declared.get(n.id.as_ref()) else {
            return;
        };
        let ty = n.ty.text();
        if d.spaces.last() != Some(&"threadgroup") || ty.contains('*') || ty.contains('&') {
            return;
        }
        if let Some(bytes) = self
            .index
            .array_bytes(ty)
            .filter(|bytes| *bytes > THREADGROUP_BYTES)
        {
            self.find(
                n,
                "threadgroup-memory",
                format!("threadgroup variable `{}` has {bytes} bytes", n.name),
                "use at most 32768 bytes in a kernel",
            );
        }
        if let Some(why) = self.refused(ty, 0) {
            self.find(
                n,
                "threadgroup-class",
                format!("threadgroup variable `{}` is of class `{}`: {why}", n.name, self.index.record_name(ty)),
                "leave constructors and initialisers out of the class (`Fp{x}` makes an aggregate), or take an array of plain numbers and cast its pointer",
            );
        }
    }

    /// Reason why objects of this type cannot be in threadgroup memory: Apple's compiler makes no constructor for them.
    fn refused(&self, ty: &str, depth: usize) -> Option<String> {
        let name = self.index.record_name(ty);
        let shape = name
            .strip_prefix("float")
            .or_else(|| name.strip_prefix("half"));
        if name == "matrix"
            || matches!(
                shape.unwrap_or("").as_bytes(),
                [b'2'..=b'4', b'x', b'2'..=b'4']
            )
        {
            return Some("matrices have constructors, and none for threadgroup memory".into());
        }
        // A class in itself is a pointer.
        let record = self.index.records.get(&name).filter(|_| depth < 8)?;
        if record.constructor && !record.threadgroup_constructor {
            return Some(format!(
                "`{name}` declares a constructor, and none of threadgroup memory"
            ));
        }
        if record.initialiser {
            return Some(format!("a member of `{name}` has an initialiser"));
        }
        record
            .fields
            .iter()
            .filter(|f| !f.contains('*'))
            .find_map(|f| self.refused(f, depth + 1))
    }
}
