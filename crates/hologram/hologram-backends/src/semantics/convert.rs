//! Conversions between all pairs of types.

use super::{Scalar, Wide};

/// `src` as another type: integers truncate or extend, floats to integers truncate and saturate (NaN
/// gives 0), all else is rounded once to the nearest, halves to even.
///
/// A conversion to the same type keeps the bits, but for the payload of NaNs of the 16-bit floats.
#[inline(always)]
pub fn convert<S: Scalar, D: Scalar>(src: S) -> D {
    D::narrow(src.widen())
}

/// An `f32` that rounds to a 16-bit float as `value` itself does: of values between two `f32` the one
/// whose last bit is set, so that no tie appears that was none.
#[inline(always)]
pub(super) fn to_odd(value: Wide) -> f32 {
    match value {
        Wide::F32(x) => x,
        Wide::F64(x) => f64_to_odd(x),
        Wide::Uint(x) => f64_to_odd(u64_to_odd(x)),
        Wide::Int(x) => {
            let magnitude = f64_to_odd(u64_to_odd(x.unsigned_abs()));
            if x < 0 {
                -magnitude
            } else {
                magnitude
            }
        }
    }
}

/// Exact below 2^53; beyond, the bits that do not fit are gathered in the last one.
fn u64_to_odd(x: u64) -> f64 {
    if x < 1 << 53 {
        x as f64
    } else {
        let lost = u64::from(x & 0x7ff != 0);
        ((x >> 11) | lost) as f64 * 2048.0
    }
}

fn f64_to_odd(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) == x || x.is_nan() {
        return near;
    }
    let bits = near.to_bits();
    let towards_zero = if f64::from(near).abs() > x.abs() {
        bits - 1
    } else {
        bits
    };
    f32::from_bits(towards_zero | 1)
}
