//! The trace of OpenVM's `MerkleVerifyAir`: for each query and commitment the path from the opened rows to the root.
//!
//! A path has a row for each compression: first those of the `2^k` leaves of the query's coset, layer by layer, then one for
//! each sibling, and one that holds the root beside the commitment. Paths come proof by proof: those of the first round by
//! query and commitment, then those of each further round by query.

use std::borrow::{Borrow, BorrowMut};

use openvm_recursion_circuit::{system::Preflight, transcript::merkle_verify::MerkleVerifyCols};
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, p3_matrix::dense::RowMajorMatrix, proof::Proof,
    SystemParams,
};
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rayon::prelude::*;

use super::{opened::Opened, zeros::zeros};
use crate::{
    poseidon2::{digest, permute, state, State},
    prelude::{Digest, F, SC},
};

/// Paths that one task hashes: they fill the lanes of a vector.
const TASK_PATHS: usize = 16;

/// The trace, and how many of its rows are no padding.
pub(super) struct Paths {
    pub trace: RowMajorMatrix<F>,
    rows: usize,
}

/// A path.
pub(super) struct Path<'a> {
    proof: usize,
    /// The transcript's sample for the query: its lowest bits are the position.
    sample: F,
    /// 0 for the first round, else the number of the round.
    major: usize,
    /// The number of the commitment in the first round.
    minor: usize,
    /// Digests of the leaves and of the nodes above them.
    subtree: &'a [Digest],
    siblings: &'a [Digest],
    commit: Digest,
}

impl Path<'_> {
    fn rows(&self, leaves: usize) -> usize {
        self.siblings.len() + leaves
    }
}

/// The paths of all proofs.
///
/// # Panics
/// If a proof opens less than the parameters ask for.
pub(super) fn paths<'a>(
    vk: &MultiStarkVerifyingKey<SC>,
    proofs: &'a [Proof<SC>],
    preflights: &'a [Preflight],
    opened: &'a [Opened],
    params: &SystemParams,
) -> Vec<Path<'a>> {
    let domain = params.l_skip + params.n_stack + params.log_blowup;
    let mut paths = Vec::new();
    for (number, ((proof, preflight), opened)) in
        proofs.iter().zip(preflights).zip(opened).enumerate()
    {
        let whir = &proof.whir_proof;
        let first_commits = commits(vk, proof, preflight);
        let mut samples = preflight.whir.queries.iter();
        let mut subtrees = opened.subtrees.iter();
        for (round, config) in params.whir.rounds.iter().enumerate() {
            let depth = domain - round - params.k_whir();
            for query in 0..config.num_queries {
                let &sample = samples.next().expect("the transcript has all queries");
                let opened = match round {
                    0 => &first_commits[..preflight.initial_row_states.len()],
                    _ => &whir.codeword_commits[round - 1..round],
                };
                for (minor, &commit) in opened.iter().enumerate() {
                    let siblings = match round {
                        0 => &whir.initial_round_merkle_proofs[minor][query],
                        _ => &whir.codeword_merkle_proofs[round - 1][query],
                    };
                    paths.push(Path {
                        proof: number,
                        sample,
                        major: round,
                        minor,
                        subtree: subtrees.next().expect("every query opens rows"),
                        siblings: &siblings[..depth],
                        commit,
                    });
                }
            }
        }
    }
    paths
}

/// The commitments that the first round of WHIR opens, in its order.
fn commits(
    vk: &MultiStarkVerifyingKey<SC>,
    proof: &Proof<SC>,
    preflight: &Preflight,
) -> Vec<Digest> {
    let airs = preflight.proof_shape.sorted_trace_vdata.iter();
    let of_airs = airs.flat_map(|(air, data)| {
        let preprocessed = vk.inner.per_air[*air].preprocessed_data.as_ref();
        let preprocessed = preprocessed.map(|data| data.commit);
        preprocessed
            .into_iter()
            .chain(data.cached_commitments.iter().copied())
    });
    [proof.common_main_commit]
        .into_iter()
        .chain(of_airs)
        .collect()
}

/// The trace of paths from cosets of `2^layers` rows, filled on all threads.
pub(super) fn rows(paths: &[Path<'_>], layers: usize) -> Paths {
    let leaves = 1 << layers;
    let width = MerkleVerifyCols::<F>::width();
    let rows = paths.iter().map(|path| path.rows(leaves)).sum::<usize>();
    let mut cells = zeros(rows.next_power_of_two() * width);
    // Paths of one task are equally long.
    let tasks = paths.chunk_by(|a, b| a.siblings.len() == b.siblings.len());
    let tasks = tasks.flat_map(|paths| paths.chunks(TASK_PATHS));
    let mut rest = cells.as_mut_slice();
    let tasks: Vec<(&[Path<'_>], &mut [F])> = tasks
        .map(|paths| {
            let rows = paths.iter().map(|path| path.rows(leaves)).sum::<usize>();
            let (cells, behind) = std::mem::take(&mut rest).split_at_mut(rows * width);
            rest = behind;
            (paths, cells)
        })
        .collect();
    tasks
        .into_par_iter()
        .for_each(|(paths, cells)| fill(paths, cells, layers));
    Paths {
        trace: RowMajorMatrix::new(cells, width),
        rows,
    }
}

/// Inputs of the rows' compressions: both digests of each.
pub(super) fn compressed(paths: &Paths) -> Vec<State> {
    let width = paths.trace.width;
    let rows = paths.trace.values[..paths.rows * width].par_chunks_exact(width);
    rows.map(|row| {
        let columns: &MerkleVerifyCols<F> = row.borrow();
        state(&columns.left, &columns.right)
    })
    .collect()
}

/// Fills the rows of equally long paths.
fn fill(paths: &[Path<'_>], cells: &mut [F], layers: usize) {
    let leaves = 1_usize << layers;
    let width = MerkleVerifyCols::<F>::width();
    let Some(depth) = paths.first().map(|path| path.siblings.len()) else {
        return;
    };
    let of_path = paths[0].rows(leaves) * width;
    for (path, cells) in paths.iter().zip(cells.chunks_exact_mut(of_path)) {
        for (row, cells) in cells.chunks_exact_mut(width).enumerate() {
            let columns: &mut MerkleVerifyCols<F> = cells.borrow_mut();
            columns.is_valid = F::ONE;
            columns.proof_idx = F::from_usize(path.proof);
            columns.commit_major = F::from_usize(path.major);
            columns.commit_minor = F::from_usize(path.minor);
            columns.total_depth = F::from_usize(depth + layers + 1);
            columns.is_last_merkle = F::from_bool(row + 1 == depth + leaves);
            columns.merkle_idx_bit_src = path.sample;
        }
        let mut row = 0;
        let mut start = 0;
        for layer in 0..layers {
            let nodes = leaves >> (layer + 1);
            for node in 0..nodes {
                let columns: &mut MerkleVerifyCols<F> = cells[row * width..][..width].borrow_mut();
                columns.is_combining_leaves = F::ONE;
                columns.left = path.subtree[start + 2 * node];
                columns.right = path.subtree[start + 2 * node + 1];
                columns.compression_output = path.subtree[leaves + row];
                columns.current_idx_bit_src = path.sample;
                columns.height = F::from_usize(layer);
                columns.is_last_leaf = F::from_bool(layer + 1 == layers);
                columns.recv_flag = F::TWO;
                columns.leaf_sub_idx = F::from_usize(node);
                row += 1;
            }
            start += 2 * nodes;
        }
    }

    // From here on one level of all paths at a time.
    let root = |path: &Path<'_>| *path.subtree.last().expect("a path has leaves");
    let mut nodes: Vec<Digest> = paths.iter().map(root).collect();
    let mut states = Vec::with_capacity(paths.len());
    for level in 0..=depth {
        let bit = |path: &Path<'_>| path.sample.as_canonical_u32() >> level & 1;
        states.clear();
        states.extend(paths.iter().zip(&nodes).map(|(path, node)| {
            let sibling = path.siblings.get(level).unwrap_or(&path.commit);
            match bit(path) {
                0 => state(node, sibling),
                _ => state(sibling, node),
            }
        }));
        let row = leaves - 1 + level;
        let at = |path: usize| path * of_path + row * width;
        for (number, (path, state)) in paths.iter().zip(&states).enumerate() {
            let columns: &mut MerkleVerifyCols<F> = cells[at(number)..][..width].borrow_mut();
            let (left, right) = state.split_at(columns.left.len());
            columns.left.copy_from_slice(left);
            columns.right.copy_from_slice(right);
            columns.recv_flag = F::from_u32(bit(path));
            columns.current_idx_bit_src =
                F::from_u32(path.sample.as_canonical_u32() >> (level + 1));
            columns.height = F::from_usize(level + layers);
        }
        permute(&mut states);
        for (number, (node, state)) in nodes.iter_mut().zip(&states).enumerate() {
            *node = digest(state);
            let columns: &mut MerkleVerifyCols<F> = cells[at(number)..][..width].borrow_mut();
            columns.compression_output = *node;
        }
    }
}
