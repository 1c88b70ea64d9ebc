//! Vectors of x86-64, chosen by what the processor has.

use std::arch::x86_64::*;

use super::{lanes::Lanes, permute_with, write_rows_with, State};
use crate::prelude::F;

/// The field's order.
const P: u32 = 0x7800_0001;
/// The inverse modulo 2^32.
const INVERSE: u32 = 0x8800_0001;

const _: () = assert!(P.wrapping_mul(INVERSE) == 1);

/// Says that this processor has AVX2: made after it was asked alone.
#[derive(Clone, Copy)]
pub(super) struct HasAvx2(());

impl HasAvx2 {
    fn of_this_processor() -> Option<Self> {
        is_x86_feature_detected!("avx2").then_some(Self(()))
    }
}

/// Says that this processor has AVX-512F: made after it was asked alone.
#[derive(Clone, Copy)]
pub(super) struct HasAvx512(());

impl HasAvx512 {
    fn of_this_processor() -> Option<Self> {
        is_x86_feature_detected!("avx512f").then_some(Self(()))
    }
}

/// Vector instructions that this processor has.
#[derive(Clone, Copy)]
pub(super) enum Vectors {
    Avx512(HasAvx512),
    Avx2(HasAvx2),
}

impl Vectors {
    /// The widest ones.
    pub fn of_this_processor() -> Option<Self> {
        let widest = HasAvx512::of_this_processor().map(Self::Avx512);
        widest.or_else(|| HasAvx2::of_this_processor().map(Self::Avx2))
    }

    pub fn permute(self, states: &mut [State]) {
        match self {
            // SAFETY: the permission says that the processor has AVX-512F.
            Self::Avx512(permission) => unsafe { permute_avx512(permission, states) },
            // SAFETY: the permission says that the processor has AVX2.
            Self::Avx2(permission) => unsafe { permute_avx2(permission, states) },
        }
    }

    pub fn write_rows(self, inputs: &[State], cells: &mut [F], width: usize) {
        match self {
            // SAFETY: the permission says that the processor has AVX-512F.
            Self::Avx512(permission) => unsafe {
                write_rows_avx512(permission, inputs, cells, width);
            },
            // SAFETY: the permission says that the processor has AVX2.
            Self::Avx2(permission) => unsafe {
                write_rows_avx2(permission, inputs, cells, width);
            },
        }
    }
}

#[target_feature(enable = "avx2")]
fn permute_avx2(permission: HasAvx2, states: &mut [State]) {
    permute_with::<Avx2>(permission, states);
}

#[target_feature(enable = "avx2")]
fn write_rows_avx2(permission: HasAvx2, inputs: &[State], cells: &mut [F], width: usize) {
    write_rows_with::<Avx2>(permission, inputs, cells, width);
}

#[target_feature(enable = "avx512f")]
fn permute_avx512(permission: HasAvx512, states: &mut [State]) {
    permute_with::<Avx512>(permission, states);
}

#[target_feature(enable = "avx512f")]
fn write_rows_avx512(permission: HasAvx512, inputs: &[State], cells: &mut [F], width: usize) {
    write_rows_with::<Avx512>(permission, inputs, cells, width);
}

/// The word that a field element is kept as: itself times 2^32, below the order.
#[inline(always)]
fn word(x: F) -> u32 {
    // SAFETY: `MontyField31` is `repr(transparent)` over a `u32`.
    unsafe { std::mem::transmute::<F, u32>(x) }
}

/// The field element of a word below the order.
#[inline(always)]
fn element(word: u32) -> F {
    // SAFETY: `MontyField31` is `repr(transparent)` over a `u32`; the caller's word is below the order, as it has to be.
    unsafe { std::mem::transmute::<u32, F>(word) }
}

/// A vector type as [`Lanes`], by the intrinsics of its width. Its values begin with the permission, so a processor on which there is one
/// has the instructions. All is inlined into the functions above, which have them enabled.
macro_rules! lanes {
    ($name:ident, $permission:ty, $vector:ty, $count:expr, $splat:ident, $add:ident, $sub:ident, $min:ident, $mul:ident, $shift:ident, $merge:ident) => {
        /// Words below the order, in lanes of 32 bits.
        #[derive(Clone, Copy)]
        struct $name($vector);

        impl $name {
            #[inline(always)]
            fn words(self) -> [u32; $count] {
                // SAFETY: both are as many bits, and any bits are words.
                unsafe { std::mem::transmute::<$vector, [u32; $count]>(self.0) }
            }
        }

        impl Lanes for $name {
            type Permission = $permission;

            const COUNT: usize = $count;

            #[inline(always)]
            fn gather(_: $permission, states: &[State], i: usize) -> Self {
                let mut words = [0; $count];
                for (word_, state) in words.iter_mut().zip(&states[..$count]) {
                    *word_ = word(state[i]);
                }
                // SAFETY: both are as many bits, and any bits are a vector.
                Self(unsafe { std::mem::transmute::<[u32; $count], $vector>(words) })
            }

            #[inline(always)]
            fn scatter(self, mut to: impl FnMut(usize, F)) {
                for (lane, word) in self.words().into_iter().enumerate() {
                    to(lane, element(word));
                }
            }

            #[inline(always)]
            fn splat(self, x: F) -> Self {
                // SAFETY: this value says that the processor has the instructions.
                Self(unsafe { $splat(word(x) as i32) })
            }

            /// A sum below twice the order, less the order if that is not negative, which as a number without sign is
            /// the smaller of both.
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                // SAFETY: this value says that the processor has the instructions.
                Self(unsafe {
                    let sum = $add(self.0, other.0);
                    $min(sum, $sub(sum, $splat(P as i32)))
                })
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                // SAFETY: this value says that the processor has the instructions.
                Self(unsafe {
                    let difference = $sub(self.0, other.0);
                    $min(difference, $add(difference, $splat(P as i32)))
                })
            }

            /// Montgomery's product: a multiple of the order with the same lower half is taken away, what is left is
            /// the difference of the upper halves. Lanes with even and odd numbers apart.
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                // SAFETY: this value says that the processor has the instructions.
                Self(unsafe {
                    let (order, inverse) = ($splat(P as i32), $splat(INVERSE as i32));
                    let even = $mul(self.0, other.0);
                    let odd = $mul($shift::<32>(self.0), $shift::<32>(other.0));
                    let even_multiple = $mul($mul(even, inverse), order);
                    let odd_multiple = $mul($mul(odd, inverse), order);
                    let upper = $merge($shift::<32>(even), odd);
                    let multiple = $merge($shift::<32>(even_multiple), odd_multiple);
                    let difference = $sub(upper, multiple);
                    $min(difference, $add(difference, order))
                })
            }
        }
    };
}

/// Even lanes of one vector, odd ones of another.
///
/// # Safety
/// The processor has AVX2.
#[inline(always)]
unsafe fn merge_256(even: __m256i, odd: __m256i) -> __m256i {
    // SAFETY: the caller says that the processor has it.
    unsafe { _mm256_blend_epi32::<0b1010_1010>(even, odd) }
}

/// Even lanes of one vector, odd ones of another.
///
/// # Safety
/// The processor has AVX-512F.
#[inline(always)]
unsafe fn merge_512(even: __m512i, odd: __m512i) -> __m512i {
    // SAFETY: the caller says that the processor has it.
    unsafe { _mm512_mask_blend_epi32(0b1010_1010_1010_1010, even, odd) }
}

lanes!(
    Avx2,
    HasAvx2,
    __m256i,
    8,
    _mm256_set1_epi32,
    _mm256_add_epi32,
    _mm256_sub_epi32,
    _mm256_min_epu32,
    _mm256_mul_epu32,
    _mm256_srli_epi64,
    merge_256
);

lanes!(
    Avx512,
    HasAvx512,
    __m512i,
    16,
    _mm512_set1_epi32,
    _mm512_add_epi32,
    _mm512_sub_epi32,
    _mm512_min_epu32,
    _mm512_mul_epu32,
    _mm512_srli_epi64,
    merge_512
);

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// By name, for states and for rows.
    type Kind = (
        &'static str,
        fn(&mut [State]),
        fn(&[State], &mut [F], usize),
    );

    /// Vectors that this processor has.
    pub fn kinds() -> Vec<Kind> {
        let mut kinds: Vec<Kind> = Vec::new();
        if HasAvx2::of_this_processor().is_some() {
            kinds.push((
                "AVX2",
                |states| avx2().permute(states),
                |inputs, cells, width| avx2().write_rows(inputs, cells, width),
            ));
        }
        if HasAvx512::of_this_processor().is_some() {
            kinds.push((
                "AVX-512",
                |states| avx512().permute(states),
                |inputs, cells, width| avx512().write_rows(inputs, cells, width),
            ));
        }
        kinds
    }

    fn avx2() -> Vectors {
        Vectors::Avx2(HasAvx2::of_this_processor().expect("it was asked before"))
    }

    fn avx512() -> Vectors {
        Vectors::Avx512(HasAvx512::of_this_processor().expect("it was asked before"))
    }
}
