//! Key generation with hashes by this processor's vectors.
//!
//! OpenVM's key generation hashes the verifying key, one element for each byte: megabytes for a virtual machine, on one thread. Its
//! configuration names the hasher, so another type of configuration brings another implementation of the same hash. AIRs and keys
//! are generic in the type; [`of_protocol`] turns the key into one of [`SC`].

use openvm_stark_backend::{
    hasher::MerkleHasher,
    keygen::types::{MultiStarkProvingKey, StarkProvingKey},
    StarkProtocolConfig, SystemParams,
};
use p3_symmetric::{
    CryptographicHasher, PaddingFreeSponge, PseudoCompressionFunction, TruncatedPermutation,
};

use crate::{
    host_poseidon2::HostPoseidon2,
    prelude::{Digest, CHUNK, DIGEST_SIZE, EF, F, RATE, SC, WIDTH},
};

/// The configuration [`SC`] with the hasher of this module. `AirInventory::keygen` of openvm-circuit takes it, and
/// [`MultiStarkKeygenBuilder`](openvm_stark_backend::keygen::MultiStarkKeygenBuilder).
#[derive(Clone, Debug)]
pub struct KeygenConfig {
    params: SystemParams,
    hasher: KeygenHasher,
}

impl KeygenConfig {
    /// The configuration of keys with these parameters.
    pub fn new(params: SystemParams) -> Self {
        let permutation = HostPoseidon2::new();
        Self {
            params,
            hasher: KeygenHasher {
                hash: Some(PaddingFreeSponge::new(permutation.clone())),
                compress: TruncatedPermutation::new(permutation),
            },
        }
    }

    /// Configuration of keys whose hash is not used: hashes of slices are zero.
    pub fn without_hashes(mut self) -> Self {
        self.hasher.hash = None;
        self
    }
}

impl StarkProtocolConfig for KeygenConfig {
    type F = F;
    type EF = EF;
    type Digest = Digest;
    type Hasher = KeygenHasher;

    fn params(&self) -> &SystemParams {
        &self.params
    }

    fn hasher(&self) -> &KeygenHasher {
        &self.hasher
    }
}

/// The hash of [`SC`] on the host: a sponge over Poseidon2 and the truncated permutation.
#[derive(Clone, Debug)]
pub struct KeygenHasher {
    /// Absent if slices are not hashed.
    hash: Option<PaddingFreeSponge<HostPoseidon2, WIDTH, RATE, DIGEST_SIZE>>,
    compress: TruncatedPermutation<HostPoseidon2, 2, CHUNK, WIDTH>,
}

impl MerkleHasher for KeygenHasher {
    type F = F;
    type Digest = Digest;

    fn hash_slice(&self, values: &[F]) -> Digest {
        let hash = self.hash.as_ref();
        hash.map_or_else(Digest::default, |hash| hash.hash_slice(values))
    }

    fn compress(&self, left: Digest, right: Digest) -> Digest {
        self.compress.compress([left, right])
    }
}

/// Turns a key into the same key of [`SC`].
pub fn of_protocol(key: MultiStarkProvingKey<KeygenConfig>) -> MultiStarkProvingKey<SC> {
    let MultiStarkProvingKey {
        per_air,
        trace_height_constraints,
        max_constraint_degree,
        params,
        vk_pre_hash,
    } = key;
    let of_air = |key| {
        let StarkProvingKey {
            air_name,
            vk,
            preprocessed_data,
        } = key;
        StarkProvingKey {
            air_name,
            vk,
            preprocessed_data,
        }
    };
    MultiStarkProvingKey {
        per_air: per_air.into_iter().map(of_air).collect(),
        trace_height_constraints,
        max_constraint_degree,
        params,
        vk_pre_hash,
    }
}
