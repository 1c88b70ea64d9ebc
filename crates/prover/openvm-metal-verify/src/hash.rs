//! Poseidon2 over BabyBear, the hash of every commitment.

use openvm_stark_backend::p3_symmetric::{CryptographicHasher, PaddingFreeSponge};
use openvm_stark_sdk::config::baby_bear_poseidon2::{
    poseidon2_compress_with_capacity, poseidon2_perm,
};

use crate::prelude::{Digest, F};

/// The node above two nodes of a Merkle tree.
pub(crate) fn compress(left: Digest, right: Digest) -> Digest {
    poseidon2_compress_with_capacity(left, right).0
}

/// The leaf of a Merkle tree over 8 elements.
pub(crate) fn leaf(values: Digest) -> Digest {
    compress(values, Digest::default())
}

/// The hash of elements, of which a verifying key's hash and a virtual machine's commitment are made.
pub(crate) fn hash_slice(values: &[F]) -> Digest {
    PaddingFreeSponge::<_, 16, 8, 8>::new(poseidon2_perm().clone()).hash_slice(values)
}
