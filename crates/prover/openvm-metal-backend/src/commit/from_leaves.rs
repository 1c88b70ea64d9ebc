//! A commitment from the leaves of its Merkle tree, which an earlier process made.
//!
//! Hashing the rows is most of a commitment's time on a CPU. The codewords follow from the traces by one transform, and the
//! layers above the leaves are one permutation for each leaf.

use std::{collections::hash_map::RandomState, hash::BuildHasher};

use openvm_metal_common::CommandStream;
use openvm_stark_backend::hasher::MerkleHasher;
use rayon::prelude::*;

use super::{encode_columns, stacked, CommitParams};
use crate::{
    error::MetalProverError,
    hash::{HashScheme, MerkleTreeMetal},
    kept_codewords::KeptCodewords,
    matrix::MetalMatrix,
    prelude::F,
    stacked::{Committed, StackedPcsDataMetal},
};

/// Leaves that are compared with their rows. With a quarter of the leaves or more wrong, all of the sample are right with a probability of
/// 2^-106; with fewer, the root is within the unique decoding radius of these codewords, whose rate is 1/2 or less, and of no other.
const SAMPLES: u64 = 256;

/// Commits to `traces` as [`stacked_commit`](super::stacked_commit) does, with all codewords at once, and takes the digests of the leaves
/// from `leaves`. The root is that of these leaves; nothing if they are another number than the codewords have, or a sample of them
/// are not the digests of their rows.
///
/// # Errors
/// Errors of [`stacked_commit`](super::stacked_commit).
pub(crate) fn stacked_commit_from_leaves<SC: HashScheme>(
    s: &CommandStream,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
    leaves: &[SC::Digest],
    hasher: &SC::Hasher,
) -> Result<Option<Committed<SC>>, MetalProverError> {
    let count = 1_u64 << (params.log_height + params.log_blowup).saturating_sub(params.k_whir);
    if leaves.len() as u64 != count {
        return Ok(None);
    }
    if matches!(params.kept, KeptCodewords::Last(_)) {
        return Ok(None);
    }
    let (layout, ranges) = stacked::<SC>(s, params, traces)?;
    let (width, shape) = (layout.width(), params.code_shape());
    let scratch = params.scratch_columns(s, width);
    let code = encode_columns::<SC>(s, &ranges, 0..width, shape, scratch, None)?;
    let mut tree = MerkleTreeMetal::from_leaves(s, code, 1 << params.k_whir, leaves)?;
    if !are_of_their_rows(s, &tree, leaves, hasher)? {
        return Ok(None);
    }
    tree.drop_columns(params.kept.columns(width, SC::RATE).len());
    let root = tree.read_root(s)?;
    Ok(Some((
        root,
        StackedPcsDataMetal {
            layout: layout.into(),
            ranges: ranges.into(),
            tree,
            kept: params.kept,
            root,
        },
    )))
}

/// Hashes the rows of leaves that nobody can foresee, and compares.
fn are_of_their_rows<SC: HashScheme>(
    s: &CommandStream,
    tree: &MerkleTreeMetal<F, SC>,
    leaves: &[SC::Digest],
    hasher: &SC::Hasher,
) -> Result<bool, MetalProverError> {
    let draw = RandomState::new();
    let index = |sample| (draw.hash_one(sample) % leaves.len() as u64) as usize;
    let indices: Vec<usize> = (0..SAMPLES).map(index).collect();
    let opened = tree.open(s, &indices)?;
    let samples = indices.par_iter().zip(&opened.rows);
    Ok(samples.into_par_iter().all(|(&index, rows)| {
        let rows = rows.iter().map(|row| hasher.hash_slice(row)).collect();
        hasher.tree_compress(rows) == leaves[index]
    }))
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalBuffer, MetalContext};
    use openvm_stark_backend::StarkProtocolConfig as _;
    use p3_field::PrimeCharacteristicRing as _;

    use super::{super::stacked_commit, *};
    use crate::{
        kernels,
        prelude::{Digest, SC},
    };

    /// Layers, codewords and root are those of a commitment that hashes its rows; leaves of another trace are refused.
    #[test]
    fn a_commitment_from_its_leaves_is_the_same() {
        let context = MetalContext::shared_on(Device::Cpu, &[&kernels::LIBRARY]).expect("a CPU");
        let s = &context.stream();
        let config = SC::default_from_params(crate::selftest::prover::params(2, 6, 2));
        let params = CommitParams {
            l_skip: 2,
            log_height: 8,
            log_blowup: 1,
            k_whir: 3,
            kept: KeptCodewords::All,
            memory_budget: None,
        };
        let trace = |seed: u32| {
            let cells: Vec<F> = (0..3 << 7).map(|i| F::from_u32(i * i + seed)).collect();
            let cells = MetalBuffer::from_host(s, &cells).expect("cells");
            MetalMatrix::from_buffer(cells, 1 << 7, 3)
        };
        let (one, other) = (trace(1), trace(2));
        let (root, made) = stacked_commit::<SC>(s, params, &[&one]).expect("committed");
        let leaves = made.tree.leaves_to_host(s).expect("read");
        let again = |leaves: &[Digest], trace| {
            let hasher = config.hasher();
            stacked_commit_from_leaves(s, params, &[trace], leaves, hasher).expect("no failure")
        };
        let (same, data) = again(&leaves, &one).expect("its leaves");
        assert_eq!(same, root);
        let layers = |data: &StackedPcsDataMetal| data.tree.digest_layers_to_host(s).expect("read");
        assert_eq!(layers(&data), layers(&made));
        let code = |data: &StackedPcsDataMetal| {
            data.tree
                .backing()
                .cells()
                .slice()
                .to_host(s)
                .expect("read")
        };
        assert_eq!(code(&data), code(&made));
        assert!(again(&leaves, &other).is_none(), "leaves of another trace");
        assert!(again(&leaves[1..], &one).is_none(), "one leaf too few");
        assert!(again(&[], &one).is_none(), "no leaves");
        // A third of the leaves.
        let mut third = leaves;
        for leaf in third.iter_mut().step_by(3) {
            leaf[7] += F::ONE;
        }
        assert!(again(&third, &one).is_none(), "a third is wrong");
    }
}
