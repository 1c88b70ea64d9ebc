//! The clauses of a kernel: what one launch costs, how long its buffers must be and what its parameters
//! must fulfil, written in the comment above it. `docs/kernels.md` has the grammar.
//!
//! ```metal
//! /// Folds pairs: out[i] = in[2i] + r (in[2i + 1] - in[2i]).
//! /// Cost: 1 ext product, 48 bytes per thread.
//! /// Lengths: in 2 * p.threads, out p.threads.
//! ```

mod expression;
mod parse;
mod rust;
mod text;

pub use self::expression::{Binary, Expr, Extent, Function, Order, Relation};
pub(crate) use self::{rust::function, text::documentation};

use crate::{
    error::Finding,
    scan::{KernelFn, Scan},
    signature::ParamKind,
};

/// The clauses of one kernel.
#[derive(Clone, Debug, Default)]
pub struct Clauses {
    /// What a launch costs.
    pub cost: Option<Cost>,
    /// Least number of elements of buffers, by name.
    pub lengths: Vec<(String, Expr)>,
    /// Conditions on the parameters.
    pub requires: Vec<Requirement>,
    /// Numbers that only the caller knows, arguments of the launcher.
    pub given: Vec<String>,
    /// What callers of the `unsafe` launcher vouch for.
    pub safety: Option<String>,
}

impl Clauses {
    /// Nothing to evaluate for a launch.
    pub fn is_empty(&self) -> bool {
        self.cost.is_none() && self.lengths.is_empty() && self.requires.is_empty()
    }
}

/// A cost clause.
#[derive(Clone, Debug)]
pub struct Cost {
    /// Each amount with what it counts.
    pub items: Vec<(Expr, Unit)>,
    /// What the amounts are for.
    pub per: Per,
}

/// What a cost counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Products of base-field elements.
    Product,
    /// Products of extension elements: 19/2 products.
    ExtProduct,
    /// Poseidon2 permutations of width 16: 564 products.
    Permutation,
    /// Bytes read or written.
    Byte,
}

/// What a cost is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// One thread of the grid.
    Thread,
    /// One threadgroup of the grid.
    Threadgroup,
    /// The launch: for costs that follow from given numbers.
    Launch,
}

/// One condition.
#[derive(Clone, Debug)]
pub struct Requirement {
    /// As it is written.
    pub text: String,
    /// One of these holds.
    pub one_of: Vec<Relation>,
}

/// Reads the clauses of a kernel; what is wrong with them becomes findings of the rule `clause`.
pub(crate) fn read(f: &KernelFn) -> (Clauses, Vec<Finding>) {
    let mut out = Clauses::default();
    let mut findings = Vec::new();
    for clause in text::clauses(&f.doc) {
        if let Err(e) = parse::clause(&clause, f, &mut out) {
            let above = f.doc.lines().count() - clause.line;
            findings.push(Finding {
                file: f.doc_file.clone(),
                line: f.doc_end.saturating_sub(above as u32),
                rule: "clause",
                message: format!("kernel `{}`: {}", f.name, e.message),
                remedy: e.remedy,
            });
        }
    }
    (out, findings)
}

/// What the clauses of a crate's own kernels lack: rule `clause-missing`.
pub fn missing(scan: &Scan) -> Vec<Finding> {
    let lack = |f: &KernelFn, message: String, remedy| Finding {
        file: f.file.clone(),
        line: f.line,
        rule: "clause-missing",
        message: format!("kernel `{}` {message}", f.name),
        remedy,
    };
    let mut out = Vec::new();
    for f in &scan.functions {
        if f.clauses.cost.is_none() {
            out.push(lack(
                f,
                "does not say what it costs".into(),
                "write `Cost: 4 products, 48 bytes per thread.` in the comment above it",
            ));
        }
        let unbounded = f.unbounded();
        if !unbounded.is_empty() && f.clauses.safety.is_none() {
            out.push(lack(
                f,
                format!(
                    "does not say how many elements it needs of {}",
                    unbounded.join(", ")
                ),
                "write `Lengths: in 2 * p.n, out p.n.` above it, or `Safety:` and what callers must see to",
            ));
        } else if !f.is_safe() && f.clauses.safety.is_none() {
            out.push(lack(
                f,
                "has lengths or requirements that follow from given numbers".into(),
                "write `Safety:` and what the numbers must be",
            ));
        }
    }
    out
}

impl KernelFn {
    /// Buffers without a length.
    pub fn unbounded(&self) -> Vec<String> {
        let buffers = self
            .params
            .iter()
            .filter(|p| matches!(p.kind, ParamKind::Buffer { .. }));
        let bounded = |name: &str| self.clauses.lengths.iter().any(|(n, _)| n == name);
        buffers
            .filter(|p| !bounded(&p.name))
            .map(|p| format!("`{}`", p.name))
            .collect()
    }

    /// Safe code may launch it: the clauses bound all that it touches, by what the launch knows itself.
    pub fn is_safe(&self) -> bool {
        let requires = self.clauses.requires.iter().flat_map(|r| &r.one_of);
        let lengths = self.clauses.lengths.iter().map(|(_, length)| length);
        let told =
            lengths.into_iter().any(Expr::is_told) || requires.into_iter().any(Relation::is_told);
        self.clauses.safety.is_none() && self.unbounded().is_empty() && !told
    }
}

#[cfg(test)]
mod tests;
