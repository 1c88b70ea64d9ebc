//! Commitments by the leaves of their Merkle trees.
//!
//! Content of an entry: the root and the leaves, eight words each, little-endian and below the modulus. Everything else of a
//! commitment follows from the trace and the leaves.

use openvm_stark_backend::{
    p3_field::{integers::QuotientMap as _, PrimeField32 as _},
    p3_matrix::{dense::RowMajorMatrix, Matrix as _},
    prover::ProverBackend,
    SystemParams,
};
use rayon::prelude::*;

use super::{entry::Key, folder::Cache};
use crate::{
    engine::{EngineError, SdkEngine},
    prelude::{Digest, F},
};

/// Leaves, log2, below which a commitment is made quicker than its entry is found.
const MIN_LOG_LEAVES: usize = 17;
const DIGEST_BYTES: usize = 4 * size_of::<Digest>() / size_of::<F>();

/// A matrix of an engine with its commitment and what opens it.
type Committed<E> = (
    <<E as openvm_stark_backend::StarkEngine>::PB as ProverBackend>::Matrix,
    Digest,
    <<E as openvm_stark_backend::StarkEngine>::PB as ProverBackend>::PcsData,
);

/// Brings a trace to the device and commits it, with leaves of the cache if they are there.
///
/// # Errors
/// Refusals of the device.
pub(crate) fn commit<E: SdkEngine>(
    cache: &Cache,
    engine: &E,
    trace: RowMajorMatrix<F>,
) -> Result<Committed<E>, EngineError> {
    commit_above(cache, engine, trace, MIN_LOG_LEAVES)
}

fn commit_above<E: SdkEngine>(
    cache: &Cache,
    engine: &E,
    trace: RowMajorMatrix<F>,
    min_log_leaves: usize,
) -> Result<Committed<E>, EngineError> {
    let log_leaves = log_leaves(engine.params());
    let is_kept = !cache.is_none() && log_leaves >= min_log_leaves && engine.hashes_slowly();
    let key = is_kept.then(|| key(engine.params(), &trace));
    let trace = E::upload(engine.device(), trace);
    let known = key.and_then(|key| cache.get(&key));
    if let Some((root, leaves)) = known.and_then(|bytes| decode(&bytes)) {
        match engine.commit_from_leaves(&trace, &leaves) {
            Ok(Some((made, data))) if made == root => return Ok((trace, root, data)),
            Ok(_) => tracing::warn!("a commitment of the cache has another root: it is made again"),
            // A device that fails for good says so below.
            Err(error) => tracing::warn!(%error, "a commitment of the cache is made again"),
        }
    }
    let (root, data) = engine.commit(&trace)?;
    if let Some(key) = key {
        if let Some(leaves) = engine.leaves(&data)? {
            cache.put(&key, &encode(root, &leaves));
        }
    }
    Ok((trace, root, data))
}

/// Number of leaves of a commitment, log2.
fn log_leaves(params: &SystemParams) -> usize {
    (params.log_stacked_height() + params.log_blowup).saturating_sub(params.k_whir())
}

/// A commitment follows from these parameters and the trace, and from nothing else.
fn key(params: &SystemParams, trace: &RowMajorMatrix<F>) -> Key {
    let numbers = [
        params.l_skip,
        params.log_stacked_height(),
        params.log_blowup,
        params.k_whir(),
        trace.width(),
    ];
    let numbers: Vec<u8> = numbers
        .into_iter()
        .flat_map(|number| (number as u64).to_le_bytes())
        .collect();
    let cells = words(&trace.values);
    Key::of(
        "commitment: leaves of BabyBear and Poseidon2",
        [numbers.as_slice(), &cells],
    )
}

/// Field elements as canonical words, little-endian.
fn words(elements: &[F]) -> Vec<u8> {
    let mut bytes = vec![0; 4 * elements.len()];
    let chunks = bytes.par_chunks_exact_mut(4).with_min_len(1 << 14);
    chunks
        .zip(elements)
        .for_each(|(bytes, x)| bytes.copy_from_slice(&x.as_canonical_u32().to_le_bytes()));
    bytes
}

fn encode(root: Digest, leaves: &[Digest]) -> Vec<u8> {
    let mut bytes = words(&root);
    bytes.extend(words(leaves.as_flattened()));
    bytes
}

/// Root and leaves; nothing if the bytes hold none.
fn decode(bytes: &[u8]) -> Option<(Digest, Vec<Digest>)> {
    let (digests, rest) = bytes.as_chunks::<DIGEST_BYTES>();
    if !rest.is_empty() {
        return None;
    }
    let digest = |bytes: &[u8; DIGEST_BYTES]| -> Option<Digest> {
        let mut digest = Digest::default();
        for (x, word) in digest.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *x = F::from_canonical_checked(u32::from_le_bytes(*word))?;
        }
        Some(digest)
    };
    let (root, leaves) = digests.split_first()?;
    let leaves = leaves.par_iter().with_min_len(1 << 12).map(digest);
    Some((digest(root)?, leaves.collect::<Option<_>>()?))
}

#[cfg(test)]
mod tests;
