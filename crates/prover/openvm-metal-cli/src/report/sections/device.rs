//! The device's facts about itself, and the time to open it.

use std::time::Instant;

use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::{devices_for, DeviceProfile, Diagnostic, MetalContext};

use super::{problem, Job, Worker};
use crate::devices::describe;
use crate::error::Result;
use crate::table;

/// Lists all devices, opens the one that was asked for twice, and tells what it shows.
pub fn run(job: &Job, worker: &mut Worker) -> Result<()> {
    let found = devices_for(&[&LIBRARY]);
    for device in &found {
        worker.fact(device.kind.name(), describe(device));
    }
    worker.data("devices", &found);
    for name in ["open", "open again"] {
        let mut context = None;
        worker.item(name, || {
            let start = Instant::now();
            let opened = job.device.context().map_err(problem)?;
            let detail = format!(
                "{}, ready in {}",
                opened.info(),
                table::duration(start.elapsed())
            );
            context = Some(opened);
            Ok(detail)
        });
        if let Some(context) = context {
            worker.data("device", context.info());
            worker.fact("profile", profile(context.device_profile()));
            diagnostics(worker, &context);
            let time = crate::selftest::round_trip(&context)?;
            worker.fact("round trip", table::duration(time));
        }
    }
    Ok(())
}

/// The numbers that the planning reads, in one line.
fn profile(profile: &DeviceProfile) -> String {
    let fields = serde_json::to_value(profile).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| format!("{name} {value}"));
    fields.collect::<Vec<_>>().join(", ")
}

/// Tells what the device has shown so far.
pub fn diagnostics(worker: &Worker, context: &MetalContext) {
    let shown: Vec<Diagnostic> = context.diagnostics();
    for diagnostic in &shown {
        worker.fact(diagnostic.name, &diagnostic.value);
    }
    worker.data("diagnostics", &shown);
}
