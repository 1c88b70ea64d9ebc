//! Hashes of the rows that a proof opens, which do not depend on its transcript.

use openvm_metal_backend::prelude::RATE;
use openvm_stark_backend::{proof::Proof, SystemParams};
use openvm_stark_sdk::config::baby_bear_poseidon2::EF;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use rayon::prelude::*;

use crate::{
    poseidon2::{digest, permute, state, State, WIDTH},
    prelude::{Digest, F, SC},
};

/// Words that a permutation absorbs, and words of a digest.
pub(super) const CHUNK: usize = RATE;

/// Subtrees that one task hashes: they fill the lanes of a vector in every layer.
const TASK_SUBTREES: usize = 16;

/// The states behind each chunk of a row, for each commitment, query and row of the query's coset.
type RowStates = Vec<Vec<Vec<Vec<State>>>>;
/// The states behind each value, for each round from the second on, query and value of the query's coset.
type CodewordStates = Vec<Vec<Vec<State>>>;

/// Openings of a proof.
pub(super) struct Opened {
    /// Inputs of the permutations that hash rows.
    pub permuted: Vec<State>,
    /// Inputs of those that hash values of codewords.
    pub compressed: Vec<State>,
    /// For each Merkle path, in the order of [`super::merkle`], the digests of its `2^k` leaves and of all nodes above them,
    /// layer by layer.
    pub subtrees: Vec<Vec<Digest>>,
}

/// Hashes what a proof opens, on all threads. Also gives the states that the library's modules look at.
pub(super) fn hash(
    proof: &Proof<SC>,
    params: &SystemParams,
) -> (Opened, RowStates, CodewordStates) {
    let whir = &proof.whir_proof;
    let hashed: Vec<Vec<Hashed>> = whir
        .initial_round_opened_rows
        .par_iter()
        .map(|queries| {
            let rows = queries.par_iter().map(|rows| Hashed::new(rows));
            rows.collect()
        })
        .collect();
    let values: Vec<Vec<Hashed>> = whir
        .codeword_opened_values
        .par_iter()
        .map(|queries| {
            let values = queries.par_iter().map(|values| {
                let rows: Vec<&[F]> = values
                    .iter()
                    .map(<EF as BasedVectorSpace<F>>::as_basis_coefficients_slice)
                    .collect();
                Hashed::new(&rows)
            });
            values.collect()
        })
        .collect();

    let first_queries = hashed.first().map_or(0, Vec::len);
    let first_round = (0..first_queries).flat_map(|query| hashed.iter().map(move |c| &c[query]));
    let cosets: Vec<&Hashed> = first_round.chain(values.iter().flatten()).collect();
    let layers = params.k_whir();
    let subtrees = cosets
        .par_chunks(TASK_SUBTREES)
        .flat_map_iter(|cosets| subtrees(cosets, layers))
        .collect();

    let inputs = |hashed: &[Vec<Hashed>]| -> Vec<State> {
        let inputs = hashed.iter().flatten().flat_map(|coset| &coset.inputs);
        inputs.copied().collect()
    };
    let opened = Opened {
        permuted: inputs(&hashed),
        compressed: inputs(&values),
        subtrees,
    };
    let rows = hashed
        .into_iter()
        .map(|queries| queries.into_iter().map(|coset| coset.states).collect())
        .collect();
    let last = |states: Vec<State>| *states.last().expect("a value has words");
    let codewords = values
        .into_iter()
        .map(|queries| {
            let cosets = queries.into_iter();
            cosets
                .map(|coset| coset.states.into_iter().map(last).collect())
                .collect()
        })
        .collect();
    (opened, rows, codewords)
}

/// The rows of a query's coset, hashed.
struct Hashed {
    /// The states before each permutation.
    inputs: Vec<State>,
    /// The states behind each chunk, by row.
    states: Vec<Vec<State>>,
}

impl Hashed {
    /// Hashes rows beside each other: a chunk overwrites the first words of a row's state, which then is permuted.
    fn new<R: AsRef<[F]>>(rows: &[R]) -> Self {
        let chunks = |row: &R| row.as_ref().len().div_ceil(CHUNK);
        let most = rows.iter().map(chunks).max().unwrap_or(0);
        let mut inputs = Vec::with_capacity(rows.iter().map(chunks).sum());
        let mut states: Vec<Vec<State>> = rows
            .iter()
            .map(|row| Vec::with_capacity(chunks(row)))
            .collect();
        let mut now = vec![[F::ZERO; WIDTH]; rows.len()];
        for chunk in 0..most {
            let parts = || rows.iter().map(|row| row.as_ref().chunks(CHUNK).nth(chunk));
            for (part, state) in parts().zip(&mut now) {
                if let Some(part) = part {
                    state[..part.len()].copy_from_slice(part);
                    inputs.push(*state);
                }
            }
            permute(&mut now);
            for ((part, state), states) in parts().zip(&now).zip(&mut states) {
                if part.is_some() {
                    states.push(*state);
                }
            }
        }
        Self { inputs, states }
    }

    /// The digest of each row.
    fn digests(&self) -> impl Iterator<Item = Digest> + '_ {
        let last = |states: &Vec<State>| digest(states.last().expect("a row has words"));
        self.states.iter().map(last)
    }
}

/// The digests in a tree of so many layers over each of some cosets.
fn subtrees(cosets: &[&Hashed], layers: usize) -> Vec<Vec<Digest>> {
    let leaves = 1 << layers;
    let mut trees: Vec<Vec<Digest>> = cosets
        .iter()
        .map(|coset| {
            let mut tree = Vec::with_capacity(2 * leaves - 1);
            tree.extend(coset.digests());
            assert_eq!(tree.len(), leaves, "rows that a query opens");
            tree
        })
        .collect();
    let mut states = Vec::with_capacity(cosets.len() * leaves / 2);
    let (mut start, mut width) = (0, leaves);
    while width > 1 {
        states.clear();
        for tree in &trees {
            let pairs = tree[start..start + width].chunks_exact(2);
            states.extend(pairs.map(|pair| state(&pair[0], &pair[1])));
        }
        permute(&mut states);
        (start, width) = (start + width, width / 2);
        for (tree, states) in trees.iter_mut().zip(states.chunks_exact(width)) {
            tree.extend(states.iter().map(digest));
        }
    }
    trees
}
