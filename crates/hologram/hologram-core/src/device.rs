//! Devices of this machine.

use std::str::FromStr;

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Effort, Fallback, MetalBackend, MetalStats, UnitCompiler};
use hologram_backends::native::NativeBackend;
use hologram_backends::{Backend, BackendError};
use openvm_metal_common::{Device, DeviceKind};

use crate::backend_type::BackendType;
use crate::error::{Error, Result};

impl FromStr for BackendType {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|backend| backend.name() == name)
            .ok_or_else(|| Error::InvalidArgument {
                argument: "backend",
                reason: format!("`{name}` is none of cpu, interpreter, metal, cuda"),
            })
    }
}

/// A backend with the name of its device.
type Opened = (Box<dyn Backend>, String);

fn cpu_name() -> String {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let arch = std::env::consts::ARCH;
    format!("{arch} CPU, {threads} threads")
}

/// Name of the device that a backend would run on.
///
/// # Errors
/// [`Error::BackendUnavailable`].
pub fn find(backend: BackendType) -> Result<String> {
    let kind = match backend {
        BackendType::Cpu => return Ok(cpu_name()),
        BackendType::Interpreter => return Ok(format!("{}, interpreter", cpu_name())),
        BackendType::Metal => DeviceKind::Metal,
        BackendType::Cuda => DeviceKind::Cuda,
    };
    let report = openvm_metal_common::devices()
        .into_iter()
        .find(|report| report.kind == kind);
    let (info, missing) = report.map_or((None, None), |report| (report.info, report.missing));
    info.map(|info| info.name)
        .ok_or_else(|| Error::BackendUnavailable {
            backend,
            reason: missing.unwrap_or_else(|| "no such device".into()),
        })
}

/// Name of the device of a backend that computes everything: programs and arrays need a compiler that makes code for it.
///
/// # Errors
/// [`Error::BackendUnavailable`] that says what is missing: the device, or the compiler.
pub fn usable(backend: BackendType) -> Result<String> {
    let name = find(backend)?;
    if backend != BackendType::Cuda {
        return Ok(name);
    }
    let compiler = UnitCompiler::new(
        DeviceKind::Cuda,
        MetalBackend::default_folder(),
        Effort::Usual,
    );
    compiled_for(backend, name, compiler.check())
}

/// The name of a device, unless code for it cannot be made.
fn compiled_for(
    backend: BackendType,
    name: String,
    compiler: std::result::Result<(), BackendError>,
) -> Result<String> {
    match compiler {
        Ok(()) => Ok(name),
        Err(error) => Err(Error::BackendUnavailable {
            backend,
            reason: format!("{name} is there, but kernels of arrays cannot be made: {error}"),
        }),
    }
}

/// Makes a backend.
///
/// # Errors
/// [`Error::BackendUnavailable`] if its device is missing; else what the device says.
pub(crate) fn open(backend: BackendType) -> Result<Opened> {
    let name = find(backend)?;
    let made: Box<dyn Backend> = match backend {
        BackendType::Cpu => Box::new(NativeBackend::new()),
        BackendType::Interpreter => Box::new(CpuBackend::new()),
        BackendType::Metal => Box::new(MetalBackend::new(Device::Metal)?),
        BackendType::Cuda => Box::new(MetalBackend::new(Device::Cuda(0))?),
    };
    Ok((made, name))
}

/// Makes the first backend that computes everything: Metal, CUDA, the CPU.
///
/// # Errors
/// What a device that is there says.
pub(crate) fn open_auto() -> Result<(Opened, BackendType)> {
    for backend in [BackendType::Metal, BackendType::Cuda] {
        match usable(backend).and_then(|_| open(backend)) {
            Err(Error::BackendUnavailable { .. }) => {}
            opened => return Ok((opened?, backend)),
        }
    }
    Ok((open(BackendType::Cpu)?, BackendType::Cpu))
}

/// Sets when a backend lets the interpreter run what its device cannot; those of the processor run everything anyway.
pub(crate) fn set_fallback(backend: &mut dyn Backend, policy: Fallback) {
    if let Some(metal) = backend.as_any_mut().downcast_mut::<MetalBackend>() {
        metal.set_fallback(policy);
    }
}

/// Sets how long a backend may compile a kernel; the interpreter alone compiles nothing.
pub(crate) fn set_compile_limit(backend: &mut dyn Backend, seconds: Option<u32>) {
    if let Some(metal) = backend.as_any_mut().downcast_mut::<MetalBackend>() {
        metal.set_compile_limit(seconds);
    } else if let Some(native) = backend.as_any_mut().downcast_mut::<NativeBackend>() {
        native.set_compile_limit(seconds);
    }
}

/// Counters of a backend of this crate; none of another backend.
pub(crate) fn stats(backend: &dyn Backend) -> Vec<(&'static str, u64)> {
    if let Some(metal) = backend.as_any().downcast_ref::<MetalBackend>() {
        return of_kernels(&metal.stats()).to_vec();
    }
    if let Some(native) = backend.as_any().downcast_ref::<NativeBackend>() {
        let stats = native.stats();
        let mut kernels = stats.kernels;
        kernels.interpreted = stats.interpreted;
        let mut all = of_kernels(&kernels).to_vec();
        all.push(("without_compiler", stats.without_compiler));
        all.push(("programs_prepared", stats.programs_prepared));
        return all;
    }
    if let Some(cpu) = backend.as_any().downcast_ref::<CpuBackend>() {
        let stats = cpu.stats();
        return vec![
            ("interpreted", stats.launches),
            ("launches", stats.launches),
            ("programs_prepared", stats.programs_prepared),
        ];
    }
    Vec::new()
}

/// Counters of kernels.
fn of_kernels(stats: &MetalStats) -> [(&'static str, u64); 13] {
    let compiling = u64::try_from(stats.compile_time.as_micros()).unwrap_or(u64::MAX);
    [
        ("launches", stats.launches),
        ("interpreted", stats.interpreted),
        ("intrinsics", stats.intrinsics),
        ("operation_programs", stats.operation_programs),
        ("rerolled", stats.rerolled),
        ("reduced", stats.reduced),
        ("in_bounds", stats.in_bounds),
        ("pipeline_hits", stats.pipeline_hits),
        ("kernel_hits", stats.kernel_hits),
        ("units_compiled", stats.units_compiled),
        ("kernels_compiled", stats.kernels_compiled),
        ("compile_time_us", compiling),
        ("faults", stats.faults),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU for which no code can be made is not taken by itself, and the reason names it and the remedy.
    #[test]
    fn a_gpu_without_a_compiler_computes_nothing() {
        let gpu = || "NVIDIA H100".to_owned();
        let found = compiled_for(BackendType::Cuda, gpu(), Ok(()));
        assert_eq!(found.expect("usable"), gpu());
        let old = BackendError::NoCompiler("install clang 17 or newer".into());
        let error = compiled_for(BackendType::Cuda, gpu(), Err(old)).expect_err("not usable");
        let text = error.to_string();
        assert!(matches!(error, Error::BackendUnavailable { .. }), "{text}");
        assert!(
            text.contains("NVIDIA H100") && text.contains("clang 17"),
            "{text}"
        );
    }
}
