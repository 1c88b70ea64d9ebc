//! The prover's kernels: as compiled, against their oracles, and their rates.

use std::time::Duration;

use openvm_metal_backend::selftest::Coverage;
use openvm_metal_common::{
    kernel::KernelLibrary, CodeSource, KernelState, MetalContext, UnitReport,
};
use openvm_metal_sdk::engine::LIBRARIES;

use super::machine::diagnostics;
use super::{problem, Job, Problem, Worker};
use crate::error::Result;
use crate::rates::{self, Roof};
use crate::selftest::items;
use crate::table;

/// One unit a process: one that hangs in the compiler or ends its process costs itself alone.
pub fn compiled(job: &Job, worker: &mut Worker) -> Result<()> {
    let device = job.device.device()?;
    if !worker.is_restarted() {
        // A device that is not there is one fault, not one of each unit.
        MetalContext::new(device, &[])?;
    }
    let units = |library: &'static KernelLibrary| library.units.iter().map(move |u| (library, u));
    for (library, unit) in LIBRARIES.into_iter().flat_map(units) {
        worker.lone_item(&format!("{}/{}", library.name, unit.name), || {
            let libraries = [library];
            let builder = MetalContext::builder(device).libraries(&libraries);
            let context = builder.only(unit).open()?;
            let mut rows = context.kernel_report().units.iter();
            match rows.find(|row| row.unit == unit.name) {
                Some(row) => verdict(row),
                None => Err(Problem::Failed("the device did not report on it".into())),
            }
        });
    }
    Ok(())
}

/// Compiler's verdict on a unit: a failure if any of its kernels cannot run.
fn verdict(unit: &UnitReport) -> Result<String, Problem> {
    if let Some(reason) = &unit.left_out {
        return Err(Problem::Skipped(format!("left out: {reason}")));
    }
    let code = match (unit.code, unit.cached) {
        (CodeSource::Native, _) => "native code",
        (CodeSource::Ptx, _) => "PTX",
        (CodeSource::Metallib, _) => "metallib",
        (CodeSource::Source, false) => "source, compiled now",
        (CodeSource::Source, true) => "source, machine code from the cache",
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

/// Every check of `openvm-metal selftest`.
pub fn checked(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.device.context()?;
    worker.watch(&context);
    for item in items() {
        worker.item(&item.path, || {
            context.set_profiling(item.profiled);
            match (item.run)(&context.stream(), job.seed) {
                Ok(()) => Ok(String::new()),
                Err(fault) if fault.left_out => Err(Problem::Skipped(fault.text)),
                Err(fault) => Err(Problem::Failed(fault.text)),
            }
        });
    }
    diagnostics(worker, &context);
    // After a restart this process has run some of the kernels only.
    if !worker.is_restarted() {
        if let Ok(coverage) = Coverage::of(&context) {
            let never = match coverage.never_run.is_empty() {
                true => String::new(),
                false => format!("; not {}", coverage.never_run.join(", ")),
            };
            worker.fact(
                "kernels run",
                format!("{} of {}{never}", coverage.run, coverage.kernels),
            );
            worker.data("coverage", &coverage);
        }
    }
    Ok(())
}

/// Measured peaks of the device, and the rate of each kernel.
pub fn rates(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.device.context()?;
    worker.watch(&context);
    let stream = context.stream();
    let log_size = match context.device_profile().many_core() {
        true => 20,
        false => 16,
    };
    let roof = Roof::measure(&stream)?;
    worker.fact(
        "measured peaks",
        format!(
            "{}products/s, {}B/s of copy traffic (read + write)",
            table::rate(roof.products_per_second),
            table::rate(roof.bytes_per_second)
        ),
    );
    worker.data("roof", &roof);
    let mut rows = Vec::new();
    for case in rates::cases() {
        worker.item(&case.path(), || {
            let row = rates::measure(&stream, &case, log_size, &roof).map_err(problem)?;
            let time = table::duration(Duration::from_secs_f64(row.seconds));
            let detail = format!(
                "{}: {time}, {}{}/s, {:.0}% of floor ({})",
                row.size,
                table::rate(row.rate),
                row.unit,
                row.percent_of_floor,
                row.bound
            );
            rows.push(row);
            Ok(detail)
        });
    }
    worker.data("kernels", &rows);
    Ok(())
}
