//! The generated Rust file and what it includes.

use std::fs;

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
    (types, cost_units): (&TypeMap, &CostUnits),
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
