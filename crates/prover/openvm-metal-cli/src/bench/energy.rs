//! Energy of NVIDIA GPUs, as the driver's management library (NVML) counts it. The library comes with the driver and is loaded at
//! run time, like the driver itself.

use std::ffi::{c_char, c_int, c_uint, c_ulonglong, c_void, CString};

use libloading::Library;
use openvm_metal_common::Device;

/// Status of CUDA and of NVML for a call that did what it should.
const SUCCESS: c_int = 0;

/// A GPU in NVML. Valid until NVML is shut down.
type Handle = *mut c_void;

/// `nvmlInit_v2` and `nvmlShutdown`.
type Plain = unsafe extern "C" fn() -> c_int;
/// `nvmlDeviceGetHandleByUUID`.
type HandleByUuid = unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int;
/// `nvmlDeviceGetTotalEnergyConsumption`.
type TotalEnergy = unsafe extern "C" fn(Handle, *mut c_ulonglong) -> c_int;

/// `cuInit`.
type CudaInit = unsafe extern "C" fn(c_uint) -> c_int;
/// `cuDeviceGet`.
type CudaDevice = unsafe extern "C" fn(*mut c_int, c_int) -> c_int;
/// `cuDeviceGetUuid_v2`.
type CudaUuid = unsafe extern "C" fn(*mut Uuid, c_int) -> c_int;

/// `CUuuid`: 16 bytes.
#[repr(C)]
struct Uuid([u8; 16]);

/// Energy of the NVIDIA GPUs among some devices.
///
/// CUDA and NVML number GPUs in different orders (`CUDA_DEVICE_ORDER` and `CUDA_VISIBLE_DEVICES` change CUDA's), so a GPU is found by its
/// UUID, which both tell. A part of a GPU (MIG) has a UUID of its own and no energy: nothing is told of it. The energy is that of the whole
/// board: the work of other processes on it counts, too. The driver renews the counter at intervals, so the difference over less than
/// a second is rough.
pub struct Energy {
    handles: Vec<Handle>,
    total: TotalEnergy,
    shutdown: Plain,
    /// Keeps the functions above in memory. Fields are dropped after [`drop`](Self::drop), which calls the last of them.
    _library: Library,
}

impl Energy {
    /// The GPUs among `devices`. Nothing if there is none, or if the energy of one of them is not told: a part of the sum would be taken
    /// for all of it.
    pub fn open(devices: &[Device]) -> Option<Self> {
        let numbers: Vec<u32> = devices.iter().filter_map(number).collect();
        if numbers.is_empty() {
            return None;
        }
        let names = names(&numbers)?;
        // SAFETY: the library is the driver's; its initialisers ask nothing of who loads it.
        let library = unsafe { Library::new("libnvidia-ml.so.1") }.ok()?;
        // SAFETY: the types are those of NVML's header. The pointers are copied out of the symbols and called only while `library` is
        // loaded: those that outlive this function are kept beside it.
        let (init, shutdown, by_uuid, total) = unsafe {
            (
                *library.get::<Plain>("nvmlInit_v2").ok()?,
                *library.get::<Plain>("nvmlShutdown").ok()?,
                *library
                    .get::<HandleByUuid>("nvmlDeviceGetHandleByUUID")
                    .ok()?,
                *library
                    .get::<TotalEnergy>("nvmlDeviceGetTotalEnergyConsumption")
                    .ok()?,
            )
        };
        // SAFETY: takes no arguments and may be called at any time; `drop` calls its counterpart.
        if unsafe { init() } != SUCCESS {
            return None;
        }
        // From here on NVML is shut down whatever happens.
        let mut energy = Self {
            handles: Vec::with_capacity(names.len()),
            total,
            shutdown,
            _library: library,
        };
        for name in &names {
            let mut handle: Handle = std::ptr::null_mut();
            // SAFETY: the name ends with a null byte and lives through the call, which stores one pointer in the local.
            if unsafe { by_uuid(name.as_ptr(), &mut handle) } != SUCCESS {
                return None;
            }
            energy.handles.push(handle);
        }
        // A GPU that counts no energy says so at the first question.
        energy.joules()?;
        Some(energy)
    }

    /// Joules of all these GPUs since the driver was loaded. Nothing if one of them does not answer.
    pub fn joules(&self) -> Option<f64> {
        let mut sum = 0.0;
        for &handle in &self.handles {
            let mut millijoules: c_ulonglong = 0;
            // SAFETY: NVML gave the handle and is not shut down before `self` is dropped; the call stores one number in the local.
            if unsafe { (self.total)(handle, &mut millijoules) } != SUCCESS {
                return None;
            }
            sum += millijoules as f64 / 1e3;
        }
        Some(sum)
    }
}

impl Drop for Energy {
    fn drop(&mut self) {
        // SAFETY: takes no arguments; NVML was initialised by `open`, its library is loaded, and nothing uses the handles any more.
        unsafe { (self.shutdown)() };
    }
}

/// CUDA's number of a device.
fn number(device: &Device) -> Option<u32> {
    match device {
        Device::Cuda(number) => Some(*number),
        _ => None,
    }
}

/// NVML's names of CUDA's devices of these numbers. The order of the numbers is that of this process, whose devices they are.
fn names(numbers: &[u32]) -> Option<Vec<CString>> {
    // SAFETY: the library is the driver's; its initialisers ask nothing of who loads it.
    let library = unsafe { Library::new("libcuda.so.1") }.ok()?;
    // SAFETY: the types are those of CUDA's header. The pointers are copied out of the symbols; `library` stays loaded for ever, see below.
    let (init, device, uuid) = unsafe {
        (
            *library.get::<CudaInit>("cuInit").ok()?,
            *library.get::<CudaDevice>("cuDeviceGet").ok()?,
            *library.get::<CudaUuid>("cuDeviceGetUuid_v2").ok()?,
        )
    };
    // The driver starts threads of its own, which need its code: it is never unloaded.
    std::mem::forget(library);
    // SAFETY: may be called again; 0 is the only value that it takes.
    if unsafe { init(0) } != SUCCESS {
        return None;
    }
    let name = |&number: &u32| -> Option<CString> {
        let (mut handle, mut bytes) = (0, Uuid([0; 16]));
        // SAFETY: stores one integer in the local, and refuses a number that no device has.
        if unsafe { device(&mut handle, c_int::try_from(number).ok()?) } != SUCCESS {
            return None;
        }
        // SAFETY: the handle is the driver's; the call stores 16 bytes, the size of the local.
        if unsafe { uuid(&mut bytes, handle) } != SUCCESS {
            return None;
        }
        name_of(bytes)
    };
    numbers.iter().map(name).collect()
}

/// NVML's name of a whole GPU. That of a part of one begins with other letters, so that no GPU is found for it.
fn name_of(Uuid(bytes): Uuid) -> Option<CString> {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|part| &digits[part]);
    CString::new(format!("GPU-{}", parts.join("-"))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches digits in another order, or without their zeros: NVML would not find the GPU.
    #[test]
    fn names_are_those_of_the_management_library() {
        let mut bytes = [0; 16];
        for (byte, value) in bytes.iter_mut().zip([0x0a, 0xbc, 0x01]) {
            *byte = value;
        }
        bytes[15] = 0xff;
        let name = name_of(Uuid(bytes)).expect("no null byte");
        assert_eq!(
            name.to_str(),
            Ok("GPU-0abc0100-0000-0000-0000-0000000000ff")
        );
    }

    /// Catches a sum over other devices than those that are used, and a panic where no driver is.
    #[test]
    fn devices_without_a_counter_have_no_energy() {
        let cases: [&[Device]; 6] = [
            &[],
            &[Device::Cpu],
            &[Device::Metal],
            &[Device::Cuda(4000)],
            &[Device::Cuda(u32::MAX)],
            &[Device::Cpu, Device::Cuda(4000)],
        ];
        for devices in cases {
            assert!(Energy::open(devices).is_none(), "{devices:?}");
        }
        // Where there is a GPU, its counter does not go back.
        if let Some(energy) = Energy::open(&[Device::Cpu, Device::Cuda(0)]) {
            let first = energy.joules().expect("it was told before");
            assert!(energy.joules() >= Some(first));
        }
    }
}
