//! One state in two vectors of eight 64-bit lanes.
//!
//! Words are in Montgomery form (R = 2^32), as in memory, but signed and only loosely reduced: a product takes factors below 2^31 in
//! size and leaves less than 1.04 p, sums are taken in 64 bits without reductions, and one estimate of a quotient brings a sum of up to
//! 2^37 back to what a product takes.
//!
//! In the internal rounds element 0 is a word of its own. The others are `Y + sigma` with `Y` in vectors and one scalar `sigma`, the sum that the
//! round before added to all of them. The products `D (Y + sigma)` and their sum begin before the S-box of the round, so that a round takes the time of its S-box.

use std::arch::{asm, x86_64::*};
use std::sync::LazyLock;

use p3_baby_bear::{
    BABYBEAR_RC16_EXTERNAL_FINAL, BABYBEAR_RC16_EXTERNAL_INITIAL, BABYBEAR_RC16_INTERNAL,
};
use p3_field::PrimeField32;

use super::{
    internal_diagonal,
    lanes::{add, external, sum_of, Lanes},
};
use crate::prelude::{montgomery, F, WIDTH};

const P: i64 = F::ORDER_U32 as i64;
/// -p^-1 modulo 2^32.
const MINUS_P_INVERSE: u32 = 0x77ff_ffff;
/// 2^42 / p, rounded: quotients of sums without their last 26 bits.
const QUOTIENT: i64 = ((1 << 42) + P / 2) / P;
const INTERNAL_ROUNDS: usize = 13;
const HALF_ROUNDS: usize = 4;

/// Constants as the rounds add them: Montgomery words minus p.
struct Tables {
    external: [[i64; WIDTH]; 2 * HALF_ROUNDS],
    internal: [i64; INTERNAL_ROUNDS],
    /// The diagonal of the internal matrix beyond element 0, whose place is zero; below p / 2 in size.
    diagonal: [i64; WIDTH],
}

fn less_p(constant: F) -> i64 {
    i64::from(montgomery(constant)) - P
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let halves = [BABYBEAR_RC16_EXTERNAL_INITIAL, BABYBEAR_RC16_EXTERNAL_FINAL];
    Tables {
        external: std::array::from_fn(|r| halves[r / HALF_ROUNDS][r % HALF_ROUNDS].map(less_p)),
        internal: BABYBEAR_RC16_INTERNAL.map(less_p),
        diagonal: internal_diagonal().map(|d| match i64::from(montgomery(d)) {
            word if word > P / 2 => word - P,
            word => word,
        }),
    }
});

/// Permutes states; there is one only where the processor has AVX-512.
#[derive(Clone)]
pub(crate) struct Permuter {
    tables: &'static Tables,
}

impl std::fmt::Debug for Permuter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permuter(AVX-512)")
    }
}

impl Permuter {
    /// `None` on processors without AVX-512.
    pub fn new() -> Option<Self> {
        is_x86_feature_detected!("avx512f").then(|| Self { tables: &TABLES })
    }

    /// Replaces a state by its image.
    pub fn permute(&self, state: &mut [F; WIDTH]) {
        // SAFETY: `new` found AVX-512.
        unsafe { permute(self.tables, state) }
    }
}

/// The same, of which the compiler knows nothing: else it takes products of low halves for whole ones and makes three of each.
#[inline]
#[target_feature(enable = "avx512f")]
fn opaque(mut x: __m512i) -> __m512i {
    // SAFETY: no instruction.
    unsafe { asm!("/* {0} */", inout(zmm_reg) x, options(pure, nomem, nostack, preserves_flags)) };
    x
}

/// t 2^-32 modulo p for |t| < 2^63 - 2^31 p, below |t| / 2^32 + p / 2 in size.
#[inline]
#[target_feature(enable = "avx512f")]
fn montgomery_reduced(t: __m512i) -> __m512i {
    let t = opaque(t);
    let quotient = _mm512_mul_epi32(t, _mm512_set1_epi64(i64::from(MINUS_P_INVERSE as i32)));
    let multiple = _mm512_mul_epi32(opaque(quotient), _mm512_set1_epi64(P));
    opaque(_mm512_srai_epi64::<32>(_mm512_add_epi64(t, multiple)))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn product(a: __m512i, b: __m512i) -> __m512i {
    montgomery_reduced(_mm512_mul_epi32(a, b))
}

/// x^7.
#[inline]
#[target_feature(enable = "avx512f")]
fn seventh_power(x: __m512i) -> __m512i {
    let x2 = product(x, x);
    product(product(x2, x), product(x2, x2))
}

/// A multiple of p that `x` exceeds by -0.01 p to 1.05 p, for |x| below 2^37.
#[inline]
#[target_feature(enable = "avx512f")]
fn multiple_below(x: __m512i) -> __m512i {
    let quotient = _mm512_mul_epi32(_mm512_srai_epi64::<26>(x), _mm512_set1_epi64(QUOTIENT));
    _mm512_mul_epi32(_mm512_srai_epi64::<16>(quotient), _mm512_set1_epi64(P))
}

/// A sum of up to 32 words less its [`multiple_below`].
#[inline]
fn reduced(x: i64) -> i64 {
    x - ((((x >> 26) * QUOTIENT) >> 16) * P)
}

#[inline]
fn scalar_product(a: i64, b: i64) -> i64 {
    let t = a * b;
    let quotient = (t as u32).wrapping_mul(MINUS_P_INVERSE) as i32;
    (t + i64::from(quotient) * P) >> 32
}

#[target_feature(enable = "avx512f")]
fn permute(tables: &Tables, state: &mut [F; WIDTH]) {
    let words: *mut F = state.as_mut_ptr();
    // SAFETY: an element of BabyBear is one 32-bit word, in Montgomery form; two loads of eight of the sixteen.
    let mut x = unsafe {
        Lanes {
            low: _mm512_cvtepu32_epi64(_mm256_loadu_si256(words.cast())),
            high: _mm512_cvtepu32_epi64(_mm256_loadu_si256(words.add(8).cast())),
        }
    };
    for (round, constants) in tables.external.iter().enumerate() {
        let mut y = external(x);
        if round == HALF_ROUNDS {
            y = internal_rounds(y, tables);
        }
        let sum = add(y, Lanes::of(constants));
        x = Lanes {
            low: seventh_power(_mm512_sub_epi64(sum.low, multiple_below(y.low))),
            high: seventh_power(_mm512_sub_epi64(sum.high, multiple_below(y.high))),
        };
    }
    let y = external(x).map(|y| {
        let y = _mm512_sub_epi64(y, multiple_below(y));
        // Of y, y - p and y + p as unsigned words the least is the one in 0..p.
        let p = _mm512_set1_epi64(P);
        let above = _mm512_min_epu64(y, _mm512_add_epi64(y, p));
        _mm512_min_epu64(above, _mm512_sub_epi64(y, p))
    });
    // SAFETY: as for the loads; the words are below p.
    unsafe {
        _mm256_storeu_si256(words.cast(), _mm512_cvtepi64_epi32(y.low));
        _mm256_storeu_si256(words.add(8).cast(), _mm512_cvtepi64_epi32(y.high));
    }
}

/// All internal rounds on words below 2^37; the result is as small.
#[inline]
#[target_feature(enable = "avx512f")]
fn internal_rounds(x: Lanes, tables: &Tables) -> Lanes {
    let diagonal = Lanes::of(&tables.diagonal);
    let x = x.map(|x| _mm512_sub_epi64(x, multiple_below(x)));
    // Element 0 leaves the vectors, and lane 0 is zero.
    let mut first = _mm_cvtsi128_si64(_mm512_castsi512_si128(x.low));
    let mut y = Lanes {
        low: _mm512_maskz_mov_epi64(0xfe, x.low),
        high: x.high,
    };
    let mut sigma = 0i64;
    let mut tail = reduced(sum_of(y));
    for &constant in &tables.internal {
        // What becomes of the others but for the sum that this round adds to all of them.
        let added = _mm512_set1_epi64(sigma);
        let scaled = |y: __m512i, d: __m512i| {
            let t = _mm512_add_epi64(_mm512_mul_epi32(y, d), _mm512_mul_epi32(added, d));
            montgomery_reduced(t)
        };
        y = Lanes {
            low: scaled(y.low, diagonal.low),
            high: scaled(y.high, diagonal.high),
        };
        let others = sum_of(y);
        let x1 = reduced(first) + constant;
        let x2 = scalar_product(x1, x1);
        let power = scalar_product(scalar_product(x2, x1), scalar_product(x2, x2));
        first = tail - power;
        sigma = reduced(tail + power);
        tail = reduced(others + 15 * sigma);
    }
    let added = _mm512_set1_epi64(sigma);
    let first = _mm512_zextsi128_si512(_mm_cvtsi64_si128(first));
    Lanes {
        low: _mm512_add_epi64(
            _mm512_add_epi64(y.low, _mm512_maskz_mov_epi64(0xfe, added)),
            first,
        ),
        high: _mm512_add_epi64(y.high, added),
    }
}
