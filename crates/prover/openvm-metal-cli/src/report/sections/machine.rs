//! Versions, system, processor, memory.

use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::host_memory;

use super::{Job, Worker};
use crate::devices::build_report;
use crate::error::Result;
use crate::host::{self, HostReport};
use crate::table;

/// Variables that change what the program does.
const PREFIXES: [&str; 5] = ["OPENVM_METAL_", "HOLOGRAM_", "MTL_", "METAL_", "RAYON_"];

/// Tells what the system knows about itself.
pub fn run(_: &Job, worker: &mut Worker) -> Result<()> {
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
