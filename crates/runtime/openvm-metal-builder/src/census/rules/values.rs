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
        let library = self.index.library.get(id).map(String::as_str);
        let name = library.unwrap_or_else(|| variables::callee_name(call));
        let allowed = IN_CONSTANTS.iter().any(|a| name.starts_with(a));
        // Clang declares its own functions where they are called.
        let builtin = name.starts_with("__builtin_");
        let declared = self.index.declared.contains_key(id);
        self.index.constexpr.contains(id) || builtin || allowed && !declared
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
                if variables::callee_name(n) == "select"
                    && self.is_library(n)
                    && self.is_mask(condition) =>
            {
                "the condition of `select` is a vector of integers, not of bool"
            }
            _ => return,
        };
        self.find(n, "metal-syntax", message.into(), convert);
    }

    /// The call is one of a function that the unit does not declare.
    fn is_library(&self, call: &Node<'_>) -> bool {
        let callee = call.inner.first().map(Node::peeled);
        let reference = callee.and_then(|c| c.referenced_decl.as_ref());
        reference.is_some_and(|r| self.index.library.contains_key(r.id.as_ref()))
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
        let joins = ["&", "|", "^"].contains(&n.opcode.as_ref());
        self.is_vector(n)
            && (compares.contains(&n.opcode.as_ref())
                || joins && n.inner.iter().all(|operand| self.is_comparison(operand)))
    }

    fn keeps(&self, to: &Node<'_>, value: &Node<'_>) -> bool {
        let deduced = self
            .index
            .declared
            .get(to.id.as_ref())
            .is_some_and(|d| d.is_auto);
        self.is_comparison(value)
            && self.is_vector(to)
            && !self.class(to).starts_with("bool")
            && !deduced
            && !self.may_be_bools(to)
    }

    /// An expression whose vector of integers may be Metal's vector of bool: a deduced variable, a call, a choice.
    fn may_be_bools(&self, n: &Node<'_>) -> bool {
        let n = n.peeled();
        let variable = variables::variable(n).and_then(|id| self.index.declared.get(id));
        match n.kind.as_ref() {
            "DeclRefExpr" => variable.is_none_or(|d| d.is_auto),
            "VarDecl" => false,
            _ if n.kind.contains("Call") => variables::callee_name(n) != "__make",
            _ => n.kind == "ConditionalOperator",
        }
    }

    fn is_mask(&self, n: &Node<'_>) -> bool {
        let inner = n.peeled();
        let names = matches!(inner.kind.as_ref(), "DeclRefExpr" | "MemberExpr");
        let class = self.class(inner);
        let integers = [
            "int", "uint", "short", "ushort", "char", "uchar", "long", "ulong",
        ];
        names
            && self.is_vector(inner)
            && !self.may_be_bools(inner)
            && integers.iter().any(|t| {
                class
                    .strip_prefix(t)
                    .is_some_and(|n| matches!(n, "2" | "3" | "4"))
            })
    }

    /// Components of a vector's arguments: one, or as many as the vector has.
    pub(super) fn components(&mut self, n: &Node<'_>) {
        let arguments = functions::arguments(n);
        if variables::callee_name(n) != "__make" || arguments.is_empty() {
            return;
        }
        let of = |n: &Node<'_>| self.index.components(n.ty.text());
        let (Some(wanted), Some(given)) = (of(n), arguments.iter().map(of).sum::<Option<usize>>())
        else {
            return;
        };
        if given != wanted && given != 1 {
            self.find(
                n,
                "metal-syntax",
                format!("a vector of {wanted} is made of {given} components"),
                "give one number, or as many as the vector has; take components of a larger one (`v.xyz`)",
            );
        }
    }

    /// A cast of a vector to as many components as it has: clang takes the bits where the sizes are equal.
    pub(super) fn vector_cast(&mut self, n: &Node<'_>) {
        let inner = n.inner.last().filter(|_| n.cast_kind == "BitCast");
        let of = |n: &Node<'_>| self.index.components(n.ty.text());
        let (Some(to), Some(from)) = (of(n), inner.and_then(of)) else {
            return;
        };
        if from > 1 && from != to {
            self.find(
                n,
                "metal-syntax",
                format!("a vector of {from} components is cast to {to}"),
                "take the components (`v.xy`), or the bits with as_type",
            );
        }
    }

    /// A lane by a number that no SIMD-group has.
    pub(super) fn lane(&mut self, n: &Node<'_>) {
        let name = variables::callee_name(n);
        let shuffles = name.starts_with("simd_shuffle") || name == "simd_broadcast";
        let lane = functions::arguments(n).get(1).filter(|_| shuffles);
        let number = lane
            .and_then(literal_of)
            .and_then(|text| text.parse::<u32>().ok());
        if let Some(lane) = number.filter(|lane| *lane >= LANES) {
            self.find(
                n,
                "simd-width",
                format!("`{name}` by {lane}: a SIMD-group has {LANES} threads"),
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
