//! Finds the kernels of a preprocessed file.

mod declaration;
mod kind;
mod template;

use std::collections::{HashMap, HashSet};

use crate::{
    clauses::Clauses,
    error::Finding,
    function_constants::{self, ConstantValues, FunctionConstant},
    lexer::{TokenKind, Tokens},
    scope,
    signature::Param,
};

/// How a kernel runs on the CPU; see `KernelKind` of `openvm-metal-common`.
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
    /// Its file has SIMD-group matrices, which a SIMD-group of one lane cannot hold.
    pub matrices: bool,
    /// Names the entry when not a template: `[[host_name("...")]]` or the plain name.
    pub host_name: Option<String>,
    /// `[[max_total_threads_per_threadgroup(n)]]`
    pub max_threads: u32,
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
    /// What stopped the scanner.
    pub findings: Vec<Finding>,
}

/// Scans a preprocessed file.
pub fn scan(t: &Tokens) -> Scan {
    let scopes = scope::scopes(t);
    let barriers = kind::barrier_functions(t, &scopes);
    let matrices = (0..t.len()).any(|i| kind::is_matrix_name(t.at(i)));
    let mut out = Scan {
        constants: function_constants::declared(t, &scopes),
        ..Scan::default()
    };
    let mut pending = Vec::new();
    for i in 0..t.len() {
        if t.at(i) != "kernel" || scopes[i].in_function || t.tokens[i].kind != TokenKind::Ident {
            continue;
        }
        declaration::read(t, &scopes, &barriers, i, &mut out, &mut pending);
    }
    for f in &mut out.functions {
        f.matrices = matrices;
    }
    for (i, name, args, host, doc) in pending {
        template::instantiate(t, i, &name, &args, host, doc, &mut out);
    }
    let mut seen = HashSet::new();
    for e in &out.entries {
        if !seen.insert(e.name.clone()) {
            let f = &out.functions[e.function];
            out.findings.push(Finding {
                file: f.file.clone(),
                line: f.line,
                rule: "kernel-name",
                message: format!("two kernels are called `{}`", e.name),
                remedy: "give each its own name or [[host_name]]",
            });
        }
    }
    out
}
