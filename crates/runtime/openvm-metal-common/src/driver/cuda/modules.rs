//! PTX to kernels: threads of the context compile its units from the moment it is made; a call that needs a kernel waits
//! for its unit only.

use std::ffi::{c_int, c_void, CString};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUjit_option_enum as Jit};

use super::api::Device;
use super::cache;
use super::status::text;
use crate::device_kind::DeviceKind;
use crate::device_profile::DeviceProfile;
use crate::driver::kernels::{missing, units, Kernels, PreparedUnit};
use crate::driver::loading::Loading;
use crate::driver::units::trouble;
use crate::driver::OpenOptions;
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec, KernelUnit, PtxParam};
use crate::report::{CodeSource, KernelLimits, KernelReport, StartReport, UnitReport};

const LOG_BYTES: usize = 8 << 10;
/// Units compiled at the same time.
const MAX_THREADS: usize = 8;

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

struct Module(sys::CUmodule);
// SAFETY: as for `Function`.
unsafe impl Send for Module {}
// SAFETY: as for `Function`.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `load_code`; no kernel of it runs any more.
        unsafe { sys::cuModuleUnload(self.0) };
    }
}

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
        let (device, table, count) = (device.clone(), functions.clone(), units.len());
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
            loading: Loading::start(count, MAX_THREADS, load),
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
        let module = load_code(device, ptx).map_err(|message| MetalError::KernelCompile {
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

fn load_unit(device: &Device, unit: &'static KernelUnit) -> PreparedUnit<Function> {
    let start = Instant::now();
    let module = match unit.ptx {
        Some(ptx) => load_code(device, ptx),
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

/// Compiles PTX, or tells what the driver's compiler said.
fn load_code(device: &Device, ptx: &str) -> std::result::Result<Arc<Module>, String> {
    let image = CString::new(ptx).map_err(|_| "the PTX holds a zero byte".to_owned())?;
    device.enter().map_err(|fault| format!("{fault:?}"))?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [
        Jit::CU_JIT_ERROR_LOG_BUFFER,
        Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [log.as_mut_ptr().cast::<c_void>(), LOG_BYTES as *mut c_void];
    let mut module = std::ptr::null_mut();
    // SAFETY: the image ends with a zero byte; the log and its size are passed as the options say.
    let status = unsafe {
        sys::cuModuleLoadDataEx(
            &mut module,
            image.as_ptr().cast(),
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    if status != sys::CUresult::CUDA_SUCCESS {
        let log = String::from_utf8_lossy(&log);
        let log = log.trim_end_matches('\0').trim();
        return Err(format!("{}: {log}", text(status)));
    }
    Ok(Arc::new(Module(module)))
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
    let status = unsafe { sys::cuModuleGetFunction(&mut handle, module.0, name.as_ptr()) };
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
    use crate::kernel::Prepare;

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
