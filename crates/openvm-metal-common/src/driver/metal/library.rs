//! Compiling kernels: from the embedded source, or from a compiled library if there is one.

use std::sync::{PoisonError, RwLock};

use objc2::rc::Retained;
use objc2::runtime::{NSObjectProtocol, ProtocolObject};
use objc2::sel;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLCompileOptions, MTLComputePipelineState, MTLDevice, MTLLanguageVersion, MTLLibrary,
    MTLMathMode,
};

use super::Device;
use crate::device::DeviceKind;
use crate::driver::kernels::KernelTable;
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec};

pub(super) const LANGUAGE_NAME: &str = "3.0";
const LANGUAGE: MTLLanguageVersion = MTLLanguageVersion::Version3_0;
/// Threads per simdgroup of every Apple GPU.
pub(super) const SIMD_WIDTH: u32 = 32;

type Pipeline = Retained<ProtocolObject<dyn MTLComputePipelineState>>;
type Library = Retained<ProtocolObject<dyn MTLLibrary>>;

/// The pipelines of every kernel, made when the context is, so that a bad kernel is found at start.
pub(super) struct Pipelines(RwLock<KernelTable<Pipeline>>);

impl Pipelines {
    pub fn compile(device: &Device, libraries: &[&'static KernelLibrary]) -> Result<Self> {
        let mut table = KernelTable::new();
        for unit in libraries.iter().flat_map(|library| library.units) {
            let library = compile_unit(device, unit.name, unit.msl)?;
            for kernel in unit.kernels {
                table.insert(kernel, pipeline(device, &library, kernel)?);
            }
        }
        Ok(Self(RwLock::new(table)))
    }

    /// Compiles a unit made at run time.
    pub fn add(
        &self,
        device: &Device,
        unit: &str,
        msl: &str,
        kernels: &[&'static KernelSpec],
    ) -> Result<()> {
        let library = compile_unit(device, unit, msl)?;
        let made = kernels
            .iter()
            .map(|kernel| pipeline(device, &library, kernel))
            .collect::<Result<Vec<_>>>()?;
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (kernel, pipeline) in kernels.iter().zip(made) {
            table.insert(kernel, pipeline);
        }
        Ok(())
    }

    /// Forgets kernels of units made at run time; command buffers in flight retain their pipelines.
    pub fn remove(&self, kernels: &[&KernelSpec]) {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for kernel in kernels {
            table.remove(kernel);
        }
    }

    pub fn get(&self, kernel: &'static KernelSpec) -> Option<Pipeline> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .get(kernel)
            .cloned()
    }
}

/// Language version and safe math are set explicitly: the defaults differ between systems.
fn options() -> Retained<MTLCompileOptions> {
    let options = MTLCompileOptions::new();
    options.setLanguageVersion(LANGUAGE);
    // `mathMode` came with macOS 15.
    if options.respondsToSelector(sel!(setMathMode:)) {
        options.setMathMode(MTLMathMode::Safe);
    } else {
        #[allow(deprecated)]
        options.setFastMathEnabled(false);
    }
    options
}

fn compile_unit(device: &Device, unit: &str, msl: &str) -> Result<Library> {
    device
        .newLibraryWithSource_options_error(&NSString::from_str(msl), Some(&options()))
        .map_err(|error| MetalError::KernelCompile {
            device: DeviceKind::Metal,
            unit: unit.into(),
            message: error.localizedDescription().to_string(),
        })
}

fn pipeline(device: &Device, library: &Library, kernel: &'static KernelSpec) -> Result<Pipeline> {
    let missing = |reason: String| MetalError::KernelMissing {
        kernel: kernel.name.into(),
        device: DeviceKind::Metal,
        reason,
    };
    let function = library
        .newFunctionWithName(&NSString::from_str(kernel.name))
        .ok_or_else(|| missing(format!("unit '{}' does not contain it", kernel.unit)))?;
    let pipeline = device
        .newComputePipelineStateWithFunction_error(&function)
        .map_err(|error| missing(error.localizedDescription().to_string()))?;
    let width = pipeline.threadExecutionWidth() as u32;
    if width != SIMD_WIDTH {
        return Err(missing(format!(
            "simdgroups have {width} threads, {SIMD_WIDTH} are expected"
        )));
    }
    Ok(pipeline)
}
