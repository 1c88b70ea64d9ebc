//! The clauses of a kernel: what one launch costs, how long its buffers must be and what its parameters
//! must fulfil, written in the comment above it. `docs/reference/kernel-clauses.md` has the grammar.
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

pub(crate) use self::{rust::function, text::documentation};
pub use crate::clause::Clauses;

use crate::{
    error::Finding,
    kernel_fn::{KernelFn, Scan},
};

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

/// Clauses that a crate's own kernels lack: rule `clause-missing`.
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

#[cfg(test)]
mod tests;
