//! Clauses as Rust: a function over `openvm_metal_common::clause::Clauses`.

use std::fmt::Write;

use crate::{
    clause::{Binary, Clauses, Cost, Expr, Extent, Function, Order, Per, Relation},
    cost_units::CostUnits,
    kernel_fn::{Entry, KernelFn},
    signature::Param,
    types::TypeMap,
};

const CLAUSE: &str = "::openvm_metal_common::clause";

/// The function `name` that evaluates the clauses of an entry; none if there is nothing to evaluate.
pub(crate) fn function(
    f: &KernelFn,
    e: &Entry,
    (types, units): (&TypeMap, &CostUnits),
    name: &str,
) -> Option<String> {
    if f.clauses.is_empty() {
        return None;
    }
    let Clauses {
        cost,
        lengths,
        in_place,
        requires,
        ..
    } = &f.clauses;
    let mut w = Writer {
        f,
        e,
        types,
        units,
        out: String::new(),
        names: 0,
    };
    for r in requires {
        let relations = r.one_of.iter().map(|r| {
            let (left, order, right) = w.relation(r);
            format!("({left}, ::core::cmp::Ordering::{order}, {right})")
        });
        let one_of = relations.collect::<Vec<_>>().join(", ");
        let one_of = w.bind(&format!(
            "[{one_of}] as [{CLAUSE}::Comparison; {}]",
            r.one_of.len()
        ));
        w.line(&format!("c.require({:?}, &{one_of});", r.text));
    }
    for (buffer, length) in lengths {
        let index = w.param(buffer).map_or(0, |p| p.index);
        let length = w.expr(length);
        w.line(&format!("c.length({index}, {length});"));
    }
    if !in_place.is_empty() {
        let indices = in_place.iter().filter_map(|name| w.param(name));
        let indices = indices.map(|p| p.index.to_string());
        let indices = indices.collect::<Vec<_>>().join(", ");
        w.line(&format!("c.in_place(&[{indices}]);"));
    }
    if let Some(cost) = cost {
        w.cost(cost);
    }
    Some(format!(
        "#[allow(unused_parens, clippy::double_parens)]\nfn {name}(c: &mut {CLAUSE}::Clauses<'_>) {{\n{}}}\n",
        w.out
    ))
}

struct Writer<'a> {
    f: &'a KernelFn,
    e: &'a Entry,
    types: &'a TypeMap,
    units: &'a CostUnits,
    out: String,
    names: usize,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "    {text}");
    }

    /// Binds a value to a new name.
    fn bind(&mut self, value: &str) -> String {
        let name = format!("n{}", self.names);
        self.names += 1;
        self.line(&format!("let {name} = {value};"));
        name
    }

    fn param(&self, name: &str) -> Option<&Param> {
        self.f.params.iter().find(|p| p.name == name)
    }

    fn number(n: u64) -> String {
        format!("{CLAUSE}::Amount::of({n})")
    }

    fn cost(&mut self, cost: &Cost) {
        let mut sums = [Self::number(0), Self::number(0)];
        for (amount, unit) in &cost.items {
            let n = self.expr(amount);
            let (sum, text) = match self.units.products(unit) {
                None => (1, n),
                Some((1, 1)) => (0, n),
                Some((products, 1)) => (0, format!("({n} * {})", Self::number(products))),
                Some((products, of)) => (
                    0,
                    format!("({n} * {} / {})", Self::number(products), Self::number(of)),
                ),
            };
            sums[sum] = self.bind(&format!("{} + {text}", sums[sum]));
        }
        let per = match cost.per {
            Per::Thread => "Thread",
            Per::Threadgroup => "Threadgroup",
            Per::Launch => "Launch",
        };
        let [products, bytes] = sums;
        self.line(&format!(
            "c.cost({products}, {bytes}, {CLAUSE}::Per::{per});"
        ));
    }

    fn relation(&mut self, r: &Relation) -> (String, &'static str, String) {
        let order = match r.order {
            Order::Less => "is_lt",
            Order::AtMost => "is_le",
            Order::Greater => "is_gt",
            Order::AtLeast => "is_ge",
            Order::Equal => "is_eq",
            Order::Different => "is_ne",
        };
        (self.expr(&r.left), order, self.expr(&r.right))
    }

    /// An expression without calls of `c`, which are bound to names before.
    fn expr(&mut self, e: &Expr) -> String {
        match e {
            Expr::Number(n) => Self::number(*n),
            Expr::Field {
                param,
                field,
                entry,
            } => self.field(param, field, *entry),
            Expr::Scalar(param) => {
                let (index, ty) = self.value(param);
                self.bind(&format!("c.scalar::<{ty}>({index})"))
            }
            Expr::Given(index) => self.bind(&format!("c.given({index})")),
            Expr::Template(name) => {
                let value = self.e.substitution.get(name).cloned().unwrap_or_default();
                let digits = value.trim_end_matches(['u', 'U', 'l', 'L']);
                // Not a number: the Rust compiler names it.
                format!("{CLAUSE}::Amount::of({digits})")
            }
            Expr::SizeOf(name) => {
                let ty = self.types.rust(name, &self.e.substitution);
                format!("{CLAUSE}::Amount::of(::core::mem::size_of::<{ty}>() as u64)")
            }
            Expr::Grid(extent, axis) => {
                let method = match extent {
                    Extent::Threads => "threads",
                    Extent::Groups => "groups",
                    Extent::ThreadsPerGroup => "threads_per_group",
                };
                self.bind(&format!("c.{method}({axis:?})"))
            }
            Expr::Call(function, arguments) => {
                let method = match function {
                    Function::Max => "max",
                    Function::Min => "min",
                    Function::CeilDiv => "ceil_div",
                };
                let mut texts = arguments.iter().map(|a| self.expr(a)).collect::<Vec<_>>();
                let first = texts.remove(0);
                texts
                    .iter()
                    .fold(first, |all, text| format!("{all}.{method}({text})"))
            }
            Expr::Binary(operator, left, right) => {
                let symbol = match operator {
                    Binary::Mul => "*",
                    Binary::Div => "/",
                    Binary::Rem => "%",
                    Binary::Add => "+",
                    Binary::Sub => "-",
                    Binary::Shl => "<<",
                    Binary::Shr => ">>",
                };
                let (left, right) = (self.expr(left), self.expr(right));
                format!("({left} {symbol} {right})")
            }
            Expr::Choice(relation, yes, no) => {
                let (left, order, right) = self.relation(relation);
                let (yes, no) = (self.expr(yes), self.expr(no));
                self.bind(&format!(
                    "{left}.choose({right}, ::core::cmp::Ordering::{order}, {yes}, {no})"
                ))
            }
        }
    }

    /// Index and Rust type of a value parameter.
    fn value(&self, param: &str) -> (u8, String) {
        let found = self.param(param);
        let ty = found.map(|p| self.types.rust(&p.element, &self.e.substitution));
        (found.map_or(0, |p| p.index), ty.unwrap_or_default())
    }

    fn field(&mut self, param: &str, field: &str, entry: Option<u64>) -> String {
        let (index, ty) = self.value(param);
        let offset = format!("::core::mem::offset_of!({ty}, {field})");
        let call = match entry {
            None => format!("c.field({index}, {offset}, |p: &{ty}| p.{field})"),
            Some(n) => format!("c.entry({index}, {offset}, {n}, |p: &{ty}| p.{field}[{n}])"),
        };
        self.bind(&call)
    }
}
