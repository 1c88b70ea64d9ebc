//! The device, its context and its streams.

use std::ffi::{c_int, CStr};

use cudarc::driver::sys::{self, CUdevice_attribute as Attribute, CUresult};

use crate::device::DeviceInfo;
use crate::device_kind::DeviceKind;
use crate::device_profile::{DeviceProfile, Execution};
use crate::driver::DriverResult;
use crate::error::{MetalError, Result};
use crate::order::MAX_QUEUES;

use super::status::{call, text};

/// Device memory left to the driver and to others, in bytes.
const RESERVE: u64 = 512 << 20;
/// Products of 31-bit words that a multiprocessor makes a second: measured on an H100 with 132 of them.
const PRODUCTS_PER_CORE: u64 = 21_200_000_000;
/// Bytes a second of a device that does not tell its memory's clock.
const BYTES_IF_UNKNOWN: u64 = 200_000_000_000;

fn unavailable(reason: impl Into<String>) -> MetalError {
    MetalError::DeviceUnavailable {
        device: DeviceKind::Cuda,
        reason: reason.into(),
    }
}

/// The driver, if it is there and starts: how many devices it shows.
fn count() -> Result<u32> {
    // SAFETY: only loads and unloads the library.
    if !unsafe { sys::is_culib_present() } {
        return Err(unavailable("no NVIDIA driver library (libcuda) was found"));
    }
    let mut count = 0;
    // SAFETY: plain calls in the order the driver demands, with a pointer to a local.
    unsafe {
        check(sys::cuInit(0), "cuInit")?;
        check(sys::cuDeviceGetCount(&mut count), "cuDeviceGetCount")?;
    }
    Ok(count.max(0) as u32)
}

/// NVIDIA GPUs that the driver shows; none without a driver.
pub(crate) fn device_count() -> u32 {
    count().unwrap_or(0)
}

fn check(status: CUresult, what: &str) -> Result<()> {
    match status {
        CUresult::CUDA_SUCCESS => Ok(()),
        other => Err(unavailable(format!("{what}: {}", text(other)))),
    }
}

/// The primary context of a device and the streams in it.
pub(super) struct Device {
    handle: sys::CUdevice,
    context: sys::CUcontext,
    pub streams: [sys::CUstream; MAX_QUEUES],
}

// SAFETY: handles of the driver may be used from any thread that enters the context.
unsafe impl Send for Device {}
// SAFETY: the driver API is thread safe.
unsafe impl Sync for Device {}

impl Device {
    /// The device of this number, if there is a driver and it has so many.
    pub fn open(number: u32) -> Result<Self> {
        match count()? {
            0 => return Err(unavailable("the NVIDIA driver shows no device")),
            count if number >= count => {
                return Err(unavailable(format!(
                "cuda:{number} was asked for, the NVIDIA driver shows {count} (cuda:0 to cuda:{})",
                count - 1
            )))
            }
            _ => {}
        }
        let mut handle = 0;
        let mut context = std::ptr::null_mut();
        let mut streams = [std::ptr::null_mut(); MAX_QUEUES];
        let flags = sys::CUstream_flags_enum::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: plain calls in the order the driver demands, with pointers to locals.
        unsafe {
            check(
                sys::cuDeviceGet(&mut handle, number as c_int),
                "cuDeviceGet",
            )?;
            check(
                sys::cuDevicePrimaryCtxRetain(&mut context, handle),
                "cuDevicePrimaryCtxRetain",
            )?;
            check(sys::cuCtxSetCurrent(context), "cuCtxSetCurrent")?;
            let (mut least, mut greatest) = (0, 0);
            check(
                sys::cuCtxGetStreamPriorityRange(&mut least, &mut greatest),
                "cuCtxGetStreamPriorityRange",
            )?;
            for (queue, stream) in streams.iter_mut().enumerate() {
                // An operation moves to another queue because it can begin sooner than behind what fills the
                // device: it has to get a part of it.
                let priority = if queue == 0 { least } else { greatest };
                check(
                    sys::cuStreamCreateWithPriority(stream, flags, priority),
                    "cuStreamCreateWithPriority",
                )?;
            }
        }
        Ok(Self {
            handle,
            context,
            streams,
        })
    }

    /// Makes the context current on this thread.
    pub fn enter(&self) -> DriverResult {
        // SAFETY: the context is retained as long as `self`.
        call("cuCtxSetCurrent", unsafe {
            sys::cuCtxSetCurrent(self.context)
        })
    }

    fn attribute(&self, attribute: Attribute) -> u32 {
        let mut value: c_int = 0;
        // SAFETY: stores one integer, or leaves it on failure.
        unsafe { sys::cuDeviceGetAttribute(&mut value, attribute, self.handle) };
        value.max(0) as u32
    }

    /// Most threadgroup memory of a kernel that asks for more than 48 KiB.
    pub fn shared_memory(&self) -> u32 {
        self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
    }

    /// The driver's facts about the device.
    pub fn info(&self) -> Result<DeviceInfo> {
        let mut name = [0; 256];
        let (mut total, mut free, mut version) = (0usize, 0usize, 0);
        // SAFETY: the pointers are to locals of the sizes given.
        let status = unsafe {
            sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, self.handle);
            sys::cuDriverGetVersion(&mut version);
            sys::cuMemGetInfo_v2(&mut free, &mut total)
        };
        if status != CUresult::CUDA_SUCCESS {
            return Err(unavailable(format!("cuMemGetInfo: {}", text(status))));
        }
        // SAFETY: the last byte is zero.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }
            .to_string_lossy()
            .into_owned();
        let (major, minor) = (
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        );
        let working_set = (free as u64).saturating_sub(RESERVE);
        Ok(DeviceInfo {
            name,
            kind: DeviceKind::Cuda,
            detail: format!(
                "sm_{major}{minor}, CUDA {}.{}",
                version / 1000,
                version % 1000 / 10
            ),
            conformance: false,
            profile: self.profile(total as u64, working_set),
        })
    }

    fn profile(&self, memory: u64, working_set: u64) -> DeviceProfile {
        use Attribute::*;
        let cores = self.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
        let bus = self.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) / 8;
        let kilohertz = self.attribute(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE);
        let bytes_per_second = 2 * u64::from(bus) * u64::from(kilohertz) * 1000;
        DeviceProfile {
            name: "cuda",
            execution: Execution::ManyCore,
            cores,
            threads_per_core: self.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
            simd_width: self.attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
            max_threads_per_threadgroup: self.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
            max_threadgroup_memory: self.shared_memory(),
            memory,
            working_set,
            budget: working_set,
            max_buffer: memory,
            unified: false,
            addresses: true,
            double_precision: true,
            subnormals: true,
            close_functions: true,
            cache: 0,
            // Every device that the PTX, made for sm_80, runs on.
            matrix_units: true,
            vectors: false,
            products_per_second: u64::from(cores) * PRODUCTS_PER_CORE,
            bytes_per_second: match bytes_per_second / 10 * 7 {
                0 => BYTES_IF_UNKNOWN,
                known => known,
            },
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: made in `open`, used by nothing any more.
        unsafe {
            for stream in self.streams {
                sys::cuStreamDestroy_v2(stream);
            }
            sys::cuDevicePrimaryCtxRelease_v2(self.handle);
        }
    }
}
