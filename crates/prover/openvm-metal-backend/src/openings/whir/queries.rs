//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError, MetalSlice};
use openvm_stark_backend::proof::MerkleProof;

use super::opening::Opening;
use crate::{
    beside::Later,
    commit::open_columns,
    error::MetalProverError,
    hash::{read_words, Gathered, MerkleCell, MerkleTreeMetal, OpeningShape, Openings},
    prelude::{Digest, EF, F},
};

/// The proof's part about queries.
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

/// The values of a later round's leaves and their paths, for each query.
type OpenedCodeword = (Vec<Vec<EF>>, Vec<MerkleProof<Digest>>);

/// The openings of all rounds. No challenge depends on them: they are gathered on the device, read with what is waited for anyway, and put
/// together by other threads.
#[derive(Default)]
pub(super) struct OpenedQueries {
    /// Gathered and not read: of each commitment, of each later round.
    initial: Vec<Gathered<F>>,
    later: Vec<Gathered<EF>>,
    /// Read. For each commitment; for each later round.
    of_commits: Vec<Later<Openings<F>>>,
    of_rounds: Vec<Later<OpenedCodeword>>,
}

impl OpenedQueries {
    /// Opens leaves of the codeword of a later round, or in the first of all commitments. Columns whose codewords were dropped are transformed
    /// again, some of them at a time.
    pub fn open(
        &mut self,
        opening: &Opening<'_>,
        codeword: Option<&MerkleTreeMetal<EF>>,
        indices: &MetalBuffer<u32>,
    ) -> Result<(), MetalProverError> {
        let s = opening.s;
        if let Some(tree) = codeword {
            let mut gathering = tree.gather(s, indices)?;
            gathering.add_kept(s)?;
            self.later.push(gathering.finish()?);
            return Ok(());
        }
        for commit in opening.commits {
            let mut gathering = commit.tree.gather(s, indices)?;
            let at_once = commit.kept.columns_again(commit.width);
            let [before, after] = commit.kept.dropped(commit.width);
            let again = |columns, gathering: &mut _| {
                let _stage = s.stage("rs_code_matrix");
                open_columns(s, commit.ranges, columns, opening.shape, at_once, gathering)
            };
            again(before, &mut gathering)?;
            gathering.add_kept(s)?;
            again(after, &mut gathering)?;
            self.initial.push(gathering.finish()?);
        }
        Ok(())
    }

    /// Slices that were gathered and not read, as words.
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
            let (shape, words) = of_shape(gathered, &mut words);
            self.of_commits
                .push(Later::new(move || shape.assemble(words)));
        }
        for gathered in self.later.drain(..) {
            let (shape, words) = of_shape(gathered, &mut words);
            let assembled = move || {
                let Openings { rows, siblings } = shape.assemble::<EF>(words);
                (rows.iter().map(|rows| rows.concat()).collect(), siblings)
            };
            self.of_rounds.push(Later::new(assembled));
        }
    }

    /// Reads what was not read, with at most one wait.
    pub fn read(mut self, s: &CommandStream) -> Result<QueryProofs, MetalProverError> {
        let words = read_words(s, &self.slices()?)?;
        self.take(words);
        Ok(self.join())
    }

    /// Joins the words that were read.
    pub fn join(self) -> QueryProofs {
        let of_commits = self.of_commits.into_iter().map(Later::join);
        let (initial_rows, initial_paths) = of_commits.map(|o| (o.rows, o.siblings)).unzip();
        let of_rounds = self.of_rounds.into_iter().map(Later::join);
        let (codeword_values, codeword_paths) = of_rounds.unzip();
        QueryProofs {
            initial_rows,
            initial_paths,
            codeword_values,
            codeword_paths,
        }
    }
}

/// Shape of the next words, and those words, once they were read.
fn of_shape<T: MerkleCell>(
    gathered: Gathered<T>,
    words: &mut impl Iterator<Item = Vec<F>>,
) -> (OpeningShape, Vec<Vec<F>>) {
    let shape = gathered.into_shape();
    let words = words.take(shape.slices()).collect();
    (shape, words)
}
