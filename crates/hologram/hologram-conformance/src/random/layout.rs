//! Memory that random programs work on: what lies where, and of which type it is.
//!
//! Every byte has one type for all programs, because the bits of a NaN may differ between devices; but for some that accesses of all
//! types share, where no NaN is stored.

use hologram_backends::atlas::{BOUNDARY_BYTES, CLASSES, CLASS_BYTES};
use hologram_backends::{BufferHandle, Ty};

use super::rng::Rng;

/// Handle of the input buffer.
pub const INPUT: u64 = 1;
/// Handle of the output buffer.
pub const OUTPUT: u64 = 2;
/// Handle of the pool that is read.
pub const POOL_IN: u64 = 1;
/// Handle of the pool that is written.
pub const POOL_OUT: u64 = 2;
/// Elements of each type in the inputs.
pub const ELEMENTS: usize = 64;
/// Bytes of the inputs of one type.
const AREA: usize = 8 * ELEMENTS;
/// Place in the inputs of the handles of input, output and boundary pool, and 0.
pub const HANDLES: usize = 12 * AREA;
/// Bytes of the input buffer and of the pool that is read.
pub const INPUT_BYTES: usize = HANDLES + 32;
/// Elements of each type that a lane writes.
pub const SLOTS: usize = 4;
/// Results of transcendental functions of each float type that a lane writes.
pub const LOOSE: usize = 8;
/// Place of the bytes that accesses of all types share, among a lane's.
pub const OVERLAID: usize = 12 * 8 * SLOTS + 2 * 8 * LOOSE;
/// Number of these bytes.
pub const OVERLAID_BYTES: usize = 32;
/// Bytes that a lane writes.
pub const LANE_BYTES: usize = OVERLAID + OVERLAID_BYTES;
/// Bytes from lane to lane: without and with unaligned accesses.
pub const STRIDES: [usize; 2] = [LANE_BYTES, LANE_BYTES + 3];
/// Most lanes of a launch.
pub const MAX_LANES: usize = 384;
/// Bytes of the output buffer and of the pool that is written.
pub const OUTPUT_BYTES: usize = MAX_LANES * STRIDES[1];

/// Place of a type's inputs.
pub fn input(ty: Ty) -> usize {
    usize::from(ty.code()) * AREA
}

/// Place of a type's outputs among a lane's.
pub fn output(ty: Ty) -> usize {
    usize::from(ty.code()) * 8 * SLOTS
}

/// Place of a float type's inexact outputs among a lane's.
pub fn loose(ty: Ty) -> usize {
    12 * 8 * SLOTS + if ty == Ty::F64 { 8 * LOOSE } else { 0 }
}

/// Type of the bytes of a class of the boundary pool.
pub fn class_type(class: u8) -> Ty {
    Ty::ALL[usize::from(class) % 12]
}

/// Contents of the input buffer and of the pool that is read.
pub fn input_bytes() -> Vec<u8> {
    let mut rng = Rng::new(0x1509);
    let mut out = vec![0; INPUT_BYTES];
    for ty in Ty::ALL {
        for i in 0..ELEMENTS {
            put(&mut out, input(ty) + i * ty.size(), ty, rng.value(ty));
        }
    }
    let boundary = BufferHandle::BOUNDARY.raw();
    for (i, handle) in [INPUT, OUTPUT, boundary, 0].into_iter().enumerate() {
        put(&mut out, HANDLES + 8 * i, Ty::U64, handle);
    }
    out
}

/// Contents of the boundary pool.
pub fn boundary_bytes() -> Vec<u8> {
    let mut rng = Rng::new(0x2741);
    let mut out = vec![0; BOUNDARY_BYTES];
    for class in 0..CLASSES {
        let ty = class_type(class);
        let start = usize::from(class) * CLASS_BYTES;
        for at in (start..start + CLASS_BYTES).step_by(ty.size()) {
            put(&mut out, at, ty, rng.value(ty));
        }
    }
    out
}

fn put(out: &mut [u8], at: usize, ty: Ty, bits: u64) {
    out[at..at + ty.size()].copy_from_slice(&bits.to_le_bytes()[..ty.size()]);
}
