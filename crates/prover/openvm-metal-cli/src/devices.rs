//! `openvm-metal devices`.

use clap::Args;
use openvm_metal_backend::kernels::LIBRARY;
use openvm_metal_common::kernel::{CpuIsa, KernelLibrary};
use openvm_metal_common::{devices_for, Device, DeviceKind, DeviceReport};
use openvm_metal_sdk::engine::LIBRARIES;
use serde::Serialize;

use crate::error::Result;
use crate::table;

/// Options of `openvm-metal devices`.
#[derive(Args)]
pub struct DevicesArgs {
    /// Print JSON instead of a table.
    #[arg(long)]
    json: bool,
}

/// Targets of the kernels in this binary.
#[derive(Serialize)]
pub struct BuildReport {
    /// Version of this binary.
    version: &'static str,
    /// Operating system and architecture it was built for.
    pub target: String,
    /// Kernel entries in the prover's library.
    pub kernels: usize,
    /// CPU instruction sets with native code, best first; empty without a C++ compiler at build time.
    cpu: Vec<&'static str>,
    /// The best of them this processor has.
    cpu_in_use: Option<&'static str>,
    /// Kernel units with PTX for NVIDIA GPUs; 0 without clang at build time.
    ptx_units: usize,
    /// Kernel units in all.
    pub units: usize,
    /// Kernel units compiled for Macs; 0 without Apple's compiler at build time, then Metal compiles at start.
    metallib_units: usize,
}

#[derive(Serialize)]
struct Report {
    devices: Vec<DeviceReport>,
    build: BuildReport,
}

/// Reads off a kernel library what it holds for each target.
pub fn build_report(library: &KernelLibrary) -> BuildReport {
    let kernels: Vec<_> = library.units.iter().flat_map(|unit| unit.kernels).collect();
    let entries = kernels.first().map_or(&[][..], |kernel| kernel.cpu);
    let in_use = entries
        .iter()
        .map(|entry| entry.isa)
        .find(|isa| CpuIsa::is_available(*isa));
    BuildReport {
        version: env!("CARGO_PKG_VERSION"),
        target: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        kernels: kernels.len(),
        cpu: entries.iter().map(|entry| entry.isa.name()).collect(),
        cpu_in_use: in_use.map(CpuIsa::name),
        ptx_units: library
            .units
            .iter()
            .filter(|unit| unit.ptx.is_some())
            .count(),
        units: library.units.len(),
        metallib_units: library
            .units
            .iter()
            .filter(|unit| unit.metallib.is_some())
            .count(),
    }
}

/// Lists the devices.
///
/// # Errors
/// If standard output cannot be written, or the environment names no device; a missing device is a row.
pub fn run(args: &DevicesArgs) -> Result<()> {
    let report = Report {
        devices: devices_for(&LIBRARIES),
        build: build_report(&LIBRARY),
    };
    if args.json {
        return table::json(&report);
    }
    let mut rows = table::table(&["device", ""], &[]);
    for device in &report.devices {
        let auto = if device.default { " (auto)" } else { "" };
        rows.add_row([format!("{}{auto}", device.device), describe(device)]);
    }
    table::line(rows)?;
    for text in build_lines(&report.build) {
        table::line(text)?;
    }
    match Device::from_env()? {
        Device::Auto => table::line(
            "choose with --device or OPENVM_METAL_DEVICE: auto, metal, cuda, cuda:1, cpu, cpu-conformance",
        ),
        device => table::line(format!(
            "OPENVM_METAL_DEVICE chooses {device}; --device goes before it"
        )),
    }
}

/// A device in a few lines, or why it is not there.
pub fn describe(device: &DeviceReport) -> String {
    let Some(info) = &device.info else {
        let reason = device.missing.as_deref().unwrap_or("unknown");
        return format!("not available: {reason}");
    };
    let profile = &info.profile;
    let units = match info.kind {
        // The detail names the threads of a CPU; Metal does not tell the cores of a GPU.
        DeviceKind::Cpu | DeviceKind::Metal => String::new(),
        DeviceKind::Cuda => format!("{} multiprocessors, ", profile.cores),
    };
    let memory = if profile.unified { "unified" } else { "own" };
    format!(
        "{}\n{}\n{memory} memory {}, working set {}, budget {}, largest buffer {}\n\
         {units}simdgroups of {}, threadgroups of at most {} threads and {}",
        info.name,
        info.detail,
        table::bytes(profile.memory),
        table::bytes(profile.working_set),
        table::bytes(profile.budget),
        table::bytes(profile.max_buffer),
        profile.simd_width,
        profile.max_threads_per_threadgroup,
        table::bytes(u64::from(profile.max_threadgroup_memory)),
    )
}

fn build_lines(build: &BuildReport) -> Vec<String> {
    let cpu = if build.cpu.is_empty() {
        "none (no C++ compiler at build time)".to_owned()
    } else {
        format!(
            "{} (in use: {})",
            build.cpu.join(", "),
            build.cpu_in_use.unwrap_or("none")
        )
    };
    let ptx = match build.ptx_units {
        0 => "none (no clang at build time)".to_owned(),
        n => format!("{n} of {} units", build.units),
    };
    let apple = match build.metallib_units {
        0 => "source, compiled at start".to_owned(),
        n => format!("source, and compiled {n} of {} units", build.units),
    };
    vec![
        format!(
            "openvm-metal {} for {}, {} kernels",
            build.version, build.target, build.kernels
        ),
        format!("  Metal: {apple}"),
        format!("  NVIDIA PTX: {ptx}"),
        format!("  CPU code: {cpu}"),
    ]
}
