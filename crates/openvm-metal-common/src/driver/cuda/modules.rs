//! PTX to kernels: every unit is compiled by the driver when the context is made.

use std::ffi::{c_int, c_void, CString};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Instant;

use cudarc::driver::sys::{self, CUfunction_attribute as Attribute, CUjit_option_enum as Jit};

use super::api::{text, Device};
use crate::device::DeviceKind;
use crate::driver::kernels::KernelTable;
use crate::error::{MetalError, Result};
use crate::kernel::{KernelLibrary, KernelSpec, KernelUnit};
use crate::lock;

const LOG_BYTES: usize = 8 << 10;
/// Units compiled at the same time.
const MAX_THREADS: usize = 8;

/// An entry of a loaded module.
#[derive(Clone)]
pub(super) struct Function {
    pub handle: sys::CUfunction,
    /// What its registers allow.
    pub max_threads: u32,
    /// Keeps the module of a kernel made at run time; those of libraries live as long as the driver.
    _module: Option<Arc<Module>>,
}

/// Loaded modules and their entries.
pub(super) struct Modules {
    modules: Vec<Module>,
    functions: RwLock<KernelTable<Function>>,
}

// SAFETY: handles of the driver may be used from any thread that enters the context.
unsafe impl Send for Modules {}
// SAFETY: the driver API is thread safe.
unsafe impl Sync for Modules {}

struct Module(sys::CUmodule);
// SAFETY: as for `Modules`.
unsafe impl Send for Module {}
// SAFETY: as for `Modules`.
unsafe impl Sync for Module {}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `load_code`; no kernel of it runs any more.
        unsafe { sys::cuModuleUnload(self.0) };
    }
}

impl Modules {
    /// Compiles all units, several at a time; the driver keeps a cache on disk.
    pub fn load(device: &Device, libraries: &[&'static KernelLibrary]) -> Result<Self> {
        let start = Instant::now();
        let units: Vec<&'static KernelUnit> = libraries.iter().flat_map(|l| l.units).collect();
        let next = AtomicUsize::new(0);
        let loaded = Mutex::new(Vec::new());
        let worker = || {
            while let Some(unit) = units.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = load_unit(device, unit);
                lock(&loaded).push((*unit, result));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..units.len().min(MAX_THREADS) {
                scope.spawn(worker);
            }
            worker();
        });
        let mut modules = Vec::new();
        let mut functions = KernelTable::new();
        let mut failure = None;
        for (unit, result) in loaded.into_inner().unwrap_or_default() {
            match result {
                Ok(module) => {
                    for kernel in unit.kernels {
                        match entry(&module, kernel) {
                            Ok(function) => functions.insert(kernel, function),
                            Err(error) => failure = Some(error),
                        }
                    }
                    modules.push(module);
                }
                Err(error) => failure = Some(error),
            }
        }
        if let Some(error) = failure {
            return Err(error);
        }
        if !units.is_empty() {
            let kernels = units.iter().map(|unit| unit.kernels.len()).sum::<usize>();
            tracing::info!(
                units = units.len(),
                kernels,
                ms = start.elapsed().as_millis(),
                "PTX loaded"
            );
        }
        Ok(Self {
            modules,
            functions: RwLock::new(functions),
        })
    }

    /// The entry of a kernel.
    pub fn get(&self, kernel: &'static KernelSpec) -> Option<Function> {
        self.functions
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .get(kernel)
            .cloned()
    }

    fn table(&self) -> std::sync::RwLockWriteGuard<'_, KernelTable<Function>> {
        self.functions
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Compiles a unit made at run time.
    pub fn add(
        &self,
        device: &Device,
        unit: &str,
        ptx: Option<&str>,
        kernels: &[&'static KernelSpec],
    ) -> Result<()> {
        let module = Arc::new(load_code(device, unit, ptx)?);
        let mut found = Vec::new();
        for kernel in kernels {
            let mut function = entry(&module, kernel)?;
            function._module = Some(module.clone());
            found.push(function);
        }
        let mut table = self.table();
        for (kernel, function) in kernels.iter().zip(found) {
            table.insert(kernel, function);
        }
        Ok(())
    }

    /// Forgets kernels of units made at run time; the module goes with its last kernel.
    pub fn remove(&self, kernels: &[&KernelSpec]) {
        let mut table = self.table();
        for kernel in kernels {
            table.remove(kernel);
        }
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        self.modules.clear();
    }
}

fn refused(unit: &str, message: impl Into<String>) -> MetalError {
    let message = message.into();
    MetalError::KernelCompile {
        device: DeviceKind::Cuda,
        unit: unit.into(),
        message,
    }
}

fn load_unit(device: &Device, unit: &'static KernelUnit) -> Result<Module> {
    load_code(device, unit.name, unit.ptx)
}

fn load_code(device: &Device, unit: &str, ptx: Option<&str>) -> Result<Module> {
    let Some(ptx) = ptx else {
        return Err(MetalError::KernelMissing {
            kernel: unit.into(),
            device: DeviceKind::Cuda,
            reason: "the kernels were built without clang, so there is no PTX".into(),
        });
    };
    let image = CString::new(ptx).map_err(|_| refused(unit, "the PTX holds a zero byte"))?;
    device
        .enter()
        .map_err(|fault| refused(unit, format!("{fault:?}")))?;
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
        return Err(refused(unit, format!("{}: {log}", text(status))));
    }
    Ok(Module(module))
}

fn entry(module: &Module, kernel: &'static KernelSpec) -> Result<Function> {
    let missing = |reason: String| MetalError::KernelMissing {
        kernel: kernel.name.into(),
        device: DeviceKind::Cuda,
        reason,
    };
    let name =
        CString::new(kernel.ptx_entry).map_err(|_| missing("its name holds a zero byte".into()))?;
    let mut handle = std::ptr::null_mut();
    // SAFETY: a loaded module, a C string and a pointer to a local.
    let status = unsafe { sys::cuModuleGetFunction(&mut handle, module.0, name.as_ptr()) };
    if status != sys::CUresult::CUDA_SUCCESS {
        return Err(missing(text(status)));
    }
    let attribute = |attribute: Attribute| {
        let mut value: c_int = 0;
        // SAFETY: a function of a loaded module and a pointer to a local.
        unsafe { sys::cuFuncGetAttribute(&mut value, attribute, handle) };
        value.max(0) as u32
    };
    let max_threads = attribute(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    tracing::debug!(
        kernel = kernel.name,
        registers = attribute(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS),
        spilled_bytes = attribute(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
        shared_bytes = attribute(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
        max_threads,
        "kernel"
    );
    Ok(Function {
        handle,
        max_threads,
        _module: None,
    })
}
