//! Opened rows and Merkle paths, in the shape of the proof.

use openvm_metal_common::{CommandStream, MetalBuffer};
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

/// The openings of all rounds. No challenge depends on them: they are gathered on the device, read at the end, and assembled on other threads.
pub(super) struct OpenedQueries<SC: HashScheme> {
    /// Leaves of each commitment.
    initial: Vec<Gathered<F, SC>>,
    /// Leaves of each later round.
    later: Vec<Gathered<EF, SC>>,
}

impl<SC: HashScheme> Default for OpenedQueries<SC> {
    fn default() -> Self {
        Self {
            initial: Vec::new(),
            later: Vec::new(),
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

    /// Reads what was gathered, with one wait.
    pub fn read(self, s: &CommandStream) -> Result<QueryProofs<SC::Digest>, MetalProverError> {
        let mut slices = Vec::new();
        for gathered in &self.initial {
            slices.extend(gathered.slices()?);
        }
        for gathered in &self.later {
            slices.extend(gathered.slices()?);
        }
        let mut words = read_words(s, &slices)?.into_iter();
        let of_commits = self.initial.into_iter().map(|gathered| {
            let (shape, words) = of_shape(gathered, &mut words);
            Later::new(move || shape.assemble::<F, SC>(words))
        });
        let of_commits: Vec<_> = of_commits.collect();
        let of_rounds = self.later.into_iter().map(|gathered| {
            let (shape, words) = of_shape(gathered, &mut words);
            Later::new(move || {
                let Openings { rows, siblings } = shape.assemble::<EF, SC>(words);
                (rows.iter().map(|rows| rows.concat()).collect(), siblings)
            })
        });
        let of_rounds: Vec<Later<OpenedCodeword<SC::Digest>>> = of_rounds.collect();
        let of_commits = of_commits.into_iter().map(Later::join);
        let (initial_rows, initial_paths) = of_commits.map(|o| (o.rows, o.siblings)).unzip();
        let (codeword_values, codeword_paths) = of_rounds.into_iter().map(Later::join).unzip();
        Ok(QueryProofs {
            initial_rows,
            initial_paths,
            codeword_values,
            codeword_paths,
        })
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
