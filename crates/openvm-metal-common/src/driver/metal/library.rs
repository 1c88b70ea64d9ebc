//! Preparing kernels: from the compiled libraries in the program, or from the embedded source.

use std::sync::{PoisonError, RwLock};

use dispatch2::DispatchData;
use objc2::rc::{autoreleasepool, Retained};
use objc2::runtime::{NSObjectProtocol, ProtocolObject};
use objc2::sel;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLCompileOptions, MTLComputePipelineState, MTLDevice, MTLFunction, MTLLanguageVersion,
    MTLLibrary, MTLMathFloatingPointFunctions, MTLMathMode,
};
use rayon::prelude::*;

use super::Device;
use crate::device::DeviceKind;
use crate::driver::kernels::KernelTable;
use crate::driver::origin::{choose, metallibs_wanted, Origin, Source, METALLIB_VARIABLE};
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec, KernelUnit};

pub(super) const LANGUAGE_NAME: &str = "3.0";
const LANGUAGE: MTLLanguageVersion = MTLLanguageVersion::Version3_0;
/// Threads per simdgroup of every Apple GPU.
pub(super) const SIMD_WIDTH: u32 = 32;
/// Threads that every pipeline without an attribute could have.
const UNLIMITED: u32 = 1024;

type Library = Retained<ProtocolObject<dyn MTLLibrary>>;
type Function = Retained<ProtocolObject<dyn MTLFunction>>;

/// A kernel ready to be dispatched.
#[derive(Clone)]
pub(super) struct Prepared {
    pub pipeline: Retained<ProtocolObject<dyn MTLComputePipelineState>>,
    /// Most threads in a threadgroup; fewer than the device allows if the kernel needs many registers.
    pub threads: u32,
    /// Bytes of the threadgroup arrays declared in the kernel, as Metal laid them out.
    pub threadgroup_bytes: u32,
}

/// The pipelines of every kernel, made when the context is, so that a bad kernel is found at start.
pub(super) struct Pipelines {
    table: RwLock<KernelTable<Prepared>>,
    pub origin: Origin,
    /// Kernels that may have fewer threads in a threadgroup than they declare.
    narrow: Vec<String>,
}

impl Pipelines {
    /// Prepares every kernel, several units at a time.
    pub fn compile(device: &Device, libraries: &[&'static KernelLibrary]) -> Result<Self> {
        let metallibs = metallibs_from_env()?;
        // macOS 13.3.
        if device.respondsToSelector(sel!(setShouldMaximizeConcurrentCompilation:)) {
            device.setShouldMaximizeConcurrentCompilation(true);
        }
        let units: Vec<&'static KernelUnit> = libraries.iter().flat_map(|l| l.units).collect();
        let made: Vec<(Vec<Prepared>, Source)> = units
            .par_iter()
            .map(|unit| autoreleasepool(|_| prepare_unit(device, unit, metallibs)))
            .collect::<Result<_>>()?;
        let mut pipelines = Self {
            table: RwLock::new(KernelTable::new()),
            origin: Origin::default(),
            narrow: Vec::new(),
        };
        let table = pipelines
            .table
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        for (unit, (prepared, source)) in units.into_iter().zip(made) {
            pipelines.origin.count(source);
            for (kernel, prepared) in unit.kernels.iter().zip(prepared) {
                if prepared.threads < kernel.max_threads {
                    let name = format!("{} {}", kernel.name, prepared.threads);
                    pipelines.narrow.push(name);
                }
                table.insert(kernel, prepared);
            }
        }
        Ok(pipelines)
    }

    /// Compiles a unit made at run time.
    pub fn add(
        &self,
        device: &Device,
        unit: &str,
        msl: &str,
        kernels: &[&'static KernelSpec],
    ) -> Result<()> {
        let library = from_source(device, unit, msl)?;
        let made = kernels
            .iter()
            .map(|kernel| prepare(device, &library, kernel))
            .collect::<Result<Vec<_>>>()?;
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        for (kernel, prepared) in kernels.iter().zip(made) {
            table.insert(kernel, prepared);
        }
        Ok(())
    }

    /// Forgets kernels of units made at run time; command buffers in flight retain their pipelines.
    pub fn remove(&self, kernels: &[&KernelSpec]) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        for kernel in kernels {
            table.remove(kernel);
        }
    }

    pub fn get(&self, kernel: &'static KernelSpec) -> Option<Prepared> {
        self.table
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(kernel)
            .cloned()
    }

    /// Kernels with fewer threads per threadgroup than they declare, in words.
    pub fn narrow(&self) -> String {
        match self.narrow.is_empty() {
            true => "none".into(),
            false => self.narrow.join(", "),
        }
    }
}

/// What [`Pipelines::compile`] would use, found without compiling anything.
pub(super) fn probe(device: &Device, libraries: &[&'static KernelLibrary]) -> Result<Origin> {
    let metallibs = metallibs_from_env()?;
    let mut origin = Origin::default();
    for unit in libraries.iter().flat_map(|library| library.units) {
        let load = |bytes| {
            let library = from_bytes(device, unit.name, bytes)?;
            unit.kernels
                .iter()
                .try_for_each(|kernel| function(&library, kernel).map(drop))
        };
        origin.count(choose(unit, metallibs, load, || Ok(()))?.1);
    }
    Ok(origin)
}

fn metallibs_from_env() -> Result<bool> {
    metallibs_wanted(std::env::var(METALLIB_VARIABLE).ok().as_deref())
}

/// The kernels of a unit.
fn prepare_unit(
    device: &Device,
    unit: &'static KernelUnit,
    metallibs: bool,
) -> Result<(Vec<Prepared>, Source)> {
    let all = |library: Library| {
        let kernels = unit.kernels.iter();
        kernels
            .map(|kernel| prepare(device, &library, kernel))
            .collect::<Result<Vec<_>>>()
    };
    choose(
        unit,
        metallibs,
        |bytes| from_bytes(device, unit.name, bytes).and_then(all),
        || from_source(device, unit.name, unit.msl).and_then(all),
    )
}

/// Language version and safe math are set explicitly: the defaults differ between systems.
fn options() -> Retained<MTLCompileOptions> {
    let options = MTLCompileOptions::new();
    options.setLanguageVersion(LANGUAGE);
    // `mathMode` came with macOS 15, and functions such as `exp` that are fast unless told otherwise.
    if options.respondsToSelector(sel!(setMathMode:)) {
        options.setMathMode(MTLMathMode::Safe);
        options.setMathFloatingPointFunctions(MTLMathFloatingPointFunctions::Precise);
    } else {
        #[allow(deprecated)]
        options.setFastMathEnabled(false);
    }
    options
}

fn refused(unit: &str, message: String) -> MetalError {
    MetalError::KernelCompile {
        device: DeviceKind::Metal,
        unit: unit.into(),
        message,
    }
}

fn from_source(device: &Device, unit: &str, msl: &str) -> Result<Library> {
    device
        .newLibraryWithSource_options_error(&NSString::from_str(msl), Some(&options()))
        .map_err(|error| refused(unit, error.localizedDescription().to_string()))
}

fn from_bytes(device: &Device, unit: &str, bytes: &'static [u8]) -> Result<Library> {
    let data = DispatchData::from_static_bytes(bytes);
    device
        .newLibraryWithData_error(&data)
        .map_err(|error| refused(unit, error.localizedDescription().to_string()))
}

fn missing(kernel: &KernelSpec, reason: String) -> MetalError {
    MetalError::KernelMissing {
        kernel: kernel.name.into(),
        device: DeviceKind::Metal,
        reason,
    }
}

fn function(library: &Library, kernel: &KernelSpec) -> Result<Function> {
    library
        .newFunctionWithName(&NSString::from_str(kernel.name))
        .ok_or_else(|| {
            let reason = format!("unit '{}' does not contain it", kernel.unit);
            missing(kernel, reason)
        })
}

/// The pipeline of a kernel, if it can be launched as the kernel declares.
fn prepare(device: &Device, library: &Library, kernel: &'static KernelSpec) -> Result<Prepared> {
    let function = function(library, kernel)?;
    let pipeline = device
        .newComputePipelineStateWithFunction_error(&function)
        .map_err(|error| missing(kernel, error.localizedDescription().to_string()))?;
    let width = pipeline.threadExecutionWidth() as u32;
    if width != SIMD_WIDTH {
        let reason = format!("simdgroups have {width} threads, {SIMD_WIDTH} are expected");
        return Err(missing(kernel, reason));
    }
    let threads = pipeline.maxTotalThreadsPerThreadgroup() as u32;
    // Without an attribute nothing is known about the launches; they are checked one by one.
    let declared = kernel.max_threads < UNLIMITED && kernel.kind.has_barriers();
    if declared && threads < kernel.max_threads {
        let most = kernel.max_threads;
        let reason = format!("it declares {most} threads per threadgroup, Metal allows {threads}");
        return Err(missing(kernel, reason));
    }
    Ok(Prepared {
        threads,
        threadgroup_bytes: pipeline.staticThreadgroupMemoryLength() as u32,
        pipeline,
    })
}
