//! The trace of OpenVM's `TranscriptAir`: up to eight words that are observed, or sampled, in a row.

use std::borrow::BorrowMut;

use openvm_recursion_circuit::{system::Preflight, transcript::transcript::TranscriptCols};
use openvm_stark_backend::p3_matrix::dense::RowMajorMatrix;
use p3_field::PrimeCharacteristicRing;

use super::opened::CHUNK;
use crate::{
    poseidon2::{State, WIDTH},
    prelude::F,
};

/// A row: words `start..end` of a transcript, all observed or all sampled.
struct Run {
    start: usize,
    end: usize,
    is_sample: bool,
    /// The state is permuted behind it.
    permuted: bool,
}

/// The rows of a transcript, given which of its words are sampled.
fn runs(samples: &[bool]) -> Vec<Run> {
    let mut runs = Vec::new();
    for same in samples.chunk_by(|a, b| a == b) {
        let is_sample = same[0];
        for words in same.chunks(CHUNK) {
            let start = runs.last().map_or(0, |run: &Run| run.end);
            let end = start + words.len();
            // Before words are sampled the state is permuted, if anything was observed or all was sampled; before they
            // are observed, if eight were observed.
            let permuted = samples.get(end).is_some_and(|&next| next || !is_sample);
            runs.push(Run {
                start,
                end,
                is_sample,
                permuted,
            });
        }
    }
    runs
}

/// The trace of all proofs' transcripts, and the inputs of their permutations.
pub(super) fn rows(preflights: &[Preflight]) -> (RowMajorMatrix<F>, Vec<State>) {
    let width = TranscriptCols::<F>::width();
    let runs: Vec<Vec<Run>> = preflights
        .iter()
        .map(|preflight| runs(preflight.transcript.samples()))
        .collect();
    let count = runs.iter().map(Vec::len).sum::<usize>();
    let mut cells = F::zero_vec(count.next_power_of_two() * width);
    let mut inputs = Vec::with_capacity(count);
    let mut rows = cells.chunks_exact_mut(width);
    for (proof, (preflight, runs)) in preflights.iter().zip(&runs).enumerate() {
        let log = &preflight.transcript;
        // The sponge's states: the first one is that before everything.
        let mut states = log.perm_results().iter().skip(1);
        let mut state = [F::ZERO; WIDTH];
        for (number, (run, row)) in runs.iter().zip(rows.by_ref()).enumerate() {
            let columns: &mut TranscriptCols<F> = row.borrow_mut();
            columns.proof_idx = F::from_usize(proof);
            columns.is_proof_start = F::from_bool(number == 0);
            columns.tidx = F::from_usize(run.start);
            columns.is_sample = F::from_bool(run.is_sample);
            columns.mask[..run.end - run.start].fill(F::ONE);
            if !run.is_sample {
                let words = &log.values()[run.start..run.end];
                state[..words.len()].copy_from_slice(words);
            }
            columns.prev_state = state;
            if run.permuted {
                inputs.push(state);
                state = *states.next().expect("the sponge kept all its states");
            }
            columns.post_state = state;
        }
    }
    (RowMajorMatrix::new(cells, width), inputs)
}

#[cfg(test)]
mod tests {
    use super::runs;

    #[test]
    fn rows_end_where_the_kind_changes_or_eight_words_are_there() {
        // Nine observed, eight sampled, two observed, one sampled, one observed.
        let kinds = [(9, false), (8, true), (2, false), (1, true), (1, false)];
        let samples: Vec<bool> = kinds.iter().flat_map(|&(n, kind)| vec![kind; n]).collect();
        let rows: Vec<_> = runs(&samples)
            .iter()
            .map(|run| (run.start, run.end, run.is_sample, run.permuted))
            .collect();
        assert_eq!(
            rows,
            [
                (0, 8, false, true),
                (8, 9, false, true),
                (9, 17, true, false),
                (17, 19, false, true),
                (19, 20, true, false),
                (20, 21, false, false),
            ]
        );
        let nine: Vec<_> = runs(&[true; 9]).iter().map(|run| run.permuted).collect();
        assert_eq!(nine, [true, false]);
        assert!(runs(&[]).is_empty());
    }
}
