//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::CommandStream;
use openvm_stark_backend::proof::MerkleProof;

use super::WhirCommit;
use crate::{
    commit::{encode_columns, CodeShape},
    error::MetalProverError,
    hash::MerkleTreeMetal,
    prelude::{Digest, EF, F},
};

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

    /// Opens all commitments: one wait for each. Codewords that were dropped are encoded again.
    pub fn open_initial(
        &mut self,
        s: &CommandStream,
        commits: &[WhirCommit<'_>],
        shape: CodeShape,
        indices: &[usize],
    ) -> Result<(), MetalProverError> {
        for commit in commits {
            let kept = commit.tree.backing().width();
            let dropped = (kept < commit.width)
                .then(|| {
                    let _stage = s.stage("rs_code_matrix");
                    encode_columns(s, commit.segments, kept..commit.width, shape)
                })
                .transpose()?;
            let opened = commit.tree.open_with(s, indices, dropped.as_ref())?;
            self.initial_rows.push(opened.rows);
            self.initial_paths.push(opened.siblings);
        }
        Ok(())
    }

    /// Opens the codeword of a later round: one wait.
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
