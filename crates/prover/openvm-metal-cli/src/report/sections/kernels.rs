//! Compiled kernels of the device: a row for each unit, with its messages, and each kernel's thread limit.

use openvm_metal_common::{CodeSource, KernelState, MetalContext, UnitReport};

use super::device::diagnostics;
use super::{Job, Problem, Worker};
use crate::error::Result;

/// Opens the device with the kernels of the prover, then with those of hologram, and tells about each unit.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let prover = job.device.context()?;
    library(worker, "prover", &prover);
    diagnostics(worker, &prover);
    drop(prover);
    library(worker, "hologram", &job.hologram_context()?);
    Ok(())
}

fn library(worker: &mut Worker, name: &str, context: &MetalContext) {
    let report = context.kernel_report();
    worker.fact(name, report);
    worker.data(name, report);
    let narrow: Vec<_> = report
        .narrow()
        .map(|(kernel, limits)| {
            let (threads, declared) = (limits.threads, kernel.declared_threads);
            format!("{} {threads} of {declared}", kernel.kernel)
        })
        .collect();
    if !narrow.is_empty() {
        let what = format!("{name}: kernels with fewer threads than they declare");
        worker.fact(&what, narrow.join(", "));
    }
    for unit in &report.units {
        worker.item(&format!("{}/{}", unit.library, unit.unit), || told(unit));
    }
}

/// A unit in words: a failure if any of its kernels cannot run.
fn told(unit: &UnitReport) -> Result<String, Problem> {
    let code = match (unit.code, unit.cached) {
        (CodeSource::Native, _) => "native code",
        (CodeSource::Ptx, _) => "PTX",
        (CodeSource::Metallib, _) => "metallib",
        (CodeSource::Source, false) => "source, compiled now",
        (CodeSource::Source, true) => "source, machine code of an earlier start",
    };
    let mut lines = vec![format!("{code}, {:.0} ms", unit.milliseconds)];
    lines.extend(unit.kernels.iter().map(kernel));
    let warnings = unit.warnings.iter().map(|text| format!("compiler: {text}"));
    lines.extend(warnings);
    let errors = unit.error.iter().cloned();
    let errors = errors.chain(unit.kernels.iter().filter_map(|kernel| {
        let error = kernel.error.as_ref().filter(|_| unit.error.is_none())?;
        Some(format!("{}: {error}", kernel.kernel))
    }));
    let errors: Vec<_> = errors.collect();
    match errors.is_empty() {
        true => Ok(lines.join("\n")),
        false => Err(Problem::Failed([errors, lines].concat().join("\n"))),
    }
}

fn kernel(state: &KernelState) -> String {
    let Some(limits) = &state.limits else {
        return format!("{} cannot run", state.kernel);
    };
    let mut text = format!(
        "{} {} of {} threads",
        state.kernel, limits.threads, state.declared_threads
    );
    if let Some(registers) = limits.registers {
        text += &format!(", {registers} registers");
    }
    if let Some(bytes) = limits.spilled_bytes.filter(|&bytes| bytes > 0) {
        text += &format!(", {bytes} bytes spilled");
    }
    text
}
