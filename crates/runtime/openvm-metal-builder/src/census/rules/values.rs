//! Values: constants that need a call, literals that Apple's GPUs flush, conditions on vectors, lanes that no SIMD-group has.

use super::{
    super::{ast::Node, flow::functions, flow::variables, types::Detail},
    Check,
};

/// Functions of the library that constants may call.
const IN_CONSTANTS: [&str; 3] = ["__make", "as_type", "numeric_limits::"];

/// Threads of a SIMD-group of Apple's GPUs.
const LANES: u32 = 32;

impl Check<'_> {
    /// Variables at namespace scope: their values are known when the unit is compiled.
    pub(super) fn constants(&mut self, n: &Node<'_>) {
        match n.kind.as_ref() {
            "NamespaceDecl" => n.inner.iter().for_each(|c| self.constants(c)),
            "VarDecl" => {
                let mut called = None;
                n.walk(&mut |n| {
                    if called.is_none() && functions::is_call(n) && !self.is_constant(n) {
                        called = Some(n);
                    }
                    true
                });
                if let Some(call) = called {
                    self.find(
                        call,
                        "constant-initialiser",
                        format!(
                            "the value of `{}` needs a call of `{}`, which is no constexpr function",
                            n.name,
                            variables::callee_name(call)
                        ),
                        "write the number, or call constexpr functions of your own",
                    );
                }
            }
            _ => {}
        }
    }

    fn is_constant(&self, call: &Node<'_>) -> bool {
        let callee = call.inner.first().map(Node::peeled);
        let id = callee.map_or("", |c| match &c.referenced_decl {
            Some(r) => &r.id,
            None => &c.referenced_member_decl,
        });
        let library = self.index.library.get(id);
        let allowed = |name: &String| IN_CONSTANTS.iter().any(|a| name.starts_with(a));
        self.index.constexpr.contains(id) || library.is_some_and(allowed)
    }

    pub(super) fn literal(&mut self, n: &Node<'_>) {
        if n.kind == "IntegerLiteral" && n.ty.qual_type.contains("long long") {
            self.find(
                n,
                "flat-parse",
                "Metal has no type `long long`, and no literal of it".into(),
                "write the suffix `l` or `ul`: `long` has 64 bits",
            );
        }
        let number = n.value.parse::<f32>().unwrap_or_default();
        if n.kind == "FloatingLiteral" && n.ty.text() == "float" && number.is_subnormal() {
            self.find(
                n,
                "subnormal",
                format!("{} is less than the least normal float", n.value),
                "use a larger number: on Apple's GPUs this one is 0",
            );
        }
    }

    /// Comparisons of vectors give vectors of bool, and only `select` chooses by one.
    pub(super) fn vectors(&mut self, n: &Node<'_>) {
        let convert =
            "choose by `select(b, a, condition)`, convert a vector of bool with `int4(condition)`";
        let message = match (n.kind.as_ref(), n.inner.as_slice()) {
            ("ConditionalOperator", [condition, _, _]) if self.is_vector(condition) => {
                "a vector is no condition of `?:`"
            }
            ("VarDecl", [.., value]) if !n.init.is_empty() && self.keeps(n, value) => {
                "a vector of bool is no vector of integers"
            }
            ("BinaryOperator", [to, value]) if n.opcode == "=" && self.keeps(to, value) => {
                "a vector of bool is no vector of integers"
            }
            ("BinaryOperator", [first, second])
                if ["&", "|", "^", "+", "-", "*"].contains(&n.opcode.as_ref())
                    && (self.keeps(first, second) || self.keeps(second, first))
                    && !(self.is_comparison(first) && self.is_comparison(second)) =>
            {
                "a vector of bool is no vector of integers"
            }
            ("CallExpr", [_, _, _, condition])
                if variables::callee_name(n) == "select" && self.is_mask(condition) =>
            {
                "the condition of `select` is a vector of integers, not of bool"
            }
            _ => return,
        };
        self.find(n, "metal-syntax", message.into(), convert);
    }

    fn class(&self, n: &Node<'_>) -> String {
        self.index.class(n.ty.text(), Detail::Exact)
    }

    fn is_vector(&self, n: &Node<'_>) -> bool {
        self.index.class(n.ty.text(), Detail::Shape) == "vector"
    }

    /// Clang's vector of integers that is Metal's vector of bool.
    fn is_comparison(&self, n: &Node<'_>) -> bool {
        let n = n.peeled();
        let compares = ["<", ">", "<=", ">=", "==", "!=", "&&", "||", "!"];
        compares.contains(&n.opcode.as_ref()) && self.is_vector(n)
    }

    fn keeps(&self, to: &Node<'_>, value: &Node<'_>) -> bool {
        self.is_comparison(value) && self.is_vector(to) && !self.class(to).starts_with("bool")
    }

    fn is_mask(&self, n: &Node<'_>) -> bool {
        let inner = n.peeled();
        let names = matches!(
            inner.kind.as_ref(),
            "DeclRefExpr" | "MemberExpr" | "CallExpr"
        );
        let class = self.class(inner);
        names
            && self.is_vector(inner)
            && [
                "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong",
            ]
            .iter()
            .any(|t| {
                class
                    .strip_prefix(t)
                    .is_some_and(|n| matches!(n, "2" | "3" | "4"))
            })
    }

    /// A lane by a number that no SIMD-group has.
    pub(super) fn lane(&mut self, n: &Node<'_>) {
        let name = variables::callee_name(n);
        let shuffles = name.starts_with("simd_shuffle") || name == "simd_broadcast";
        let lane = functions::arguments(n).last().filter(|_| shuffles);
        let mut number = None;
        if let Some(lane) = lane {
            number = literal_of(lane).and_then(|text| text.parse::<u32>().ok());
        }
        if number.is_some_and(|lane| lane >= LANES) {
            self.find(
                n,
                "simd-width",
                format!(
                    "`{name}` by {}: a SIMD-group has {LANES} threads",
                    number.unwrap_or_default()
                ),
                "use [[threads_per_simdgroup]], and threadgroup memory between SIMD-groups",
            );
        }
    }
}

/// The text of a literal, through conversions.
fn literal_of<'n>(n: &'n Node<'_>) -> Option<&'n str> {
    match (n.kind.as_ref(), n.inner.as_slice()) {
        ("IntegerLiteral", _) => Some(&n.value),
        (kind, [inner]) if kind.ends_with("CastExpr") || kind == "ParenExpr" => literal_of(inner),
        _ => None,
    }
}
