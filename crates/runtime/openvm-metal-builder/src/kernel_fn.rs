//! The kernels of a file, as they are declared.

use std::collections::HashMap;

use crate::{
    clause::{Clauses, Expr, Relation},
    error::Finding,
    function_constants::{ConstantValues, FunctionConstant},
    signature::{Param, ParamKind},
};

/// The way in which a kernel runs on the CPU; see `KernelKind` of `openvm-metal-common`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Loop over threads.
    Flat,
    /// Loop over vectors of threads.
    FlatLane,
    /// Barriers or SIMD-group operations.
    Barrier,
    /// Barriers, with a version in which a threadgroup is a vector.
    BarrierLane,
}

impl Kind {
    /// Has a lane version.
    pub fn lanes(self) -> bool {
        matches!(self, Self::FlatLane | Self::BarrierLane)
    }

    /// Uses barriers or SIMD-group operations.
    pub fn barriers(self) -> bool {
        matches!(self, Self::Barrier | Self::BarrierLane)
    }
}

/// `if (gid >= bound) return;` at the head of a kernel.
#[derive(Clone, Debug)]
pub struct Guard {
    /// Tokens of the whole statement.
    pub statement: (usize, usize),
    /// Tokens of the condition.
    pub condition: (usize, usize),
    /// Text of the bound.
    pub bound: String,
}

/// A `kernel` function or function template.
#[derive(Clone, Debug)]
pub struct KernelFn {
    /// Name with its namespaces.
    pub name: String,
    /// Parameters.
    pub params: Vec<Param>,
    /// Names and defaults of template parameters, if a template.
    pub template: Option<Vec<(String, Option<String>)>>,
    /// Tokens of the template parameter list `<...>`.
    pub template_tokens: Option<(usize, usize)>,
    /// Tokens of the parameter list, both parentheses included.
    pub params_tokens: (usize, usize),
    /// Tokens of the whole definition.
    pub range: (usize, usize),
    /// Hoistable guard.
    pub guard: Option<Guard>,
    /// Kind.
    pub kind: Kind,
    /// The file has SIMD-group matrices, which a SIMD-group of one lane cannot hold.
    pub matrices: bool,
    /// Names the entry when not a template: `[[host_name("...")]]` or the plain name.
    pub host_name: Option<String>,
    /// `[[max_total_threads_per_threadgroup(n)]]`, 1024 without the attribute.
    pub max_threads: u32,
    /// The attribute is there.
    pub declares_threads: bool,
    /// Comment above.
    pub doc: String,
    /// File of the line below the comment.
    pub doc_file: String,
    /// The line below the comment.
    pub doc_end: u32,
    /// The clauses in the comment.
    pub clauses: Clauses,
    /// Original position.
    pub file: String,
    /// Original line.
    pub line: u32,
}

/// One entry point.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Name on every target.
    pub name: String,
    /// C++ expression that names the function, for example `fold<Fp>`.
    pub reference: String,
    /// Template arguments by parameter name.
    pub substitution: HashMap<String, String>,
    /// Index into [`Scan::functions`].
    pub function: usize,
    /// Comment above the instantiation, else above the function.
    pub doc: String,
}

/// Everything found in a file.
#[derive(Debug, Default)]
pub struct Scan {
    /// Kernel functions and templates.
    pub functions: Vec<KernelFn>,
    /// Entry points in order.
    pub entries: Vec<Entry>,
    /// Token ranges of explicit instantiations, which the rewriter removes.
    pub instantiations: Vec<(usize, usize)>,
    /// Function constants in order.
    pub constants: Vec<FunctionConstant>,
    /// Values of function constants, by index.
    pub values: ConstantValues,
    /// Findings that stopped the scanner.
    pub findings: Vec<Finding>,
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
