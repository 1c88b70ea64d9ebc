//! The generated Rust file and what it includes.

use std::{collections::BTreeMap, fs};

use super::context::{identifier, Context, Unit};
use crate::{
    codegen_rust::{self, LibraryOutput, UnitOutput},
    cost_units::CostUnits,
    error::{BuildError, Finding},
    probe::{self, Sizes},
    scan,
    shim::write_if_changed,
    signature::{Param, ParamKind},
    target_apple,
    types::TypeMap,
};

/// Writes the texts for Apple's compiler.
pub(super) fn sources(cx: &Context, units: &[Unit]) -> Result<(), BuildError> {
    units.iter().try_for_each(|u| {
        let text = target_apple::embedded(&u.text);
        write_if_changed(&cx.product(&u.name, "flat.metal"), &text)
    })
}

/// The text of `kernels.rs`; `metallibs` says which units have a Metal library.
pub(super) fn generate(
    cx: &Context,
    library: &str,
    units: &[Unit],
    metallibs: &[bool],
    (types, cost_units, prepared): (&TypeMap, &CostUnits, &BTreeMap<String, String>),
) -> Result<String, BuildError> {
    let mut sizes = Vec::new();
    for u in units {
        let text = fs::read_to_string(cx.product(&u.name, "probe.s")).unwrap_or_default();
        let found = probe::parse(&text);
        let expected = arguments(u);
        if found.args.len() != expected {
            let message = format!(
                "the assembly of unit {} tells the sizes of {} arguments, there are {expected}",
                u.name,
                found.args.len(),
            );
            let tool = cx.compiler.program.clone();
            return Err(BuildError::Tool { tool, message });
        }
        sizes.push(found);
    }
    let findings: Vec<Finding> = units
        .iter()
        .zip(&sizes)
        .flat_map(|(u, s)| threadgroup_limit(u, s))
        .chain(units.iter().flat_map(undeclared_threads))
        .collect();
    if !findings.is_empty() {
        return Err(BuildError::Rules(findings));
    }
    let outputs: Vec<UnitOutput<'_>> = units
        .iter()
        .zip(&sizes)
        .zip(metallibs)
        .map(|((u, sizes), metallib)| {
            let below = |tag: &str| format!("metal/{}/{tag}", identifier(&u.name));
            UnitOutput {
                name: &u.name,
                prefix: &u.prefix,
                scan: &u.scan,
                sizes,
                msl: below("flat.metal"),
                metallib: metallib.then(|| below("kernels.metallib")),
                ptx: (cx.ptx && !u.scan.entries.is_empty()).then(|| below("kernels.ptx")),
            }
        })
        .collect();
    let lib = LibraryOutput {
        name: library,
        isas: &cx.isas,
        types,
        units: cost_units,
        prepared,
    };
    Ok(codegen_rust::generate(&lib, &outputs))
}

/// Arguments of all kernels of a unit that are bound by the host.
fn arguments(u: &Unit) -> usize {
    let bound = |p: &&Param| !matches!(p.kind, ParamKind::Builtin(_));
    let count = |e: &scan::Entry| {
        u.scan.functions[e.function]
            .params
            .iter()
            .filter(bound)
            .count()
    };
    u.scan.entries.iter().map(count).sum()
}

/// Parameters of kernels whose threads know of their threadgroup: the host decides about its size.
const OF_THREADGROUPS: [&str; 5] = [
    "thread_index_in_threadgroup",
    "thread_position_in_threadgroup",
    "threadgroup_position_in_grid",
    "threads_per_threadgroup",
    "threadgroups_per_grid",
];

/// Kernels that are launched with a size of their threadgroups and do not declare it: Apple's compiler then takes as many registers as it
/// likes, and the launch fails.
fn undeclared_threads(u: &Unit) -> Vec<Finding> {
    let of_threadgroup = |p: &Param| match &p.kind {
        ParamKind::Builtin(name) => OF_THREADGROUPS.contains(&name.as_str()),
        ParamKind::Threadgroup => true,
        _ => false,
    };
    let entries = u.scan.entries.iter();
    let functions = entries.map(|e| (e, &u.scan.functions[e.function]));
    let sized = functions.filter(|(_, f)| f.kind.barriers() || f.params.iter().any(of_threadgroup));
    sized
        .filter(|(_, f)| !f.declares_threads)
        .map(|(e, f)| Finding {
            file: f.file.clone(),
            line: f.line,
            rule: "undeclared-threads",
            message: format!("kernel `{}` has threadgroups of a size that it does not declare", e.name),
            remedy: "put [[max_total_threads_per_threadgroup(n)]] before it, with the most threads that it is launched with",
        })
        .collect()
}

/// Threadgroup memory of every Apple GPU.
const THREADGROUP_LIMIT: u32 = 32 * 1024;

fn threadgroup_limit(u: &Unit, sizes: &Sizes) -> Vec<Finding> {
    let over = |(n, e): (usize, &scan::Entry)| {
        let bytes = *sizes.threadgroup.get(&n)?;
        let f = &u.scan.functions[e.function];
        (bytes > THREADGROUP_LIMIT).then(|| Finding {
            file: f.file.clone(),
            line: f.line,
            rule: "threadgroup-memory",
            message: format!("kernel `{}` declares {bytes} bytes of threadgroup arrays, the limit is {THREADGROUP_LIMIT}", e.name),
            remedy: "use smaller arrays",
        })
    };
    u.scan.entries.iter().enumerate().filter_map(over).collect()
}
