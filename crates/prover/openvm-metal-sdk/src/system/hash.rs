//! Poseidon2 compressions of the memory tree, many at a time.

use openvm_circuit::{
    arch::{hasher::Hasher, vm_poseidon2_config},
    system::memory::CHUNK,
};
use p3_baby_bear::{BabyBear as F, Poseidon2BabyBear};
use p3_field::PrimeCharacteristicRing;
use p3_symmetric::Permutation;
use rayon::prelude::*;

use crate::poseidon2::{self, WIDTH};
pub(crate) use crate::poseidon2::{digest, state, State};

/// A node of the memory tree: eight field elements.
pub type Digest = [F; CHUNK];

/// States that one task permutes.
const TASK_STATES: usize = 512;

/// OpenVM's Poseidon2 compression: the first half of the permutation of `left || right`. A leaf
/// is its eight cells compressed with eight zeros.
#[derive(Clone, Debug)]
pub struct Compressor {
    poseidon2: Poseidon2BabyBear<WIDTH>,
}

impl Compressor {
    pub fn new() -> Self {
        let (external, internal) = vm_poseidon2_config::<F>()
            .constants
            .to_external_internal_constants();
        Self {
            poseidon2: Poseidon2BabyBear::new(external, internal),
        }
    }

    /// Permutes every state, the SIMD lanes filled with different states. Uses one thread.
    pub fn permute(&self, states: &mut [State]) {
        poseidon2::permute(states);
    }

    /// [`permute`](Self::permute) on rayon's threads, if there are states for several.
    pub fn permute_parallel(&self, states: &mut [State]) {
        if states.len() <= TASK_STATES {
            return self.permute(states);
        }
        states
            .par_chunks_mut(TASK_STATES)
            .for_each(|states| self.permute(states));
    }

    /// The digests of subtrees of zeros: entry `h` is the root of `2^h` zero leaves.
    pub fn zero_digests(&self, height: usize) -> Vec<Digest> {
        let mut digests = vec![self.hash(&[F::ZERO; CHUNK])];
        for level in 0..height {
            digests.push(self.compress(&digests[level], &digests[level]));
        }
        digests
    }
}

impl Default for Compressor {
    fn default() -> Self {
        Self::new()
    }
}

impl Hasher<CHUNK, F> for Compressor {
    fn compress(&self, left: &Digest, right: &Digest) -> Digest {
        digest(&self.poseidon2.permute(state(left, right)))
    }
}

#[cfg(test)]
mod tests {
    use openvm_circuit::arch::hasher::poseidon2::vm_poseidon2_hasher;
    use p3_field::PrimeCharacteristicRing;

    use super::*;

    #[test]
    fn batches_of_every_length_equal_the_vm_hasher() {
        let compressor = Compressor::new();
        let oracle = vm_poseidon2_hasher::<F>();
        for length in [0, 1, 3, 15, 16, 17, 40, 2 * TASK_STATES + 5] {
            let inputs: Vec<State> = (0..length as u32)
                .map(|n| std::array::from_fn(|i| F::from_u32(n * 977 + (i * i) as u32)))
                .collect();
            let mut states = inputs.clone();
            compressor.permute_parallel(&mut states);
            for (input, output) in inputs.iter().zip(&states) {
                let (left, right) = input.split_at(CHUNK);
                let expected =
                    oracle.compress(&left.try_into().unwrap(), &right.try_into().unwrap());
                assert_eq!(digest(output), expected);
            }
        }
    }
}
