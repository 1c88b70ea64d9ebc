//! Finds the kernels of a preprocessed file.

mod declaration;
mod kind;
mod number;
mod template;

use std::collections::HashSet;

pub use crate::kernel_fn::{Entry, Guard, KernelFn, Kind, Scan};
use crate::{
    error::Finding,
    function_constants,
    lexer::{TokenKind, Tokens},
    scope,
};

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
