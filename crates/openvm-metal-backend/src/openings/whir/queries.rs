//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::CommandStream;
use openvm_stark_backend::proof::MerkleProof;

use super::WhirCommit;
use crate::{
    commit::{encode_columns, CodeShape},
    error::MetalProverError,
    hash::{read_words, Gathered, MerkleTreeMetal},
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

/// The openings of all rounds, gathered on the device: no challenge depends on them, so they are read at the end.
#[derive(Default)]
pub(super) struct GatheredQueries {
    /// For each commitment.
    initial: Vec<Gathered<F>>,
    /// For each later round.
    later: Vec<Gathered<EF>>,
}

impl GatheredQueries {
    /// Opens all commitments. Codewords that were dropped are encoded again, some of them at a time.
    pub fn open_initial(
        &mut self,
        s: &CommandStream,
        commits: &[WhirCommit<'_>],
        shape: CodeShape,
        indices: &[usize],
    ) -> Result<(), MetalProverError> {
        for commit in commits {
            let mut opening = commit.tree.begin_open(s, indices)?;
            let kept = commit.tree.backing().width();
            let step = commit.kept.columns_again(commit.width).max(1);
            for start in (kept..commit.width).step_by(step) {
                let _stage = s.stage("rs_code_matrix");
                let end = (start + step).min(commit.width);
                let columns = encode_columns(s, commit.ranges, start..end, shape, None)?;
                opening.add_columns(s, &columns)?;
            }
            self.initial.push(opening.finish()?);
        }
        Ok(())
    }

    /// Opens the codeword of a later round.
    pub fn open_codeword(
        &mut self,
        s: &CommandStream,
        tree: &MerkleTreeMetal<EF>,
        indices: &[usize],
    ) -> Result<(), MetalProverError> {
        self.later.push(tree.begin_open(s, indices)?.finish()?);
        Ok(())
    }

    /// Reads everything: one wait.
    pub fn read(self, s: &CommandStream) -> Result<QueryProofs, MetalProverError> {
        let mut slices = Vec::new();
        for gathered in &self.initial {
            slices.extend(gathered.slices()?);
        }
        for gathered in &self.later {
            slices.extend(gathered.slices()?);
        }
        let mut words = read_words(s, &slices)?.into_iter();
        let initial = self.initial.iter().map(|g| g.assemble(&mut words));
        let (initial_rows, initial_paths) = initial.map(|o| (o.rows, o.siblings)).unzip();
        let later = self.later.iter().map(|g| g.assemble(&mut words));
        let values = |rows: Vec<Vec<Vec<EF>>>| -> Vec<Vec<EF>> {
            rows.into_iter().map(|rows| rows.concat()).collect()
        };
        let (codeword_values, codeword_paths) = later.map(|o| (values(o.rows), o.siblings)).unzip();
        Ok(QueryProofs {
            initial_rows,
            initial_paths,
            codeword_values,
            codeword_paths,
        })
    }
}
