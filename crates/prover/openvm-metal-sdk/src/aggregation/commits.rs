//! Hashes of commitments to verifying keys.

use openvm_recursion_circuit::utils::poseidon2_hash_slice;
use openvm_verify_stark_host::pvs::VkCommit;

use crate::prelude::{Digest, F};

/// The hash of the commitments to three layers of keys, from below: of a virtual machine, of a hook, or of a deferral circuit.
pub(super) fn hash_of_commits(layers: [VkCommit<F>; 3]) -> Digest {
    let words: Vec<F> = layers
        .iter()
        .flat_map(|layer| [layer.cached_commit, layer.vk_pre_hash])
        .flatten()
        .collect();
    poseidon2_hash_slice(&words).0
}
