//! Values that stand for deferral circuits without calls.

use openvm_stark_backend::p3_field::PrimeCharacteristicRing;
use openvm_stark_sdk::config::baby_bear_poseidon2::poseidon2_compress_with_capacity;
use openvm_verify_stark_host::pvs::DeferralPvs;

use crate::prelude::{Digest, F};

/// Digest of zeros, and the commitment that stands for a circuit which the machine does not have.
pub(super) const ZEROS: Digest = [F::ZERO; 8];

/// The values of circuit `index`, which has this commitment and was not called: the two leaves of its memory are those at the start.
pub(super) fn not_called(index: usize, commit: Digest) -> DeferralPvs<F> {
    let leaf = |cells| compress(cells, ZEROS);
    let memory = compress(leaf(commit), leaf(ZEROS));
    DeferralPvs {
        initial_acc_hash: memory,
        final_acc_hash: memory,
        depth: F::ONE,
        node_idx: F::from_usize(index),
    }
}

/// The values of two neighbours, both without calls.
pub(super) fn both(left: DeferralPvs<F>, right: DeferralPvs<F>) -> DeferralPvs<F> {
    DeferralPvs {
        initial_acc_hash: compress(left.initial_acc_hash, right.initial_acc_hash),
        final_acc_hash: compress(left.final_acc_hash, right.final_acc_hash),
        depth: left.depth + F::ONE,
        node_idx: left.node_idx.halve(),
    }
}

fn compress(left: Digest, right: Digest) -> Digest {
    poseidon2_compress_with_capacity(left, right).0
}

#[cfg(test)]
mod tests {
    use openvm_recursion_circuit::utils::poseidon2_hash_slice;

    use super::*;

    /// OpenVM's SDK hashes the words of a commitment, and one zero, with its sponge.
    #[test]
    fn leaves_are_hashed_as_the_sponge_does() {
        let commit: Digest = std::array::from_fn(|i| F::from_usize(7 * i + 3));
        assert_eq!(poseidon2_hash_slice(&commit).0, compress(commit, ZEROS));
        assert_eq!(poseidon2_hash_slice(&[F::ZERO]).0, compress(ZEROS, ZEROS));
    }

    #[test]
    fn neighbours_are_half_as_many_one_level_higher() {
        let values = both(not_called(6, ZEROS), not_called(7, ZEROS));
        assert_eq!((values.depth, values.node_idx), (F::TWO, F::from_usize(3)));
        assert_eq!(values.initial_acc_hash, values.final_acc_hash);
    }
}
