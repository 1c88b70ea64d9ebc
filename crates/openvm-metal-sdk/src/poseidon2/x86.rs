//! Vectors of x86-64, chosen by what the processor has.

use std::arch::x86_64::*;

use super::{lanes::Lanes, permute_with, write_rows_with, State};
use crate::prelude::F;

/// The field's order.
const P: u32 = 0x7800_0001;
/// Its inverse modulo 2^32.
const INVERSE: u32 = 0x8800_0001;

const _: () = assert!(P.wrapping_mul(INVERSE) == 1);

/// Vector instructions that this processor has: made only after it was asked.
#[derive(Clone, Copy)]
pub(super) struct Vectors(Kind);

#[derive(Clone, Copy)]
enum Kind {
    Avx512,
    Avx2,
}

impl Vectors {
    /// The widest ones.
    pub fn of_this_processor() -> Option<Self> {
        if is_x86_feature_detected!("avx512f") {
            Some(Self(Kind::Avx512))
        } else if is_x86_feature_detected!("avx2") {
            Some(Self(Kind::Avx2))
        } else {
            None
        }
    }

    pub fn permute(self, states: &mut [State]) {
        match self.0 {
            // SAFETY: this value says that the processor has AVX-512F.
            Kind::Avx512 => unsafe { permute_avx512(states) },
            // SAFETY: this value says that the processor has AVX2.
            Kind::Avx2 => unsafe { permute_avx2(states) },
        }
    }

    pub fn write_rows(self, inputs: &[State], cells: &mut [F], width: usize) {
        match self.0 {
            // SAFETY: this value says that the processor has AVX-512F.
            Kind::Avx512 => unsafe { write_rows_avx512(inputs, cells, width) },
            // SAFETY: this value says that the processor has AVX2.
            Kind::Avx2 => unsafe { write_rows_avx2(inputs, cells, width) },
        }
    }
}

#[target_feature(enable = "avx2")]
fn permute_avx2(states: &mut [State]) {
    permute_with::<Avx2>(states);
}

#[target_feature(enable = "avx2")]
fn write_rows_avx2(inputs: &[State], cells: &mut [F], width: usize) {
    write_rows_with::<Avx2>(inputs, cells, width);
}

#[target_feature(enable = "avx512f")]
fn permute_avx512(states: &mut [State]) {
    permute_with::<Avx512>(states);
}

#[target_feature(enable = "avx512f")]
fn write_rows_avx512(inputs: &[State], cells: &mut [F], width: usize) {
    write_rows_with::<Avx512>(inputs, cells, width);
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

/// A vector type as [`Lanes`], by the intrinsics of its width. Its values are made in functions with the instructions
/// enabled only: those of [`Vectors`] and the tests, into which everything here is inlined.
macro_rules! lanes {
    ($name:ident, $vector:ty, $count:expr, $splat:ident, $add:ident, $sub:ident, $min:ident, $mul:ident, $shift:ident, $merge:ident) => {
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
            const COUNT: usize = $count;

            #[inline(always)]
            fn gather(states: &[State], i: usize) -> Self {
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
            fn splat(x: F) -> Self {
                // SAFETY: the caller has the instructions enabled.
                Self(unsafe { $splat(word(x) as i32) })
            }

            /// A sum below twice the order, less the order if that is not negative, which as a number without sign is
            /// the smaller of both.
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions enabled.
                Self(unsafe {
                    let sum = $add(self.0, other.0);
                    $min(sum, $sub(sum, $splat(P as i32)))
                })
            }

            #[inline(always)]
            fn minus(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions enabled.
                Self(unsafe {
                    let difference = $sub(self.0, other.0);
                    $min(difference, $add(difference, $splat(P as i32)))
                })
            }

            /// Montgomery's product: a multiple of the order with the same lower half is taken away, what is left is
            /// the difference of the upper halves. Lanes with even and odd numbers apart.
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions enabled.
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
#[inline(always)]
unsafe fn merge_256(even: __m256i, odd: __m256i) -> __m256i {
    // SAFETY: the caller has AVX2 enabled.
    unsafe { _mm256_blend_epi32::<0b1010_1010>(even, odd) }
}

/// Even lanes of one vector, odd ones of another.
#[inline(always)]
unsafe fn merge_512(even: __m512i, odd: __m512i) -> __m512i {
    // SAFETY: the caller has AVX-512F enabled.
    unsafe { _mm512_mask_blend_epi32(0b1010_1010_1010_1010, even, odd) }
}

lanes!(
    Avx2,
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
        if is_x86_feature_detected!("avx2") {
            kinds.push((
                "AVX2",
                |states| Vectors(super::Kind::Avx2).permute(states),
                |inputs, cells, width| {
                    Vectors(super::Kind::Avx2).write_rows(inputs, cells, width);
                },
            ));
        }
        if is_x86_feature_detected!("avx512f") {
            kinds.push((
                "AVX-512",
                |states| Vectors(super::Kind::Avx512).permute(states),
                |inputs, cells, width| {
                    Vectors(super::Kind::Avx512).write_rows(inputs, cells, width);
                },
            ));
        }
        kinds
    }
}
