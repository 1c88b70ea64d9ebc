//! The trace of OpenVM's `Poseidon2Air`: a row for each input, with how often it is permuted and compressed.

use openvm_recursion_circuit::transcript::poseidon2::Poseidon2Cols;
use openvm_stark_backend::p3_matrix::dense::RowMajorMatrix;
use p3_field::{PrimeCharacteristicRing, PrimeField32};
use rayon::prelude::*;

use super::zeros::zeros;
use crate::{
    poseidon2::{write_rows, State, COLUMNS, WIDTH},
    prelude::F,
};

/// Columns of a row: a permutation, and both counts.
const ROW: usize = COLUMNS + 2;

/// Rows that one task fills.
const TASK_ROWS: usize = 64;

/// An input and how often it is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Count {
    input: State,
    permuted: u32,
    compressed: u32,
}

/// The trace for these inputs, which come in any order and any number of times; rows ascend by input, padding is last.
/// Filled on all threads.
pub(super) fn rows<'a>(
    permuted: impl Iterator<Item = &'a [State]>,
    compressed: impl Iterator<Item = &'a [State]>,
) -> RowMajorMatrix<F> {
    assert_eq!(
        ROW,
        Poseidon2Cols::<F, 1>::width(),
        "columns of a permutation"
    );
    let mut inputs: Vec<State> = Vec::new();
    permuted.for_each(|states| inputs.extend_from_slice(states));
    let split = inputs.len();
    compressed.for_each(|states| inputs.extend_from_slice(states));
    let counts = count(&inputs, split);

    let mut cells = zeros(counts.len().next_power_of_two() * ROW);
    let (filled, padding) = cells.split_at_mut(counts.len() * ROW);
    filled
        .par_chunks_mut(TASK_ROWS * ROW)
        .zip(counts.par_chunks(TASK_ROWS))
        .for_each(|(cells, counts)| fill(counts, cells));
    let mut row = [F::ZERO; ROW];
    write_rows(&[[F::ZERO; WIDTH]], &mut row, ROW);
    padding.par_chunks_mut(TASK_ROWS * ROW).for_each(|cells| {
        cells
            .chunks_exact_mut(ROW)
            .for_each(|cells| cells.copy_from_slice(&row))
    });
    RowMajorMatrix::new(cells, ROW)
}

fn fill(counts: &[Count], cells: &mut [F]) {
    let mut inputs = [[F::ZERO; WIDTH]; TASK_ROWS];
    for (input, count) in inputs.iter_mut().zip(counts) {
        *input = count.input;
    }
    write_rows(&inputs[..counts.len()], cells, ROW);
    for (row, count) in cells.chunks_exact_mut(ROW).zip(counts) {
        row[COLUMNS] = F::from_u32(count.permuted);
        row[COLUMNS + 1] = F::from_u32(count.compressed);
    }
}

/// Each input once, ascending by its words as numbers. The first `split` are permuted, the others compressed.
fn count(inputs: &[State], split: usize) -> Vec<Count> {
    // Four words decide nearly always.
    let key = |state: &State| {
        let words = state[..4].iter().map(|x| u128::from(x.as_canonical_u32()));
        words.fold(0, |key, word| key << 32 | word)
    };
    let rest = |at: u32| inputs[at as usize].map(|x| x.as_canonical_u32());
    let mut order: Vec<(u128, u32)> = inputs
        .par_iter()
        .enumerate()
        .map(|(at, state)| (key(state), at as u32))
        .collect();
    order.par_sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| rest(a.1).cmp(&rest(b.1))));
    let same = |a: &(u128, u32), b: &(u128, u32)| {
        a.0 == b.0 && inputs[a.1 as usize] == inputs[b.1 as usize]
    };
    order
        .chunk_by(same)
        .map(|equal| {
            let permuted = equal
                .iter()
                .filter(|(_, at)| (*at as usize) < split)
                .count();
            Count {
                input: inputs[equal[0].1 as usize],
                permuted: permuted as u32,
                compressed: (equal.len() - permuted) as u32,
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(words: [u32; 3]) -> State {
        let mut state = [F::ZERO; WIDTH];
        (state[0], state[3], state[15]) = (
            F::from_u32(words[0]),
            F::from_u32(words[1]),
            F::from_u32(words[2]),
        );
        state
    }

    #[test]
    fn inputs_ascend_and_are_counted() {
        let [a, b, c, d] = [[0, 5, 9], [0, 7, 0], [0, 7, 1], [3, 0, 0]].map(state);
        let counts = count(&[d, b, a, d, c, b, b], 3);
        let entry = |input, permuted, compressed| Count {
            input,
            permuted,
            compressed,
        };
        assert_eq!(
            counts,
            [
                entry(a, 1, 0),
                entry(b, 1, 2),
                entry(c, 0, 1),
                entry(d, 1, 1)
            ]
        );
        assert!(count(&[], 0).is_empty());
    }

    #[test]
    fn without_inputs_there_is_one_row_of_padding() {
        let trace = rows([].into_iter(), [].into_iter());
        assert_eq!(trace.values.len(), ROW);
        let zero = [[F::ZERO; WIDTH]; 1];
        let mut expected = vec![F::ZERO; ROW];
        write_rows(&zero, &mut expected, ROW);
        assert_eq!(trace.values, expected);
    }
}
