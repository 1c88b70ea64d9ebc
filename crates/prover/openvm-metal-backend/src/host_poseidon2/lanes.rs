//! One state in two vectors of eight 64-bit lanes, and the steps that both forms of the permutation take.

use std::arch::x86_64::*;

use crate::prelude::WIDTH;

/// Sixteen words, in the order of the state.
#[derive(Clone, Copy)]
pub(super) struct Lanes {
    pub low: __m512i,
    pub high: __m512i,
}

impl Lanes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn map(self, f: impl Fn(__m512i) -> __m512i) -> Self {
        Self {
            low: f(self.low),
            high: f(self.high),
        }
    }

    #[inline]
    #[target_feature(enable = "avx512f")]
    pub fn of(words: &[i64; WIDTH]) -> Self {
        // SAFETY: two loads of eight of the sixteen words, of any alignment.
        unsafe {
            Self {
                low: _mm512_loadu_epi64(words.as_ptr()),
                high: _mm512_loadu_epi64(words.as_ptr().add(8)),
            }
        }
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn add(a: Lanes, b: Lanes) -> Lanes {
    Lanes {
        low: _mm512_add_epi64(a.low, b.low),
        high: _mm512_add_epi64(a.high, b.high),
    }
}

/// The external matrix, not reduced: 35 times the largest word at most.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn external(x: Lanes) -> Lanes {
    // The circulant (2, 3, 1, 1) of each four: the sum of all, one more of its own, two more of the next.
    let y = x.map(|x| {
        let next = _mm512_permutex_epi64::<0b00_11_10_01>(x);
        let pairs = _mm512_add_epi64(x, next);
        let all = _mm512_add_epi64(pairs, _mm512_permutex_epi64::<0b01_00_11_10>(pairs));
        _mm512_add_epi64(all, _mm512_add_epi64(pairs, next))
    });
    let fours = _mm512_add_epi64(y.low, y.high);
    let swapped = _mm512_shuffle_i64x2::<0b01_00_11_10>(fours, fours);
    let sum = _mm512_add_epi64(fours, swapped);
    y.map(|y| _mm512_add_epi64(y, sum))
}

/// The sum of all words.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn sum_of(x: Lanes) -> i64 {
    _mm512_reduce_add_epi64(_mm512_add_epi64(x.low, x.high))
}
