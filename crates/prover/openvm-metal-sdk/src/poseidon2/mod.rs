//! Poseidon2 of BabyBear with 16 words on the host: many permutations at a time, and the rows of the AIR that checks them.
//!
//! The transcript's form, one state after the other, is `openvm-metal-backend`'s: there the time of one permutation counts, here
//! how many are done in a second.
//!
//! Vector instructions are found when the program runs: p3's packed fields are chosen when it is compiled, and a plain
//! build for x86-64 has none.

mod lanes;
mod permutation;
#[cfg(target_arch = "x86_64")]
mod x86;

use lanes::{Lanes, One, Packed};
use permutation::{permute as permute_lanes, Cells, Nothing};

use p3_field::PrimeCharacteristicRing;

pub(crate) use openvm_metal_backend::prelude::WIDTH;

use crate::prelude::{Digest, F};

/// State of the permutation.
pub(crate) type State = [F; WIDTH];

/// Columns of a permutation in the AIR with one register for each S-box: `p3_poseidon2_air::Poseidon2Cols`.
pub(crate) const COLUMNS: usize = 1 + WIDTH + 2 * 4 * 2 * WIDTH + 2 * 13;

/// Two digests side by side.
pub(crate) fn state(left: &Digest, right: &Digest) -> State {
    let mut state = [F::ZERO; WIDTH];
    state[..WIDTH / 2].copy_from_slice(left);
    state[WIDTH / 2..].copy_from_slice(right);
    state
}

/// The digest of a permuted state: its first half.
pub(crate) fn digest(state: &State) -> Digest {
    std::array::from_fn(|i| state[i])
}

/// Permutes every state. Uses one thread.
pub(crate) fn permute(states: &mut [State]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = x86::Vectors::of_this_processor() {
        return vectors.permute(states);
    }
    permute_with::<Packed>((), states);
}

/// Writes the rows of the AIR for these inputs: row `i` begins at cell `i * width` and has [`COLUMNS`] cells; what is
/// behind them in a row is left as it is. Uses one thread.
///
/// # Panics
/// If there are fewer than `inputs.len() * width` cells, or a row has fewer than [`COLUMNS`].
pub(crate) fn write_rows(inputs: &[State], cells: &mut [F], width: usize) {
    assert!(
        width >= COLUMNS && cells.len() >= inputs.len() * width,
        "{} rows of {width} columns do not fit into {} cells",
        inputs.len(),
        cells.len()
    );
    #[cfg(target_arch = "x86_64")]
    if let Some(vectors) = x86::Vectors::of_this_processor() {
        return vectors.write_rows(inputs, cells, width);
    }
    write_rows_with::<Packed>((), inputs, cells, width);
}

/// Most lanes of a vector.
const MOST_LANES: usize = 16;

/// [`permute`] with vectors of one kind. The last states fill a vector in part; one alone takes less time without.
#[inline(always)]
fn permute_with<L: Lanes>(permission: L::Permission, states: &mut [State]) {
    let mut full = states.chunks_exact_mut(L::COUNT);
    // No closure: it would be compiled for every processor.
    for states in full.by_ref() {
        permute_vector::<L>(permission, states);
    }
    match full.into_remainder() {
        [] => {}
        [state] => {
            let mut lanes = state.map(One);
            permute_lanes(&mut lanes, &mut Nothing);
            *state = lanes.map(|lane| lane.0);
        }
        rest => {
            let mut states = [[F::ZERO; WIDTH]; MOST_LANES];
            states[..rest.len()].copy_from_slice(rest);
            permute_vector::<L>(permission, &mut states[..L::COUNT]);
            rest.copy_from_slice(&states[..rest.len()]);
        }
    }
}

/// Permutes as many states as there are lanes.
#[inline(always)]
fn permute_vector<L: Lanes>(permission: L::Permission, states: &mut [State]) {
    const { assert!(L::COUNT <= MOST_LANES) };
    let mut lanes: [L; WIDTH] = std::array::from_fn(|i| L::gather(permission, states, i));
    permute_lanes(&mut lanes, &mut Nothing);
    for (i, lanes) in lanes.iter().enumerate() {
        lanes.scatter(|lane, x| states[lane][i] = x);
    }
}

/// [`write_rows`] with vectors of one kind; inputs that fill no vector one by one.
#[inline(always)]
fn write_rows_with<L: Lanes>(
    permission: L::Permission,
    inputs: &[State],
    cells: &mut [F],
    width: usize,
) {
    let full = inputs.chunks_exact(L::COUNT);
    let rest = full.remainder();
    let (front, back) = cells.split_at_mut((inputs.len() - rest.len()) * width);
    for (inputs, cells) in full.zip(front.chunks_exact_mut(L::COUNT * width)) {
        let mut lanes: [L; WIDTH] = std::array::from_fn(|i| L::gather(permission, inputs, i));
        permute_lanes(&mut lanes, &mut Cells::new(cells, width));
    }
    for (input, cells) in rest.iter().zip(back.chunks_exact_mut(width)) {
        permute_lanes(&mut input.map(One), &mut Cells::new(cells, width));
    }
}

#[cfg(test)]
mod tests {
    use openvm_poseidon2_air::{Poseidon2Config, Poseidon2SubChip};
    use openvm_stark_sdk::config::baby_bear_poseidon2::poseidon2_perm;
    use p3_field::PrimeField32;
    use p3_symmetric::Permutation;
    use rand::{rngs::StdRng, Rng, SeedableRng};

    use super::*;

    /// Random states, and some whose words are 0, 1 or the largest.
    fn states(n: usize, seed: u64) -> Vec<State> {
        let mut rng = StdRng::seed_from_u64(seed);
        let edges = [0, 1, F::ORDER_U32 - 1];
        (0..n)
            .map(|i| {
                std::array::from_fn(|_| match i % 5 {
                    0 => F::from_u32(edges[rng.random_range(0..3)]),
                    _ => F::from_u32(rng.random_range(0..F::ORDER_U32)),
                })
            })
            .collect()
    }

    /// An implementation: by name, for states and for rows.
    type Kind = (
        &'static str,
        fn(&mut [State]),
        fn(&[State], &mut [F], usize),
    );

    /// All that this processor has.
    fn kinds() -> Vec<Kind> {
        let mut kinds: Vec<Kind> = vec![
            ("chosen", permute, write_rows),
            (
                "one",
                |states| permute_with::<One>((), states),
                |inputs, cells, width| write_rows_with::<One>((), inputs, cells, width),
            ),
            (
                "packed",
                |states| permute_with::<Packed>((), states),
                |inputs, cells, width| write_rows_with::<Packed>((), inputs, cells, width),
            ),
        ];
        #[cfg(target_arch = "x86_64")]
        kinds.extend(x86::tests::kinds());
        kinds
    }

    #[test]
    fn states_are_those_of_the_library() {
        for (name, permute, _) in kinds() {
            for n in [0, 1, 7, 8, 9, 15, 16, 17, 40, 103] {
                let mut states = states(n, n as u64);
                let expected: Vec<State> = states
                    .iter()
                    .map(|state| poseidon2_perm().permute(*state))
                    .collect();
                permute(&mut states);
                assert_eq!(states, expected, "{name}, {n} states");
            }
        }
    }

    #[test]
    fn rows_are_those_of_the_library() {
        let chip = Poseidon2SubChip::<F, 1>::new(Poseidon2Config::default().constants);
        for (name, _, write_rows) in kinds() {
            for log_n in 0..6 {
                let inputs = states(1 << log_n, log_n);
                let expected = chip.generate_trace(inputs.clone());
                assert_eq!(expected.width, COLUMNS);
                let odd = inputs.len().saturating_sub(log_n as usize);
                for (n, width) in [(inputs.len(), COLUMNS), (odd, COLUMNS + 2)] {
                    let mut cells = vec![F::TWO; n * width];
                    write_rows(&inputs[..n], &mut cells, width);
                    for (row, expected) in cells
                        .chunks_exact(width)
                        .zip(expected.values.chunks_exact(COLUMNS))
                    {
                        assert_eq!(&row[..COLUMNS], expected, "{name}, {n} rows");
                        assert!(row[COLUMNS..].iter().all(|&x| x == F::TWO));
                    }
                }
            }
        }
    }
}
