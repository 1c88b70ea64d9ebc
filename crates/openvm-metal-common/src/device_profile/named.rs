//! The table of named profiles.
//!
//! Sources. Working sets of Apple GPUs are two thirds of memory up to 32 GiB and three quarters above; the
//! largest buffer is three quarters of the working set (36 GiB of 64 were seen on an M1 Max, 54 GiB of 96 on an
//! M2 Max, 27 GiB of 48 on an M4 Pro). The hosted runner's figures were seen on `macos-14` and `macos-15`.
//!
//! Rates are modelled. A product on Apple GPUs of the first four generations is 20 cycles of the multiplier of a
//! lane, with 128 lanes in a core and the clock of the chip; bytes are its memory's. Those of the H100 were
//! measured by `openvm-metal bench kernels`.

use super::{DeviceProfile, Execution};

const KIB: u32 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const GIGA: u64 = 1_000_000_000;
/// Codewords that many-core devices keep.
pub(crate) const KEPT_CODEWORDS: u64 = 256 * MIB;
/// Threads in flight on an Apple core while they need at most 104 half-registers.
pub(crate) const APPLE_THREADS_PER_CORE: u32 = 1024;

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
    double_precision: false,
    cache: 0,
    max_kept_codewords: KEPT_CODEWORDS,
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

pub(super) const M1: DeviceProfile =
    apple("m1-8gb", 8, [8 * GIB, 5461 * MIB, 4096 * MIB], [65, 68]);

pub(super) const H100: DeviceProfile = DeviceProfile {
    name: "h100-80gb",
    cores: 132,
    threads_per_core: 2048,
    max_threadgroup_memory: 48 * KIB,
    memory: 79 * GIB,
    working_set: 78 * GIB,
    budget: 78 * GIB,
    max_buffer: 79 * GIB,
    unified: false,
    double_precision: true,
    products_per_second: 2_800 * GIGA,
    bytes_per_second: 2_370 * GIGA,
    ..APPLE
};

/// Devices that the CPU device can stand in for.
pub(super) const PROFILES: &[DeviceProfile] = &[
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
    // A virtual machine of 7 GB on an M1.
    apple(
        "mac-runner",
        8,
        [7 * GIB, 5 * GIGA, 3_700_000_000],
        [65, 68],
    ),
    H100,
];
