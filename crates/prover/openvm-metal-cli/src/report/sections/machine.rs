//! This machine and its devices.

use std::time::Instant;

use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::{devices_for, host_memory, DeviceProfile, Diagnostic, MetalContext};
use openvm_metal_sdk::engine::LIBRARIES;

use super::{problem, Job, Worker};
use crate::devices::{build_report, describe};
use crate::error::Result;
use crate::host::{self, HostReport};
use crate::table;

/// Prefixes of variables that change the behaviour of the program or a driver.
const PREFIXES: [&str; 5] = ["OPENVM_METAL_", "HOLOGRAM_", "MTL_", "METAL_", "RAYON_"];

/// Versions, system, processor, memory.
pub fn machine(_: &Job, worker: &mut Worker) -> Result<()> {
    let host = HostReport::gather();
    worker.fact("system", &host.os);
    for (name, value) in host::hardware() {
        worker.fact(name, value);
    }
    worker.fact("memory", table::bytes(host_memory()));
    worker.fact("threads", host.threads);
    worker.fact(
        "program",
        format!("openvm-metal {}, commit {}", host.version, host::COMMIT),
    );
    let build = build_report(&LIBRARY);
    worker.fact("built for", &build.target);
    worker.fact(
        "kernels",
        format!("{} in {} units", build.kernels, build.units),
    );
    let set = std::env::vars_os().filter_map(|(name, value)| {
        let name = name.into_string().ok()?;
        let ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        ours.then(|| format!("{name}={}", value.to_string_lossy()))
    });
    let mut set: Vec<_> = set.collect();
    set.sort();
    worker.fact(
        "settings",
        if set.is_empty() {
            "none".into()
        } else {
            set.join(" ")
        },
    );
    worker.data("host", &host);
    worker.data("build", &build);
    Ok(())
}

/// All devices, and two starts of the device under test.
pub fn device(job: &Job, worker: &mut Worker) -> Result<()> {
    let found = devices_for(&LIBRARIES);
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
            worker.data("prover", context.kernel_report());
            worker.fact("profile", profile(context.device_profile()));
            diagnostics(worker, &context);
            let time = crate::selftest::round_trip(&context)?;
            worker.fact("round trip", table::duration(time));
        }
    }
    Ok(())
}

/// The numbers that plans depend on, in one line.
fn profile(profile: &DeviceProfile) -> String {
    let fields = serde_json::to_value(profile).unwrap_or_default();
    let fields = fields.as_object().into_iter().flatten();
    let fields = fields.map(|(name, value)| format!("{name} {value}"));
    fields.collect::<Vec<_>>().join(", ")
}

/// Counters and messages of the device so far.
pub fn diagnostics(worker: &Worker, context: &MetalContext) {
    let shown: Vec<Diagnostic> = context.diagnostics();
    for diagnostic in &shown {
        worker.fact(diagnostic.name, &diagnostic.value);
    }
    worker.data("diagnostics", &shown);
}
