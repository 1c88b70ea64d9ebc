//! Poseidon2 of single states on the host: the transcript's permutation, one after the other.
//!
//! A proof absorbs every opening into the transcript, some thousand permutations of which each waits for the one before. What counts
//! is the time of one, not how many a processor does side by side. With AVX-512 the sixteen elements of a state are lanes; elsewhere
//! Plonky3's permutation is used. The results are the same.
//!
//! `openvm-metal-sdk` has the other form, many states side by side, for memory trees and traces.

#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod ifma;
#[cfg(target_arch = "x86_64")]
mod lanes;
#[cfg(test)]
mod tests;

use openvm_stark_sdk::config::baby_bear_poseidon2::poseidon2_perm;
use p3_baby_bear::Poseidon2BabyBear;
use p3_field::PrimeCharacteristicRing;
use p3_symmetric::{CryptographicPermutation, Permutation};

use crate::prelude::{F, WIDTH};

/// Poseidon2 over BabyBear, width 16, with the constants of OpenVM's transcripts or those of the given permutation.
#[derive(Clone, Debug)]
pub(crate) enum HostPoseidon2 {
    /// On vectors of the processor, with products of 52 bits.
    #[cfg(target_arch = "x86_64")]
    Wide(ifma::Permuter),
    /// On vectors of the processor, with products of 32 bits.
    #[cfg(target_arch = "x86_64")]
    Narrow(avx512::Permuter),
    /// Plonky3's permutation.
    Scalar(Poseidon2BabyBear<WIDTH>),
}

impl HostPoseidon2 {
    /// The permutation of OpenVM's transcripts.
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(permuter) = ifma::Permuter::new() {
            return Self::Wide(permuter);
        }
        #[cfg(target_arch = "x86_64")]
        if let Some(permuter) = avx512::Permuter::new() {
            return Self::Narrow(permuter);
        }
        Self::Scalar(poseidon2_perm().clone())
    }
}

impl From<Poseidon2BabyBear<WIDTH>> for HostPoseidon2 {
    /// The fast form of `given` if it has OpenVM's constants, which its value of one state tells.
    fn from(given: Poseidon2BabyBear<WIDTH>) -> Self {
        let state: [F; WIDTH] = std::array::from_fn(F::from_usize);
        let fast = Self::new();
        match fast.permute(state) == given.permute(state) {
            true => fast,
            false => Self::Scalar(given),
        }
    }
}

impl Permutation<[F; WIDTH]> for HostPoseidon2 {
    fn permute_mut(&self, state: &mut [F; WIDTH]) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Wide(permuter) => permuter.permute(state),
            #[cfg(target_arch = "x86_64")]
            Self::Narrow(permuter) => permuter.permute(state),
            Self::Scalar(given) => given.permute_mut(state),
        }
    }
}

/// The diagonal of the internal matrix beyond element 0, whose place is zero (Plonky3's choice for width 16).
#[cfg(target_arch = "x86_64")]
fn internal_diagonal() -> [F; WIDTH] {
    let two_to_minus = |k: u64| F::ONE.div_2exp_u64(k);
    let small = F::from_u32;
    [
        F::ZERO,
        F::ONE,
        F::TWO,
        two_to_minus(1),
        small(3),
        small(4),
        -two_to_minus(1),
        -small(3),
        -small(4),
        two_to_minus(8),
        two_to_minus(2),
        two_to_minus(3),
        two_to_minus(27),
        -two_to_minus(8),
        -two_to_minus(4),
        -two_to_minus(27),
    ]
}

impl CryptographicPermutation<[F; WIDTH]> for HostPoseidon2 {}
