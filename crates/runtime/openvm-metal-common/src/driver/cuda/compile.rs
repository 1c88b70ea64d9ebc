//! PTX to machine code, by the driver's linker.
//!
//! The linker compiles on as many threads as call it. `cuModuleLoadDataEx` of a text holds a lock of the driver while it
//! compiles, so that all units would take the time of their sum. Both use the driver's cache on disk.

use std::ffi::{c_void, CString};
use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::sys::{self, CUjitInputType, CUjit_option_enum as Jit, CUlinkState, CUmodule};

use super::api::Device;
use super::status::text;

const LOG_BYTES: usize = 8 << 10;

/// A loaded module; it is unloaded with the last clone of its `Arc`.
pub(super) struct Module(CUmodule);
// SAFETY: a handle of the driver, which may be used from any thread that enters the context.
unsafe impl Send for Module {}
// SAFETY: the driver API is thread safe.
unsafe impl Sync for Module {}

impl Module {
    pub fn handle(&self) -> CUmodule {
        self.0
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        // SAFETY: loaded by `compile`; no kernel of it runs any more.
        unsafe { sys::cuModuleUnload(self.0) };
    }
}

/// Compiles and loads PTX.
///
/// # Errors
/// The text of the driver's compiler.
pub(super) fn compile(device: &Device, ptx: &str) -> Result<Arc<Module>, String> {
    let ptx = CString::new(ptx).map_err(|_| "the PTX holds a zero byte".to_owned())?;
    device.enter().map_err(|fault| format!("{fault:?}"))?;
    let mut linker = Linker::new()?;
    linker.add(&ptx)?;
    linker.load()
}

/// The log of a linker's errors with the options that name it. The driver keeps both addresses: it writes the log, and the log's
/// length in place of its capacity, until the linker is destroyed.
struct Log {
    bytes: [u8; LOG_BYTES],
    options: [Jit; 2],
    values: [*mut c_void; 2],
}

/// A linker of the driver.
struct Linker {
    state: CUlinkState,
    /// Made by `Box::leak`, and freed after the linker.
    log: NonNull<Log>,
}

impl Linker {
    fn new() -> Result<Self, String> {
        let log = Box::new(Log {
            bytes: [0; LOG_BYTES],
            options: [
                Jit::CU_JIT_ERROR_LOG_BUFFER,
                Jit::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
            ],
            values: [std::ptr::null_mut(), LOG_BYTES as *mut c_void],
        });
        let mut linker = Self {
            state: std::ptr::null_mut(),
            log: NonNull::from(Box::leak(log)),
        };
        let log = linker.log.as_ptr();
        // SAFETY: the log is on the heap, at the same address until the linker is dropped, and nothing else refers to it. The
        // driver gets two options with two values: the address of `LOG_BYTES` bytes, and their number in place of an address.
        let status = unsafe {
            (*log).values[0] = (&raw mut (*log).bytes).cast();
            sys::cuLinkCreate_v2(
                2,
                (&raw mut (*log).options).cast(),
                (&raw mut (*log).values).cast(),
                &mut linker.state,
            )
        };
        linker.check(status)?;
        Ok(linker)
    }

    /// Compiles a text.
    fn add(&mut self, ptx: &CString) -> Result<(), String> {
        let bytes = ptx.as_bytes_with_nul();
        // SAFETY: a linker that was made, a text with its zero byte and the length of both, a name, and no options. The
        // driver only reads the text.
        let status = unsafe {
            sys::cuLinkAddData_v2(
                self.state,
                CUjitInputType::CU_JIT_INPUT_PTX,
                bytes.as_ptr().cast_mut().cast(),
                bytes.len(),
                c"kernels.ptx".as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.check(status)
    }

    /// Loads the machine code of all texts.
    fn load(&mut self) -> Result<Arc<Module>, String> {
        let mut image = std::ptr::null_mut();
        // SAFETY: a linker that was made and a pointer to a local; the size may be left out.
        let status = unsafe { sys::cuLinkComplete(self.state, &mut image, std::ptr::null_mut()) };
        self.check(status)?;
        let mut module = std::ptr::null_mut();
        // SAFETY: the image belongs to the linker, which lives until this function has returned; the driver copies it.
        let status = unsafe { sys::cuModuleLoadData(&mut module, image) };
        self.check(status)?;
        Ok(Arc::new(Module(module)))
    }

    /// The error of a call, with the compiler's log.
    fn check(&self, status: sys::CUresult) -> Result<(), String> {
        if status == sys::CUresult::CUDA_SUCCESS {
            return Ok(());
        }
        // SAFETY: the log lives as long as `self`, and no call of the driver that writes it is running.
        let bytes = unsafe { (*self.log.as_ptr()).bytes };
        let log = String::from_utf8_lossy(&bytes);
        let log = log.trim_end_matches('\0').trim();
        Err(format!("{}: {log}", text(status)))
    }
}

impl Drop for Linker {
    fn drop(&mut self) {
        if !self.state.is_null() {
            // SAFETY: made by `cuLinkCreate` and destroyed once; a module that was loaded from it has a copy.
            unsafe { sys::cuLinkDestroy(self.state) };
        }
        // SAFETY: the log came from a box, and the linker that wrote to it is gone.
        drop(unsafe { Box::from_raw(self.log.as_ptr()) });
    }
}
