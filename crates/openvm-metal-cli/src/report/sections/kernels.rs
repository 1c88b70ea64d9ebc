//! What the device's compiler made of the kernels: the code that is in this program for it, unit by unit.

use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::DeviceKind;

use super::device::diagnostics;
use super::{Job, Problem, Worker};
use crate::error::Result;

/// Tells for each unit whether it has code for the device.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let context = job.device.context()?;
    for unit in LIBRARY.units {
        worker.item(unit.name, || {
            let code = match context.info().kind {
                DeviceKind::Metal => Some(format!("{} bytes of source", unit.msl.len())),
                DeviceKind::Cuda => unit.ptx.map(|ptx| format!("{} bytes of PTX", ptx.len())),
                DeviceKind::Cpu => unit.kernels.first().map(|kernel| {
                    let sets: Vec<_> = kernel.cpu.iter().map(|entry| entry.isa.name()).collect();
                    format!("native code for {}", sets.join(", "))
                }),
            };
            let kernels = unit.kernels.len();
            let code = code.ok_or_else(|| Problem::Failed("no code for this device".into()))?;
            Ok(format!("{kernels} kernels, {code}"))
        });
    }
    diagnostics(worker, &context);
    Ok(())
}
