//! Profiles by name: the table, and that of the processor at hand.
//!
//! Sources. Working sets of Apple GPUs are two thirds of memory up to 32 GiB and three quarters above; the
//! largest buffer is three quarters of the working set (36 GiB of 64 were seen on an M1 Max, 54 GiB of 96 on an
//! M2 Max, 27 GiB of 48 on an M4 Pro). The hosted runner's figures were seen on `macos-14` and `macos-15`.
//!
//! Rates are modelled. A product on Apple GPUs of the first four generations is 20 cycles of the multiplier of a
//! lane, with 128 lanes in a core and the clock of the chip; bytes are its memory's. Those of the H100 were
//! measured by `openvm-metal bench kernels`.

use std::str::FromStr;

use crate::device_kind::DeviceKind;
use crate::device_profile::{DeviceProfile, Execution, APPLE_THREADS_PER_CORE};
use crate::driver::cpu;
use crate::error::{MetalError, Result};

/// The environment variable that gives the CPU device another device's profile.
pub const DEVICE_PROFILE_VARIABLE: &str = "OPENVM_METAL_DEVICE_PROFILE";
/// The name of the profile of the processor at hand.
const THIS_CPU: &str = "cpu";

const KIB: u32 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const GIGA: u64 = 1_000_000_000;

/// An Apple GPU with the limits that all of them have.
const APPLE: DeviceProfile = DeviceProfile {
    name: "",
    execution: Execution::ManyCore,
    cores: 0,
    threads_per_core: APPLE_THREADS_PER_CORE,
    simd_width: 32,
    max_threads_per_threadgroup: 1024,
    max_threadgroup_memory: 32 * KIB,
    memory: 0,
    working_set: 0,
    budget: 0,
    max_buffer: 0,
    unified: true,
    addresses: true,
    double_precision: false,
    subnormals: false,
    close_functions: false,
    cache: 0,
    matrix_units: true,
    vectors: false,
    products_per_second: 0,
    bytes_per_second: 0,
};

const fn apple(
    name: &'static str,
    cores: u32,
    [memory, working_set, max_buffer]: [u64; 3],
    [products, bytes]: [u64; 2],
) -> DeviceProfile {
    DeviceProfile {
        name,
        cores,
        memory,
        working_set,
        budget: working_set,
        max_buffer,
        products_per_second: products * GIGA,
        bytes_per_second: bytes * GIGA,
        ..APPLE
    }
}

const M1: DeviceProfile = apple("m1-8gb", 8, [8 * GIB, 5461 * MIB, 4096 * MIB], [65, 68]);

const H100: DeviceProfile = DeviceProfile {
    name: "h100-80gb",
    cores: 132,
    threads_per_core: 2048,
    max_threadgroup_memory: 227 * KIB,
    memory: 79 * GIB,
    working_set: 78 * GIB,
    budget: 78 * GIB,
    max_buffer: 79 * GIB,
    unified: false,
    double_precision: true,
    subnormals: true,
    close_functions: true,
    products_per_second: 2_800 * GIGA,
    bytes_per_second: 2_370 * GIGA,
    ..APPLE
};

/// Devices that the CPU device can stand in for.
const PROFILES: &[DeviceProfile] = &[
    M1,
    apple(
        "m2-16gb",
        10,
        [16 * GIB, 10_922 * MIB, 8192 * MIB],
        [89, 102],
    ),
    apple(
        "m2-max-64gb",
        38,
        [64 * GIB, 48 * GIB, 36 * GIB],
        [340, 410],
    ),
    apple(
        "m2-max-96gb",
        38,
        [96 * GIB, 72 * GIB, 54 * GIB],
        [340, 410],
    ),
    // A virtual machine of 7 GB on an M1, whose GPU is of no family of Metal 3.
    DeviceProfile {
        addresses: false,
        ..apple(
            "mac-runner",
            8,
            [7 * GIB, 5 * GIGA, 3_700_000_000],
            [65, 68],
        )
    },
    H100,
];

impl DeviceProfile {
    /// The profile of that name; `cpu` is the processor at hand.
    ///
    /// # Errors
    /// [`MetalError::UnknownDeviceProfile`], which lists the names.
    pub fn named(name: &str) -> Result<Self> {
        let wanted = name.trim().to_ascii_lowercase();
        if wanted == THIS_CPU {
            return Ok(cpu::profile(false));
        }
        PROFILES
            .iter()
            .find(|profile| profile.name == wanted)
            .cloned()
            .ok_or_else(|| MetalError::UnknownDeviceProfile {
                name: name.to_owned(),
                known: Self::names().join(", "),
            })
    }

    /// The names that [`DeviceProfile::named`] knows.
    pub fn names() -> Vec<&'static str> {
        let table = PROFILES.iter().map(|profile| profile.name);
        std::iter::once(THIS_CPU).chain(table).collect()
    }

    /// The profile in `OPENVM_METAL_DEVICE_PROFILE`, if it is set and not empty.
    ///
    /// # Errors
    /// [`MetalError::UnknownDeviceProfile`].
    pub fn from_env() -> Result<Option<Self>> {
        match std::env::var_os(DEVICE_PROFILE_VARIABLE) {
            Some(name) if !name.is_empty() => Self::named(&name.to_string_lossy()).map(Some),
            _ => Ok(None),
        }
    }

    /// Profile that programs assume which are compiled ahead of time for a kind of device: the smallest
    /// Apple GPU, the NVIDIA GPU that is measured, this processor.
    pub fn typical(kind: DeviceKind) -> Self {
        match kind {
            DeviceKind::Metal => M1.clone(),
            DeviceKind::Cuda => H100.clone(),
            DeviceKind::Cpu => cpu::profile(false),
        }
    }
}

impl FromStr for DeviceProfile {
    type Err = MetalError;

    fn from_str(name: &str) -> Result<Self> {
        Self::named(name)
    }
}
