//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::{CommandStream, MetalError, MetalSlice};
use openvm_stark_backend::proof::MerkleProof;

use super::WhirCommit;
use crate::{
    beside::Later,
    commit::{encode_columns, CodeShape},
    error::MetalProverError,
    hash::{read_words, Gathered, MerkleCell, MerkleTreeMetal, OpeningShape, Openings},
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

/// The openings of all rounds. No challenge depends on them: they are gathered on the device, read with the messages of the next round,
/// and put together by other threads while the device goes on.
#[derive(Default)]
pub(super) struct OpenedQueries {
    /// Gathered and not read: of each commitment, of each later round.
    initial: Vec<Gathered<F>>,
    later: Vec<Gathered<EF>>,
    /// Read. For each commitment; for each later round.
    of_commits: Vec<Later<Openings<F>>>,
    of_rounds: Vec<Later<Openings<EF>>>,
}

impl OpenedQueries {
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

    /// What is to be read before the next round is opened, as words.
    pub fn slices(&self) -> Result<Vec<MetalSlice<'_, F>>, MetalError> {
        let mut slices = Vec::new();
        for gathered in &self.initial {
            slices.extend(gathered.slices()?);
        }
        for gathered in &self.later {
            slices.extend(gathered.slices()?);
        }
        Ok(slices)
    }

    /// Takes the words of [`Self::slices`].
    pub fn take(&mut self, words: Vec<Vec<F>>) {
        let mut words = words.into_iter();
        for gathered in self.initial.drain(..) {
            let later = assembled(gathered.into_shape(), &mut words);
            self.of_commits.push(later);
        }
        for gathered in self.later.drain(..) {
            let later = assembled(gathered.into_shape(), &mut words);
            self.of_rounds.push(later);
        }
    }

    /// Reads what was not read, with at most one wait.
    pub fn read(mut self, s: &CommandStream) -> Result<QueryProofs, MetalProverError> {
        let words = read_words(s, &self.slices()?)?;
        self.take(words);
        let of_commits = self.of_commits.into_iter().map(Later::join);
        let (initial_rows, initial_paths) = of_commits.map(|o| (o.rows, o.siblings)).unzip();
        let values = |rows: Vec<Vec<Vec<EF>>>| -> Vec<Vec<EF>> {
            rows.into_iter().map(|rows| rows.concat()).collect()
        };
        let of_rounds = self.of_rounds.into_iter().map(Later::join);
        let of_rounds = of_rounds.map(|o| (values(o.rows), o.siblings));
        let (codeword_values, codeword_paths) = of_rounds.unzip();
        Ok(QueryProofs {
            initial_rows,
            initial_paths,
            codeword_values,
            codeword_paths,
        })
    }
}

/// The openings of a tree, to be put together from the next words.
fn assembled<T: MerkleCell>(
    shape: OpeningShape,
    words: &mut impl Iterator<Item = Vec<F>>,
) -> Later<Openings<T>> {
    let words: Vec<Vec<F>> = words.take(shape.slices()).collect();
    Later::new(move || shape.assemble(words))
}
