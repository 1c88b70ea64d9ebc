//! Metal's objects of a unit: a library from its text or its compiled form, and from that a pipeline for each kernel.

use dispatch2::DispatchData;
use objc2::rc::Retained;
use objc2::runtime::{NSObjectProtocol, ProtocolObject};
use objc2::{msg_send, sel};
use objc2_foundation::{NSError, NSString};
use objc2_metal::{
    MTLCompileOptions, MTLComputePipelineDescriptor, MTLComputePipelineState, MTLDevice,
    MTLLanguageVersion, MTLLibrary, MTLMathFloatingPointFunctions, MTLMathMode, MTLPipelineOption,
};

use super::Device;
use crate::driver::apple::remedy;
use crate::driver::apple::validation::Validation;
use crate::kernel::KernelSpec;
use crate::report::KernelLimits;

pub(super) const LANGUAGE_NAME: &str = "3.0";
const LANGUAGE: MTLLanguageVersion = MTLLanguageVersion::Version3_0;
/// Threads per simdgroup of every Apple GPU.
pub(super) const SIMD_WIDTH: u32 = 32;
/// Threads that every pipeline without an attribute could have.
const UNLIMITED: u32 = 1024;

pub(super) type Library = Retained<ProtocolObject<dyn MTLLibrary>>;
pub(super) type Outcome<T> = std::result::Result<T, String>;

/// A kernel ready to be dispatched.
#[derive(Clone)]
pub(super) struct Prepared {
    pub pipeline: Retained<ProtocolObject<dyn MTLComputePipelineState>>,
    /// Most threads in a threadgroup; fewer than the device allows if the kernel needs many registers.
    pub threads: u32,
    /// Bytes of the threadgroup arrays declared in the kernel, as Metal laid them out.
    pub threadgroup_bytes: u32,
}

impl Prepared {
    /// For reports.
    pub fn limits(&self) -> KernelLimits {
        KernelLimits {
            threads: self.threads,
            threadgroup_bytes: Some(self.threadgroup_bytes),
            ..KernelLimits::default()
        }
    }
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

fn words(error: &NSError) -> String {
    remedy::compiler(&error.localizedDescription().to_string())
}

/// A library compiled now, with the compiler's warnings.
pub(super) fn from_source(device: &Device, msl: &str) -> Outcome<(Library, Option<String>)> {
    let (source, options) = (NSString::from_str(msl), options());
    let mut error: Option<Retained<NSError>> = None;
    // The binding of this method drops the error of a library that has warnings only.
    // SAFETY: the selector, its arguments and its result are those of `MTLDevice`.
    let library: Option<Library> = unsafe {
        msg_send![
            &**device,
            newLibraryWithSource: &*source,
            options: &*options,
            error: &mut error
        ]
    };
    match (library, error) {
        (Some(library), None) => Ok((library, None)),
        (Some(library), Some(warnings)) => {
            let warnings = warnings.localizedDescription().to_string();
            Ok((library, Some(warnings)))
        }
        (None, Some(error)) => Err(words(&error)),
        (None, None) => Err("Metal made no library and gave no error".into()),
    }
}

pub(super) fn from_bytes(device: &Device, bytes: &'static [u8]) -> Outcome<Library> {
    let data = DispatchData::from_static_bytes(bytes);
    device
        .newLibraryWithData_error(&data)
        .map_err(|error| words(&error))
}

/// Descriptor of a pipeline.
pub(super) fn descriptor(
    library: &Library,
    kernel: &KernelSpec,
) -> Outcome<Retained<MTLComputePipelineDescriptor>> {
    let name = NSString::from_str(kernel.name);
    let function = library
        .newFunctionWithName(&name)
        .ok_or_else(|| format!("unit '{}' does not contain it", kernel.unit))?;
    let descriptor = MTLComputePipelineDescriptor::new();
    descriptor.setComputeFunction(Some(&function));
    descriptor.setLabel(Some(&name));
    Ok(descriptor)
}

/// The pipeline of a kernel, compiled now.
pub(super) fn prepare(
    device: &Device,
    library: &Library,
    kernel: &KernelSpec,
    validation: Validation,
) -> Outcome<Prepared> {
    if let Some(reason) = validation.refuses(kernel) {
        return Err(reason);
    }
    let pipeline = device
        .newComputePipelineStateWithDescriptor_options_reflection_error(
            &*descriptor(library, kernel)?,
            MTLPipelineOption::None,
            None,
        )
        .map_err(|error| words(&error))?;
    checked(kernel, pipeline)
}

/// A pipeline, if it can be launched as the kernel declares.
pub(super) fn checked(
    kernel: &KernelSpec,
    pipeline: Retained<ProtocolObject<dyn MTLComputePipelineState>>,
) -> Outcome<Prepared> {
    let width = pipeline.threadExecutionWidth() as u32;
    if width != SIMD_WIDTH {
        return Err(format!(
            "simdgroups have {width} threads, {SIMD_WIDTH} are expected"
        ));
    }
    let threads = pipeline.maxTotalThreadsPerThreadgroup() as u32;
    // Without an attribute nothing is known about the launches; they are checked one by one.
    let declared = kernel.max_threads < UNLIMITED && kernel.kind.has_barriers();
    if declared && threads < kernel.max_threads {
        let most = kernel.max_threads;
        return Err(format!(
            "it declares {most} threads per threadgroup, Metal allows {threads}"
        ));
    }
    Ok(Prepared {
        threads,
        threadgroup_bytes: pipeline.staticThreadgroupMemoryLength() as u32,
        pipeline,
    })
}
