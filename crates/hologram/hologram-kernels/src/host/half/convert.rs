//! Values of half floats, and values rounded to them.

use crate::Ty;

/// Format of 16 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::host) enum Format {
    /// IEEE binary16.
    F16,
    /// The upper half of a binary32.
    Bf16,
}

impl Format {
    /// The format of a type, if it is a half.
    pub fn of(ty: Ty) -> Option<Self> {
        match ty {
            Ty::F16 => Some(Self::F16),
            Ty::Bf16 => Some(Self::Bf16),
            _ => None,
        }
    }

    /// The number that the low 16 bits stand for.
    pub fn value(self, bits: u64) -> f32 {
        match self {
            Self::F16 => f16_value(bits as u16),
            Self::Bf16 => bf16_value(bits as u16),
        }
    }

    /// The bits of a number rounded to nearest, halves to even.
    pub fn bits(self, value: f32) -> u16 {
        match self {
            Self::F16 => f16_bits(value),
            Self::Bf16 => bf16_bits(value),
        }
    }

    /// `dst[i]` = the value of `src[i]`.
    ///
    /// # Safety
    /// `src` is valid for reads of as many elements as `dst` has, and nobody writes them meanwhile.
    pub unsafe fn widen(self, src: *const u16, dst: &mut [f32]) {
        // SAFETY: the caller's promise.
        let src = unsafe { std::slice::from_raw_parts(src, dst.len()) };
        match self {
            Self::Bf16 => each(src, dst, bf16_value),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the features.
            Self::F16 if x86::is_here() => unsafe { x86::widen(src, dst) },
            Self::F16 => each(src, dst, f16_value),
        }
    }

    /// `dst[i]` = `src[i]` rounded.
    ///
    /// # Safety
    /// `dst` is valid for writes of as many elements as `src` has, and nobody else uses them meanwhile.
    pub unsafe fn narrow(self, src: &[f32], dst: *mut u16) {
        // SAFETY: the caller's promise.
        let dst = unsafe { std::slice::from_raw_parts_mut(dst, src.len()) };
        match self {
            Self::Bf16 => each(src, dst, bf16_bits),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the processor has the features.
            Self::F16 if x86::is_here() => unsafe { x86::narrow(src, dst) },
            Self::F16 => each(src, dst, f16_bits),
        }
    }
}

/// `dst[i]` = `convert(src[i])`.
#[inline(always)]
fn each<A: Copy, B>(src: &[A], dst: &mut [B], convert: impl Fn(A) -> B) {
    for (y, &x) in dst.iter_mut().zip(src) {
        *y = convert(x);
    }
}

/// The value of an IEEE half.
#[inline(always)]
pub(in crate::host) fn f16_value(bits: u16) -> f32 {
    /// 2^112: the exponent's bias is that much smaller.
    const SCALE: f32 = f32::from_bits((127 + 112) << 23);
    let magnitude = (u32::from(bits) & 0x7fff) << 13;
    // Exact, also for what is subnormal.
    let scaled = (f32::from_bits(magnitude) * SCALE).to_bits();
    // Infinities and NaNs have all bits of the exponent set.
    let special = if magnitude >= 0x0f80_0000 {
        0x7f80_0000
    } else {
        0
    };
    f32::from_bits(scaled | special | (u32::from(bits) & 0x8000) << 16)
}

/// The IEEE half nearest to a value.
#[inline(always)]
pub(in crate::host) fn f16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Adding half the last place, less one where the result would be odd anyway; the exponent's bias changes.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_add(0xc800_0fff + odd) >> 13;
    // Below 2^-14 the places of a half are those of 0.5 .. 1 as a single.
    let small = (f32::from_bits(magnitude) + 0.5)
        .to_bits()
        .wrapping_sub(0x3f00_0000);
    let rounded = if magnitude < 0x3880_0000 {
        small
    } else {
        normal
    };
    let rounded = if magnitude >= 0x4780_0000 {
        0x7c00
    } else {
        rounded
    };
    let rounded = if magnitude > 0x7f80_0000 {
        0x7e00
    } else {
        rounded
    };
    (rounded | (bits >> 16) & 0x8000) as u16
}

/// The value of an upper half of a single.
#[inline(always)]
pub(in crate::host) fn bf16_value(bits: u16) -> f32 {
    f32::from_bits(u32::from(bits) << 16)
}

/// The upper half of a single that is nearest to a value.
#[inline(always)]
pub(in crate::host) fn bf16_bits(value: f32) -> u16 {
    let bits = value.to_bits();
    let rounded = bits.wrapping_add(0x7fff + (bits >> 16 & 1)) >> 16;
    let quiet = bits >> 16 | 0x40;
    let nan = bits & 0x7fff_ffff > 0x7f80_0000;
    (if nan { quiet } else { rounded }) as u16
}

/// The processor's own conversions, eight at a time.
#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        _mm256_cvtph_ps, _mm256_cvtps_ph, _mm256_loadu_ps, _mm256_storeu_ps, _mm_loadu_si128,
        _mm_storeu_si128, _MM_FROUND_TO_NEAREST_INT,
    };

    /// True if this CPU has them.
    pub fn is_here() -> bool {
        std::arch::is_x86_feature_detected!("f16c") && std::arch::is_x86_feature_detected!("avx")
    }

    /// # Safety
    /// The processor has the features.
    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn widen(src: &[u16], dst: &mut [f32]) {
        let (src, src_rest) = src.as_chunks::<8>();
        let (dst, dst_rest) = dst.as_chunks_mut::<8>();
        for (x, y) in src.iter().zip(dst) {
            // SAFETY: arrays of eight elements.
            unsafe {
                let bits = _mm_loadu_si128(x.as_ptr().cast());
                _mm256_storeu_ps(y.as_mut_ptr(), _mm256_cvtph_ps(bits));
            }
        }
        super::each(src_rest, dst_rest, super::f16_value);
    }

    /// # Safety
    /// The processor has the features.
    #[target_feature(enable = "avx,f16c")]
    pub unsafe fn narrow(src: &[f32], dst: &mut [u16]) {
        let (src, src_rest) = src.as_chunks::<8>();
        let (dst, dst_rest) = dst.as_chunks_mut::<8>();
        for (x, y) in src.iter().zip(dst) {
            // SAFETY: arrays of eight elements.
            unsafe {
                let value = _mm256_loadu_ps(x.as_ptr());
                let bits = _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(value);
                _mm_storeu_si128(y.as_mut_ptr().cast(), bits);
            }
        }
        super::each(src_rest, dst_rest, super::f16_bits);
    }
}
