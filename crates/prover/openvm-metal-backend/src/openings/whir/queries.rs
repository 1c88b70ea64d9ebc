//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::{CommandStream, MetalBuffer, MetalError, MetalSlice};
use openvm_stark_backend::proof::MerkleProof;

use super::opening::Opening;
use crate::{
    beside::Later,
    commit::open_columns,
    error::MetalProverError,
    hash::{read_words, Gathered, HashScheme, MerkleCell, MerkleTreeMetal, OpeningShape, Openings},
    prelude::{EF, F},
};

/// The proof's part about queries.
pub(super) struct QueryProofs<D> {
    /// For each commitment, query and row of the leaf: the row.
    pub initial_rows: Vec<Vec<Vec<Vec<F>>>>,
    /// For each commitment and query.
    pub initial_paths: Vec<Vec<MerkleProof<D>>>,
    /// For each later round and query: the rows of the leaf, each one element wide.
    pub codeword_values: Vec<Vec<Vec<EF>>>,
    /// For each later round and query.
    pub codeword_paths: Vec<Vec<MerkleProof<D>>>,
}

/// The values of a later round's leaves and their paths, for each query.
type OpenedCodeword<D> = (Vec<Vec<EF>>, Vec<MerkleProof<D>>);

/// The openings of all rounds. No challenge depends on them: they are gathered on the device, read with what is waited for anyway, and put
/// together by other threads.
pub(super) struct OpenedQueries<SC: HashScheme> {
    /// Gathered and not read: of each commitment, of each later round.
    initial: Vec<Gathered<F, SC>>,
    later: Vec<Gathered<EF, SC>>,
    /// Read. For each commitment; for each later round.
    of_commits: Vec<Later<Openings<F, SC::Digest>>>,
    of_rounds: Vec<Later<OpenedCodeword<SC::Digest>>>,
}

impl<SC: HashScheme> Default for OpenedQueries<SC> {
    fn default() -> Self {
        Self {
            initial: Vec::new(),
            later: Vec::new(),
            of_commits: Vec::new(),
            of_rounds: Vec::new(),
        }
    }
}

impl<SC: HashScheme> OpenedQueries<SC> {
    /// Opens leaves of the codeword of a later round, or in the first of all commitments. Columns whose codewords were dropped are transformed
    /// again, some of them at a time.
    pub fn open(
        &mut self,
        opening: &Opening<'_, SC>,
        codeword: Option<&MerkleTreeMetal<EF, SC>>,
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
            let at_once = commit.kept.columns_again(commit.width, SC::RATE);
            let [before, after] = commit.kept.dropped(commit.width, SC::RATE);
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
                .push(Later::new(move || shape.assemble::<F, SC>(words)));
        }
        for gathered in self.later.drain(..) {
            let (shape, words) = of_shape(gathered, &mut words);
            let assembled = move || {
                let Openings { rows, siblings } = shape.assemble::<EF, SC>(words);
                (rows.iter().map(|rows| rows.concat()).collect(), siblings)
            };
            self.of_rounds.push(Later::new(assembled));
        }
    }

    /// Reads what was not read, with at most one wait.
    pub fn read(mut self, s: &CommandStream) -> Result<QueryProofs<SC::Digest>, MetalProverError> {
        let words = read_words(s, &self.slices()?)?;
        self.take(words);
        Ok(self.join())
    }

    /// Joins the words that were read.
    pub fn join(self) -> QueryProofs<SC::Digest> {
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
fn of_shape<T: MerkleCell, SC: HashScheme>(
    gathered: Gathered<T, SC>,
    words: &mut impl Iterator<Item = Vec<F>>,
) -> (OpeningShape, Vec<Vec<F>>) {
    let shape = gathered.into_shape();
    let words = words.take(shape.slices()).collect();
    (shape, words)
}
