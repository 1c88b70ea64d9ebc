//! Rust types of buffer elements.

use half::{bf16, f16};
use hologram_backends::Ty;

mod sealed {
    /// Keeps [`Element`](super::Element) to types without padding, for which every bit pattern is a value.
    pub trait Sealed {}
}

/// A type that buffers hold: the ten numbers of Rust and two halves.
pub trait Element:
    sealed::Sealed + Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static
{
    /// The type on the device.
    const TY: Ty;

    /// The bits, zero-extended.
    fn to_bits64(self) -> u64;
}

/// An element that operations compute with: all of them. Halves are widened to `f32` and rounded once.
pub trait Number: Element {}

/// A number with a sign.
pub trait Signed: Number {}

/// `f32`, `f64` or a half.
pub trait Float: Signed {}

macro_rules! elements {
    ($($t:ty, $ty:ident, $bits:expr;)*) => {$(
        impl sealed::Sealed for $t {}
        impl Element for $t {
            const TY: Ty = Ty::$ty;
            fn to_bits64(self) -> u64 {
                let bits: fn($t) -> u64 = $bits;
                bits(self)
            }
        }
    )*};
}

elements! {
    i8, I8, |x| u64::from(x as u8);
    i16, I16, |x| u64::from(x as u16);
    i32, I32, |x| u64::from(x as u32);
    i64, I64, |x| x as u64;
    u8, U8, u64::from;
    u16, U16, u64::from;
    u32, U32, u64::from;
    u64, U64, |x| x;
    f16, F16, |x| u64::from(x.to_bits());
    bf16, Bf16, |x| u64::from(x.to_bits());
    f32, F32, |x| u64::from(x.to_bits());
    f64, F64, f64::to_bits;
}

macro_rules! mark {
    ($name:ident: $($t:ty)*) => { $(impl $name for $t {})* };
}

mark!(Number: i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64);
mark!(Signed: i8 i16 i32 i64 f16 bf16 f32 f64);
mark!(Float: f16 bf16 f32 f64);

/// The bytes of a slice.
pub fn as_bytes<T: Element>(slice: &[T]) -> &[u8] {
    // SAFETY: elements are numbers without padding, so their memory is initialised bytes; the length
    // is that of the slice in bytes.
    unsafe { std::slice::from_raw_parts(slice.as_ptr().cast(), std::mem::size_of_val(slice)) }
}

/// The bytes of a slice, writable.
pub fn as_bytes_mut<T: Element>(slice: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`; any bytes are values of the elements.
    unsafe {
        std::slice::from_raw_parts_mut(slice.as_mut_ptr().cast(), std::mem::size_of_val(slice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_and_bytes() {
        assert_eq!((-1i8).to_bits64(), 0xff);
        assert_eq!((-1i64).to_bits64(), u64::MAX);
        assert_eq!(1f32.to_bits64(), 0x3f80_0000);
        assert_eq!(f16::from_f32(1.0).to_bits64(), 0x3c00);
        assert_eq!(as_bytes(&[0x0102u16, 0x0304]), [2, 1, 4, 3]);
        let mut x = [0u32; 2];
        as_bytes_mut(&mut x)[5] = 1;
        assert_eq!(x, [0, 256]);
    }
}
