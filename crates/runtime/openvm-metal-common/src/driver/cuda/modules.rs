//! PTX to kernels: threads of the context compile its units from the moment it is made; a call that needs a kernel waits
//! for its unit only.

use std::cmp::Reverse;
use std::ffi::{c_int, CString};
use std::sync::{Arc, OnceLock};
use std::thread::available_parallelism;
use std::time::Instant;

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute};

use super::api::Device;
use super::cache;
use super::compile::{compile, Module};
use super::status::text;
use crate::device_kind::DeviceKind;
use crate::device_profile::DeviceProfile;
use crate::driver::kernels::{missing, units, Kernels, PreparedUnit};
use crate::driver::loading::Loading;
use crate::driver::units::trouble;
use crate::driver::OpenOptions;
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec, KernelUnit, Prepare, PtxParam};
use crate::report::{CodeSource, KernelLimits, KernelReport, StartReport, UnitReport};

/// Units that a context compiles at the same time, at most.
const MAX_THREADS: usize = 16;

const NO_PTX: &str = "the kernels were built without clang, so there is no PTX";

/// An error if no kernel of the libraries has code for this kind of device.
pub(super) fn check_built(libraries: &[&'static KernelLibrary]) -> Result<()> {
    let units = units(libraries);
    if units.is_empty() || units.iter().any(|(_, unit)| unit.ptx.is_some()) {
        return Ok(());
    }
    Err(MetalError::KernelsNotBuilt {
        device: DeviceKind::Cuda,
        remedy: "build it again with clang 17 or newer and without OPENVM_METAL_BUILD_PTX=0, or use the device 'cpu'",
    })
}

/// An entry of a loaded module.
#[derive(Clone)]
pub(super) struct Function {
    pub handle: sys::CUfunction,
    /// Threads that its registers allow.
    pub threads: u32,
    limits: KernelLimits,
    /// Keeps the module: it goes with its last kernel.
    _module: Arc<Module>,
}

impl Function {
    /// The driver's limits for it.
    pub fn limits(&self) -> KernelLimits {
        self.limits
    }
}

/// The entries of loaded modules.
pub(super) struct Modules {
    functions: Arc<Kernels<Function>>,
    /// Library and name of each unit, by its number.
    units: Vec<(&'static str, &'static str)>,
    /// Units on their way; each ends as a row of the report.
    loading: Loading<UnitReport>,
    report: OnceLock<KernelReport>,
}

// SAFETY: handles of the driver may be used from any thread that enters the context.
unsafe impl Send for Function {}
// SAFETY: the driver API is thread safe.
unsafe impl Sync for Function {}

impl Modules {
    /// Begins to compile all units, several at a time; the driver keeps a cache on disk.
    pub fn load(device: &Arc<Device>, options: &OpenOptions, profile: &DeviceProfile) -> Self {
        let units = units(options.libraries);
        let functions = Arc::new(Kernels::new(DeviceKind::Cuda));
        let names: Vec<_> = units
            .iter()
            .map(|(library, unit)| (*library, unit.name))
            .collect();
        let left_out: Vec<Option<String>> = units
            .iter()
            .map(|(library, unit)| options.units.leaves_out(library, unit, profile))
            .collect();
        let order = compile_order(&units);
        let threads = available_parallelism().map_or(1, |count| count.get().min(MAX_THREADS));
        let (device, table) = (device.clone(), functions.clone());
        let load = move |index: usize| {
            let (library, unit) = units[index];
            if let Some(reason) = &left_out[index] {
                return table.leave_out(library, unit, CodeSource::Ptx, reason.clone());
            }
            trouble(unit);
            table.add_unit(library, unit, load_unit(&device, unit))
        };
        Self {
            functions,
            units: names,
            loading: Loading::start(order, threads, load),
            report: OnceLock::new(),
        }
    }

    /// Results of the units, when all are loaded.
    pub fn report(&self) -> &KernelReport {
        self.report.get_or_init(|| {
            let (units, took) = self.loading.wait_for_all();
            KernelReport {
                device: DeviceKind::Cuda,
                start: StartReport {
                    milliseconds: took.as_secs_f64() * 1e3,
                    cache: Some(cache::report(|name| std::env::var_os(name))),
                },
                units,
            }
        })
    }

    /// Every unit is loaded or refused.
    pub fn is_loaded(&self) -> bool {
        self.loading.is_done()
    }

    /// The entry of a kernel; waits for its unit.
    pub fn get(&self, kernel: &KernelSpec) -> Result<Function> {
        if let Some(found) = self.functions.find(kernel) {
            return found;
        }
        let unit = (kernel.library, kernel.unit);
        if let Some(index) = self.units.iter().position(|&known| known == unit) {
            self.loading.wait_for(index);
        }
        self.functions.get(kernel)
    }

    /// Compiles a unit made at run time.
    pub fn add(
        &self,
        device: &Device,
        unit: &str,
        ptx: Option<&str>,
        kernels: &[&'static KernelSpec],
    ) -> Result<()> {
        let Some(ptx) = ptx else {
            return Err(MetalError::KernelMissing {
                kernel: "all".into(),
                unit: unit.into(),
                device: DeviceKind::Cuda,
                reason: NO_PTX.into(),
            });
        };
        let module = compile(device, ptx).map_err(|message| MetalError::KernelCompile {
            device: DeviceKind::Cuda,
            unit: unit.into(),
            message,
        })?;
        let found = kernels
            .iter()
            .map(|kernel| {
                entry(device, &module, kernel)
                    .map_err(|reason| missing(DeviceKind::Cuda, kernel, reason))
            })
            .collect::<Result<Vec<_>>>()?;
        for (kernel, function) in kernels.iter().zip(found) {
            self.functions.insert(kernel, Ok(function));
        }
        Ok(())
    }

    /// Forgets kernels of units made at run time; the module goes with its last kernel.
    pub fn remove(&self, kernels: &[&KernelSpec]) {
        self.functions.remove(kernels);
    }
}

/// Numbers of the units in the order of compilation: units for a later use last, longer texts first, because one long unit takes as
/// much time as many short ones on the other threads.
fn compile_order(units: &[(&'static str, &'static KernelUnit)]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..units.len()).collect();
    order.sort_by_key(|&index| {
        let unit = units[index].1;
        let later = unit.prepared == Prepare::AtFirstUse;
        (later, Reverse(unit.ptx.map_or(0, str::len)))
    });
    order
}

fn load_unit(device: &Device, unit: &'static KernelUnit) -> PreparedUnit<Function> {
    let start = Instant::now();
    let module = match unit.ptx {
        Some(ptx) => compile(device, ptx),
        None => Err(NO_PTX.into()),
    };
    let kernels = module.map(|module| {
        let entry = |kernel| entry(device, &module, kernel).map(|f| (f.clone(), f.limits));
        unit.kernels.iter().map(entry).collect()
    });
    PreparedUnit {
        code: CodeSource::Ptx,
        cached: false,
        milliseconds: start.elapsed().as_secs_f64() * 1e3,
        warnings: None,
        kernels,
    }
}

/// The entry of a kernel, or why it has none.
fn entry(
    device: &Device,
    module: &Arc<Module>,
    kernel: &KernelSpec,
) -> std::result::Result<Function, String> {
    let name =
        CString::new(kernel.ptx_entry).map_err(|_| "its name holds a zero byte".to_owned())?;
    let mut handle = std::ptr::null_mut();
    // SAFETY: a loaded module, a C string and a pointer to a local.
    let status = unsafe { sys::cuModuleGetFunction(&mut handle, module.handle(), name.as_ptr()) };
    if status != sys::CUresult::CUDA_SUCCESS {
        return Err(text(status));
    }
    let attribute = |attribute: Attribute| {
        let mut value: c_int = 0;
        // SAFETY: a function of a loaded module and a pointer to a local.
        unsafe { sys::cuFuncGetAttribute(&mut value, attribute, handle) };
        value.max(0) as u32
    };
    let arrays = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    let mut params = kernel.ptx_params.iter();
    if params.any(|param| matches!(param, PtxParam::Threadgroup(_))) {
        // A launch may have what the device has beyond 48 KiB only if its function says so before.
        let most = device.shared_memory().saturating_sub(arrays) as c_int;
        let dynamic = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        // SAFETY: a function of a loaded module; nothing else is passed by address.
        let status = unsafe { sys::cuFuncSetAttribute(handle, dynamic, most) };
        if status != sys::CUresult::CUDA_SUCCESS {
            return Err(text(status));
        }
    }
    let limits = KernelLimits {
        threads: attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        threadgroup_bytes: Some(arrays),
        registers: Some(attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS)),
        spilled_bytes: Some(attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES)),
    };
    Ok(Function {
        handle,
        threads: limits.threads,
        limits,
        _module: module.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn library(ptx: &'static [Option<&'static str>]) -> &'static KernelLibrary {
        let unit = |&ptx: &Option<&'static str>| KernelUnit {
            name: "unit",
            msl: "",
            metallib: None,
            ptx,
            kernels: &[],
            prepared: Prepare::AtStart,
        };
        Box::leak(Box::new(KernelLibrary {
            name: "library",
            units: Vec::leak(ptx.iter().map(unit).collect()),
        }))
    }

    #[test]
    fn the_longest_unit_is_compiled_first_and_a_later_use_last() {
        let unit = |ptx, prepared| {
            let unit = KernelUnit {
                name: "unit",
                msl: "",
                metallib: None,
                ptx,
                kernels: &[],
                prepared,
            };
            ("library", &*Box::leak(Box::new(unit)))
        };
        let units = [
            unit(Some("12"), Prepare::AtStart),
            unit(Some("12345"), Prepare::AtFirstUse),
            unit(None, Prepare::AtStart),
            unit(Some("123"), Prepare::AboveThreadgroupMemory(1)),
        ];
        assert_eq!(compile_order(&units), [3, 0, 2, 1]);
    }

    /// One error for all units, if none has code; of some the others can be used.
    #[test]
    fn a_program_that_was_built_without_clang() {
        let none = library(&[None, None]);
        let error = check_built(&[none]).map_err(|e| e.to_string());
        let text = "this program was built without kernels for cuda: build it again with clang 17 or newer and without OPENVM_METAL_BUILD_PTX=0, or use the device 'cpu'";
        assert_eq!(error, Err(text.into()));
        let usable: [&[_]; 4] = [
            &[],
            &[library(&[])],
            &[library(&[None, Some("")])],
            &[none, library(&[Some("")])],
        ];
        for libraries in usable {
            assert!(check_built(libraries).is_ok());
        }
    }
}
