//! One state in two vectors of eight 64-bit lanes, for processors whose vectors multiply 52-bit integers (AVX-512 IFMA).
//!
//! A product of two lanes is reduced by 2^-52. Factors up to 2^37 leave a word in `(0, p + 2^22]`, so no sum of the external matrix has
//! to be reduced before its S-box. What a state is a multiple of ("its scale") is `2^32` in memory, changes with every
//! external round, and is brought back by a product: the round constants are scaled alike.
//!
//! In the internal rounds the scale is `2^32`. Element 0 is a signed word of its own; the others are `Y + sigma` with `Y` in vectors and one
//! scalar `sigma`, the sum that the round before added to all of them. The products `D (Y + sigma)` and their sum begin before the S-box of
//! the round, so that a round takes the time of its S-box.

use std::arch::x86_64::*;
use std::sync::LazyLock;

use p3_baby_bear::{
    BABYBEAR_RC16_EXTERNAL_FINAL, BABYBEAR_RC16_EXTERNAL_INITIAL, BABYBEAR_RC16_INTERNAL,
};
use p3_field::{Field, PrimeCharacteristicRing, PrimeField32};

use super::{
    internal_diagonal,
    lanes::{add, external, sum_of, Lanes},
};
use crate::prelude::{F, WIDTH};

const P: i64 = F::ORDER_U32 as i64;
/// p^-1 modulo 2^64, and so modulo 2^52.
const P_INVERSE: i64 = inverse(P);
/// 2^48 / p, rounded: quotients of sums without their last 16 bits.
const QUOTIENT: i64 = ((1 << 48) + P / 2) / P;
const INTERNAL_ROUNDS: usize = 13;
const HALF_ROUNDS: usize = 4;
/// Summand that makes `sigma` positive, which is above -2.3 p.
const OFFSET: i64 = 3 * P;

/// The inverse of an odd number modulo 2^64: each step doubles the bits that are right.
const fn inverse(odd: i64) -> i64 {
    let (mut x, mut step) = (odd, 0);
    while step < 6 {
        x = x.wrapping_mul(2i64.wrapping_sub(odd.wrapping_mul(x)));
        step += 1;
    }
    x
}

/// Words below p.
struct Tables {
    /// Constants in the scale of their round.
    external: [[i64; WIDTH]; 2 * HALF_ROUNDS],
    /// Constants in scale 2^32, and a zero.
    internal: [i64; INTERNAL_ROUNDS + 1],
    /// The diagonal of the internal matrix times 2^52; zero for element 0.
    diagonal: [i64; WIDTH],
    /// Times it, the scale after [`HALF_ROUNDS`] external rounds is 2^32 again.
    rescale: i64,
}

static TABLES: LazyLock<Tables> = LazyLock::new(|| {
    let word = |x: F| i64::from(x.as_canonical_u32());
    let (memory, radix) = (F::TWO.exp_u64(32), F::TWO.exp_u64(52));
    // An S-box is six products: of scale s it leaves s^7 / 2^(6 52).
    let next = |scale: F| scale.exp_u64(7) * radix.inverse().exp_u64(6);
    let scales: Vec<F> = std::iter::successors(Some(memory), |&s| Some(next(s)))
        .take(HALF_ROUNDS + 1)
        .collect();
    let halves = [BABYBEAR_RC16_EXTERNAL_INITIAL, BABYBEAR_RC16_EXTERNAL_FINAL];
    let mut internal = [0; INTERNAL_ROUNDS + 1];
    for (word_of, c) in internal.iter_mut().zip(BABYBEAR_RC16_INTERNAL) {
        *word_of = word(c * memory);
    }
    Tables {
        external: std::array::from_fn(|r| {
            let round = r % HALF_ROUNDS;
            halves[r / HALF_ROUNDS][round].map(|c| word(c * scales[round]))
        }),
        internal,
        diagonal: internal_diagonal().map(|d| word(d * radix)),
        rescale: word(memory * radix * scales[HALF_ROUNDS].inverse()),
    }
});

/// Permutes states; there is one only where the processor has AVX-512 IFMA.
#[derive(Clone)]
pub(crate) struct Permuter {
    tables: &'static Tables,
}

impl std::fmt::Debug for Permuter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Permuter(AVX-512 IFMA)")
    }
}

impl Permuter {
    /// `None` on processors without AVX-512 IFMA.
    pub fn new() -> Option<Self> {
        (is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512ifma"))
            .then(|| Self { tables: &TABLES })
    }

    /// Replaces a state by its image.
    pub fn permute(&self, state: &mut [F; WIDTH]) {
        // SAFETY: `new` found both.
        unsafe { permute(self.tables, state) }
    }
}

/// `a b 2^-52` modulo p for factors from 0 to 2^52, in `(0, p + a b / 2^52]`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product(a: __m512i, b: __m512i) -> __m512i {
    let (zero, p) = (_mm512_setzero_si512(), _mm512_set1_epi64(P));
    let high = _mm512_madd52hi_epu64(p, a, b);
    let low = _mm512_madd52lo_epu64(zero, a, b);
    let quotient = _mm512_madd52lo_epu64(zero, low, _mm512_set1_epi64(P_INVERSE));
    // The low halves of `a b` and of the multiple of p are equal.
    _mm512_sub_epi64(high, _mm512_madd52hi_epu64(zero, quotient, p))
}

/// Both vectors times `b`.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn products(a: Lanes, b: __m512i) -> Lanes {
    Lanes {
        low: product(a.low, b),
        high: product(a.high, b),
    }
}

/// x^7 for x below 2^37.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn seventh_power(x: __m512i) -> __m512i {
    let x2 = product(x, x);
    product(product(x2, x), product(x2, x2))
}

/// `x` modulo p, of at most 0.501 p in size, for |x| below 2^38.
#[inline]
fn centered(x: i64) -> i64 {
    x - ((((x >> 16) * QUOTIENT + (1 << 31)) >> 32) * P)
}

/// `a b 2^-64` modulo p, of at most |a b| / 2^64 + p / 2 in size.
#[inline]
fn wide_product(a: i64, b: i64) -> i64 {
    let t = i128::from(a) * i128::from(b);
    let quotient = (t as i64).wrapping_mul(P_INVERSE);
    // The low halves of both products are equal.
    (t >> 64) as i64 - ((i128::from(quotient) * i128::from(P)) >> 64) as i64
}

/// x^7 in scale 2^32, of at most 0.71 p in size, for |x| up to 1.27 p.
#[inline]
fn signed_seventh_power(x: i64) -> i64 {
    let x2 = x * x;
    // x^2 by 2^-32, from -p to 0.77 p: below 2^64 before the shift.
    let quotient = (x2 as u32).wrapping_mul((P_INVERSE as u32).wrapping_neg());
    let reduced = (x2 as u64 + u64::from(quotient) * P as u64) >> 32;
    let reduced = reduced as i64 - P;
    wide_product(wide_product(x2, x), reduced * reduced)
}

#[target_feature(enable = "avx512f,avx512ifma")]
fn permute(tables: &Tables, state: &mut [F; WIDTH]) {
    let words: *mut F = state.as_mut_ptr();
    // SAFETY: an element of BabyBear is one 32-bit word, in Montgomery form; two loads of eight of the sixteen.
    let mut x = unsafe {
        Lanes {
            low: _mm512_cvtepu32_epi64(_mm256_loadu_si256(words.cast())),
            high: _mm512_cvtepu32_epi64(_mm256_loadu_si256(words.add(8).cast())),
        }
    };
    let rescale = _mm512_set1_epi64(tables.rescale);
    for (round, constants) in tables.external.iter().enumerate() {
        let mut y = external(x);
        if round == HALF_ROUNDS {
            y = internal_rounds(products(y, rescale), tables);
        }
        let y = add(y, Lanes::of(constants));
        x = Lanes {
            low: seventh_power(y.low),
            high: seventh_power(y.high),
        };
    }
    let y = products(external(x), rescale).map(|y| {
        // As unsigned words the lesser of y and y - p is the one in 0..p.
        _mm512_min_epu64(y, _mm512_sub_epi64(y, _mm512_set1_epi64(P)))
    });
    // SAFETY: as for the loads; the words are below p.
    unsafe {
        _mm256_storeu_si256(words.cast(), _mm512_cvtepi64_epi32(y.low));
        _mm256_storeu_si256(words.add(8).cast(), _mm512_cvtepi64_epi32(y.high));
    }
}

/// All internal rounds on words of at most p + 2^22; the result is at most 5.3 p.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn internal_rounds(x: Lanes, tables: &Tables) -> Lanes {
    let diagonal = Lanes::of(&tables.diagonal);
    let constants = &tables.internal;
    // Element 0 leaves the vectors, and lane 0 is zero, later p.
    let first = _mm_cvtsi128_si64(_mm512_castsi512_si128(x.low));
    let mut y = Lanes {
        low: _mm512_maskz_mov_epi64(0xfe, x.low),
        high: x.high,
    };
    // Element 0 with its constant.
    let mut x1 = centered(first + constants[0]);
    let mut sigma = 0i64;
    // The sum of the others with the constant of the round after this one.
    let mut tail = centered(sum_of(y) + constants[1]);
    for round in 0..INTERNAL_ROUNDS {
        // What becomes of the others but for the sum that this round adds to all of them.
        let added = _mm512_set1_epi64(sigma);
        y = Lanes {
            low: product(_mm512_add_epi64(y.low, added), diagonal.low),
            high: product(_mm512_add_epi64(y.high, added), diagonal.high),
        };
        let others = sum_of(y);
        let power = signed_seventh_power(x1);
        x1 = tail - power;
        sigma = tail + (OFFSET - constants[round + 1]) + power;
        if round + 1 < INTERNAL_ROUNDS {
            tail = centered(others + 15 * sigma + constants[round + 2]);
        }
    }
    let first = _mm512_zextsi128_si512(_mm_cvtsi64_si128(x1 + 2 * P));
    let added = _mm512_set1_epi64(sigma);
    Lanes {
        low: _mm512_add_epi64(
            _mm512_add_epi64(y.low, _mm512_maskz_mov_epi64(0xfe, added)),
            first,
        ),
        high: _mm512_add_epi64(y.high, added),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The element that a word stands for, times 2^`up`.
    fn element(word: i64, up: u64) -> F {
        F::from_i64(word) * F::TWO.exp_u64(up)
    }

    /// At the ends of what the rounds may bring, near every rounding.
    #[test]
    fn scalar_steps_keep_their_bounds() {
        let most = P / 100 * 127;
        for x in [0, 1, P / 2, P / 2 + 1, P - 1, P, P + 1, most]
            .into_iter()
            .flat_map(|x| [x, -x])
        {
            let y = signed_seventh_power(x);
            assert!(y.abs() <= P / 100 * 71, "{x}: {y}");
            // Six products in scale 2^32.
            assert_eq!(element(y, 6 * 32), element(x, 0).exp_u64(7), "{x}");
        }
        let far = (1i64 << 38) - 1;
        let halves = (-136..=136).flat_map(|k| [-1, 0, 1].map(|d| k * P + P / 2 + d));
        for x in halves.chain([far, -far]) {
            let y = centered(x);
            assert!(y.abs() <= P / 1000 * 501, "{x}: {y}");
            assert_eq!(element(y, 0), element(x, 0), "{x}");
        }
    }

    /// A product of zero is p, which the last step takes for zero.
    #[test]
    fn products_of_lanes_are_positive() {
        if Permuter::new().is_none() {
            eprintln!("left out: this processor has no AVX-512 IFMA");
            return;
        }
        let factors = [0, 1, P - 1, P, P + 1, 2 * P, (1 << 37) - 1];
        for (a, b) in factors.into_iter().flat_map(|a| factors.map(|b| (a, b))) {
            // SAFETY: the processor has both.
            let y = unsafe {
                let y = product(_mm512_set1_epi64(a), _mm512_set1_epi64(b));
                _mm_cvtsi128_si64(_mm512_castsi512_si128(y))
            };
            let high = ((i128::from(a) * i128::from(b)) >> 52) as i64;
            assert!(0 < y && y <= P + high, "{a} {b}: {y}");
            assert_eq!(element(y, 52), element(a, 0) * element(b, 0), "{a} {b}");
        }
    }
}
