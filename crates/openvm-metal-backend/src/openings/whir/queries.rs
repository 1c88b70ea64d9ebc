//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::CommandStream;
use openvm_stark_backend::proof::MerkleProof;

use super::WhirCommit;
use crate::{
    commit::{encode_columns, CodeShape},
    error::MetalProverError,
    hash::{finish_openings, MerkleTreeMetal},
    prelude::{Digest, EF, F},
};

/// How many of the dropped columns are encoded at a time: a quarter, for a quarter of the memory.
pub(crate) fn columns_encoded_again(dropped: usize) -> usize {
    dropped.div_ceil(4).max(1)
}

/// What the proof says about queries.
pub(super) struct QueryProofs {
    /// For each commitment, query and row of the leaf: the row.
    pub initial_rows: Vec<Vec<Vec<Vec<F>>>>,
    /// For each commitment and query.
    pub initial_paths: Vec<Vec<MerkleProof<Digest>>>,
    /// For each later round and query: the rows of the leaf, each one element wide.
    pub codeword_values: Vec<Vec<Vec<EF>>>,
    /// For each later round and query.
    pub codeword_paths: Vec<Vec<MerkleProof<Digest>>>,
}

impl QueryProofs {
    pub fn new(commits: usize, rounds: usize) -> Self {
        Self {
            initial_rows: Vec::with_capacity(commits),
            initial_paths: Vec::with_capacity(commits),
            codeword_values: Vec::with_capacity(rounds),
            codeword_paths: Vec::with_capacity(rounds),
        }
    }

    /// Opens all commitments: two waits. Codewords that were dropped are encoded again, some of
    /// them at a time.
    pub fn open_initial(
        &mut self,
        s: &CommandStream,
        commits: &[WhirCommit<'_>],
        shape: CodeShape,
        indices: &[usize],
    ) -> Result<(), MetalProverError> {
        let mut openings = Vec::with_capacity(commits.len());
        for commit in commits {
            let mut opening = commit.tree.begin_open(s, indices)?;
            let kept = commit.tree.backing().width();
            let step = columns_encoded_again(commit.width.saturating_sub(kept));
            for start in (kept..commit.width).step_by(step) {
                let _stage = s.stage("rs_code_matrix");
                let end = (start + step).min(commit.width);
                let columns = encode_columns(s, commit.ranges, start..end, shape, None)?;
                opening.add_columns(s, &columns)?;
            }
            openings.push(opening);
        }
        for opened in finish_openings(s, openings)? {
            self.initial_rows.push(opened.rows);
            self.initial_paths.push(opened.siblings);
        }
        Ok(())
    }

    /// Opens the codeword of a later round: two waits.
    pub fn open_codeword(
        &mut self,
        s: &CommandStream,
        tree: &MerkleTreeMetal<EF>,
        indices: &[usize],
    ) -> Result<(), MetalProverError> {
        let opened = tree.open(s, indices)?;
        self.codeword_values
            .push(opened.rows.into_iter().map(|rows| rows.concat()).collect());
        self.codeword_paths.push(opened.siblings);
        Ok(())
    }
}
