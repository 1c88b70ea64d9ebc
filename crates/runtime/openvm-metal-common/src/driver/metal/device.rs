//! Finding the GPU, and what is known about it.

use objc2::runtime::ProtocolObject;
use objc2_metal::{MTLCopyAllDevices, MTLCreateSystemDefaultDevice, MTLDevice, MTLGPUFamily};

#[cfg(target_os = "macos")]
use super::cores;
use super::pipeline::{LANGUAGE_NAME, SIMD_WIDTH};
use super::trial;
use super::Device;
use crate::device::DeviceInfo;
use crate::device_kind::DeviceKind;
use crate::device_profile::{DeviceProfile, Execution, APPLE_THREADS_PER_CORE};
use crate::driver::apple::remedy;
use crate::driver::origin::Origin;
use crate::error::{MetalError, Result};

// `MTLCreateSystemDefaultDevice` finds nothing in programs without this framework.
#[link(name = "CoreGraphics", kind = "framework")]
extern "C" {}

/// Families in the order of the report; the newest Apple family that the device supports is named.
const APPLE_FAMILIES: [(MTLGPUFamily, &str); 7] = [
    (MTLGPUFamily::Apple10, "Apple10"),
    (MTLGPUFamily::Apple9, "Apple9"),
    (MTLGPUFamily::Apple8, "Apple8"),
    (MTLGPUFamily::Apple7, "Apple7"),
    (MTLGPUFamily::Apple6, "Apple6"),
    (MTLGPUFamily::Apple5, "Apple5"),
    (MTLGPUFamily::Apple4, "Apple4"),
];
const OTHER_FAMILIES: [(MTLGPUFamily, &str); 3] = [
    (MTLGPUFamily::Mac2, "Mac2"),
    (MTLGPUFamily::Metal3, "Metal3"),
    (MTLGPUFamily::Metal4, "Metal4"),
];

/// Families whose buffers have an address that kernels may compute with (`gpuAddress` of Metal 3) and whose pointers are such
/// addresses: an Apple GPU, of a system and with a driver that know of Metal 3. Virtual machines name neither.
const ADDRESSES: [MTLGPUFamily; 2] = [MTLGPUFamily::Apple7, MTLGPUFamily::Metal3];
/// The first family with SIMD-group matrices: that of the M1.
const SIMDGROUP_MATRICES: MTLGPUFamily = MTLGPUFamily::Apple7;

/// Products of 31-bit words a second of a core with the clock of an M1: 128 lanes at 1.278 GHz, 20 cycles each.
const PRODUCTS_PER_CORE: u64 = 8_180_000_000;
/// Bytes a second for each core: 8.5 G on an M1, up to 15 G on later chips.
const BYTES_PER_CORE: u64 = 8_500_000_000;
/// Number of cores, by which grids are sized, where the system does not tell it.
const COMMON_CORES: u32 = 16;

/// The system's GPU.
pub(super) fn find() -> Result<Device> {
    let unavailable = |reason: String| MetalError::DeviceUnavailable {
        device: DeviceKind::Metal,
        reason,
    };
    // Some systems list a device where they give no default one.
    let device = MTLCreateSystemDefaultDevice()
        .or_else(|| MTLCopyAllDevices().firstObject())
        .ok_or_else(|| unavailable(remedy::NO_DEVICE.into()))?;
    // Grids by threads cut the last threadgroup short. Virtual machines may name fewer families than they can do.
    let cuts_short = [MTLGPUFamily::Apple4, MTLGPUFamily::Mac2];
    if cuts_short.iter().any(|&f| device.supportsFamily(f)) {
        return Ok(device);
    }
    match trial::cuts_grids(&device) {
        Ok(true) => Ok(device),
        Ok(false) => Err(unavailable(format!(
            "{} runs threads beyond the end of a grid",
            device.name()
        ))),
        Err(reason) => Err(unavailable(format!(
            "{} is of no GPU family that is known to cut grids short (Apple4, Mac2): {reason}",
            device.name()
        ))),
    }
}

/// The families that the device belongs to.
pub(super) fn families(device: &ProtocolObject<dyn MTLDevice>) -> String {
    let newest = APPLE_FAMILIES
        .iter()
        .find(|(family, _)| device.supportsFamily(*family));
    let others = OTHER_FAMILIES
        .iter()
        .filter(|(family, _)| device.supportsFamily(*family));
    let names: Vec<&str> = newest.into_iter().chain(others).map(|f| f.1).collect();
    match names.is_empty() {
        true => "no known family".into(),
        false => names.join(" "),
    }
}

/// Facts that plans depend on, known before anything has run.
pub(super) fn profile(device: &Device, budget: Option<u64>) -> DeviceProfile {
    let memory = physical_memory();
    // Virtual machines may know of none.
    let working_set = match device.recommendedMaxWorkingSetSize() {
        0 => memory.unwrap_or_default() / 2,
        bytes => bytes,
    };
    let most = device.maxThreadsPerThreadgroup();
    let cores = cores().unwrap_or(COMMON_CORES);
    DeviceProfile {
        name: "metal",
        execution: Execution::ManyCore,
        cores,
        threads_per_core: APPLE_THREADS_PER_CORE,
        // Every Apple GPU; a pipeline that differs is refused when it is made.
        simd_width: SIMD_WIDTH,
        max_threads_per_threadgroup: most.width as u32,
        max_threadgroup_memory: device.maxThreadgroupMemoryLength() as u32,
        memory: memory.unwrap_or(working_set),
        working_set,
        budget: budget.unwrap_or(working_set),
        max_buffer: device.maxBufferLength() as u64,
        unified: device.hasUnifiedMemory(),
        addresses: ADDRESSES.iter().all(|&f| device.supportsFamily(f)),
        double_precision: false,
        subnormals: false,
        close_functions: false,
        cache: 0,
        matrix_units: device.supportsFamily(SIMDGROUP_MATRICES),
        vectors: false,
        products_per_second: u64::from(cores) * PRODUCTS_PER_CORE,
        bytes_per_second: u64::from(cores) * BYTES_PER_CORE,
    }
}

/// Facts about the device, with the origin of its kernels.
pub(super) fn info(device: &Device, profile: DeviceProfile, origin: &Origin) -> DeviceInfo {
    DeviceInfo {
        name: device.name().to_string(),
        kind: DeviceKind::Metal,
        detail: format!("Metal {LANGUAGE_NAME}, {}, {origin}", families(device)),
        conformance: false,
        profile,
    }
}

#[cfg(target_os = "macos")]
fn cores() -> Option<u32> {
    cores::count()
}

#[cfg(not(target_os = "macos"))]
fn cores() -> Option<u32> {
    None
}

/// `hw.memsize`.
fn physical_memory() -> Option<u64> {
    let mut bytes = 0u64;
    let mut len = size_of::<u64>();
    // SAFETY: the name is a C string, the value pointer and its length describe `bytes`.
    let status = unsafe {
        libc::sysctlbyname(
            c"hw.memsize".as_ptr(),
            std::ptr::from_mut(&mut bytes).cast(),
            &mut len,
            std::ptr::null_mut(),
            0,
        )
    };
    (status == 0).then_some(bytes)
}

/// `kern.osversion`, the build of the operating system: compiler and GPU driver change with it.
pub(super) fn system_build() -> String {
    let mut text = [0u8; 64];
    let mut len = text.len();
    // SAFETY: the name is a C string, the value pointer and its length describe `text`.
    let status = unsafe {
        libc::sysctlbyname(
            c"kern.osversion".as_ptr(),
            text.as_mut_ptr().cast(),
            &mut len,
            std::ptr::null_mut(),
            0,
        )
    };
    let known = text.get(..len).filter(|_| status == 0).unwrap_or_default();
    let known = String::from_utf8_lossy(known);
    match known.trim_end_matches('\0') {
        "" => "unknown".into(),
        build => build.into(),
    }
}
