//! The permutations of OpenVM's Poseidon2 chip in an order of their own, and their trace on the host.
//!
//! The chip counts compressions in a concurrent hash map: the order of its rows follows from the number of processors
//! and from which thread came first. Its AIR looks at one row at a time, so any order is as good.

use std::sync::atomic::Ordering;

use openvm_circuit::system::poseidon2::{Poseidon2PeripheryBaseChip, Poseidon2PeripheryChip};
use openvm_metal_tracegen::Permutations;
use openvm_stark_backend::{
    p3_field::{PrimeCharacteristicRing, PrimeField32},
    p3_matrix::{dense::RowMajorMatrix, Matrix},
};
use rayon::prelude::*;

use crate::{prelude::F, system::State};

/// Distinct inputs of `compressions` and of the chip's counts, with their lookups, ordered by a hash of the input. Clears the chip.
pub(super) fn sorted(compressions: Vec<State>, chip: &Poseidon2PeripheryChip<F>) -> Permutations {
    let counted = match chip {
        Poseidon2PeripheryChip::Register0(chip) => take(chip),
        Poseidon2PeripheryChip::Register1(chip) => take(chip),
    };
    let listed = compressions.len();
    let input = |i: u32| match (i as usize).checked_sub(listed) {
        None => &compressions[i as usize],
        Some(i) => &counted[i].0,
    };
    let count = u32::try_from(listed + counted.len()).expect("compressions of a segment");
    // A hash and an index are moved while they are sorted, not the input.
    let mut order: Vec<(u64, u32)> = (0..count).map(|i| (hash(input(i)), i)).collect();
    order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| input(a.1).cmp(input(b.1))));
    let mut permutations = Permutations::none_of(chip);
    for (_, i) in order {
        let lookups = (i as usize).checked_sub(listed).map_or(1, |i| counted[i].1);
        if permutations.inputs.last() == Some(input(i)) {
            *permutations.lookups.last_mut().expect("one for each input") += lookups;
        } else {
            permutations.inputs.push(*input(i));
            permutations.lookups.push(lookups);
        }
    }
    permutations
}

fn take<const SBOX_REGISTERS: usize>(
    chip: &Poseidon2PeripheryBaseChip<F, SBOX_REGISTERS>,
) -> Vec<(State, u32)> {
    let records = chip.records.iter();
    let counted = records
        .map(|record| (*record.key(), record.value().load(Ordering::Relaxed)))
        .collect();
    chip.records.clear();
    chip.nonempty.store(false, Ordering::Relaxed);
    counted
}

/// A hash of the input by which equal ones come together.
fn hash(input: &State) -> u64 {
    input.iter().fold(0, |hash: u64, word| {
        let word = u64::from(word.to_unique_u32());
        (hash.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
    })
}

/// The trace of permutations: one row each, then those of zeros up to the next power of two.
pub(super) fn trace(
    mut permutations: Permutations,
    chip: &Poseidon2PeripheryChip<F>,
) -> RowMajorMatrix<F> {
    let width = permutations.columns();
    let rows = permutations.inputs.len();
    if rows == 0 {
        return RowMajorMatrix::new(vec![], width);
    }
    let height = rows.next_power_of_two();
    permutations.inputs.resize(height, State::default());
    permutations.lookups.resize(height, 0);
    let inner = match chip {
        Poseidon2PeripheryChip::Register0(chip) => chip.subchip.generate_trace(permutations.inputs),
        Poseidon2PeripheryChip::Register1(chip) => chip.subchip.generate_trace(permutations.inputs),
    };
    let columns = inner.width();
    assert_eq!(
        columns + 1,
        width,
        "a permutation and how often it is looked up"
    );
    let mut values = F::zero_vec(height * width);
    values
        .par_chunks_mut(width)
        .zip(inner.values.par_chunks(columns))
        .zip(&permutations.lookups)
        .for_each(|((row, permutation), &lookups)| {
            row[..columns].copy_from_slice(permutation);
            row[columns] = F::from_u32(lookups);
        });
    RowMajorMatrix::new(values, width)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use openvm_circuit::{
        arch::{hasher::HasherChip, vm_poseidon2_config, MatrixRecordArena},
        primitives::Chip,
    };
    use openvm_cpu_backend::CpuBackend;
    use openvm_stark_backend::prover::AirProvingContext;

    use super::*;
    use crate::{prelude::SC, system};

    fn sorted_trace(chip: &Poseidon2PeripheryChip<F>) -> RowMajorMatrix<F> {
        trace(sorted(vec![], chip), chip)
    }

    fn record(chip: &Poseidon2PeripheryChip<F>, inputs: impl Iterator<Item = u32>) {
        for i in inputs {
            let half =
                |k: u32| std::array::from_fn(|j| F::from_u32(i * 1_000_003 + k * 17 + j as u32));
            let _ = chip.compress_and_record(&half(0), &half(1));
        }
    }

    fn rows(trace: &RowMajorMatrix<F>) -> Vec<Vec<F>> {
        trace.rows().map(|row| row.collect()).collect()
    }

    #[test]
    fn rows_are_those_of_the_chip_in_an_order_of_their_own() {
        for (degree, n) in [(3, 0), (3, 1), (3, 300), (7, 37)] {
            let chip = || Arc::new(Poseidon2PeripheryChip::new(vm_poseidon2_config(), degree));
            let (forth, back, made) = (chip(), chip(), chip());
            record(&forth, (0..n).chain(0..n / 3));
            record(&back, (0..n / 3).rev().chain((0..n).rev()));
            record(&made, (0..n).chain(0..n / 3));
            let forth = sorted_trace(&forth);
            assert_eq!(forth, sorted_trace(&back), "{n} compressions");

            let arena = MatrixRecordArena::<F>::default();
            let made: AirProvingContext<CpuBackend<SC>> = made.generate_proving_ctx(arena);
            let (mut sorted, mut made) = (rows(&forth), rows(&made.common_main));
            sorted.sort();
            made.sort();
            assert_eq!(sorted, made, "{n} compressions");
        }
    }

    #[test]
    fn the_chip_is_empty_afterwards() {
        let chip = Poseidon2PeripheryChip::new(vm_poseidon2_config(), 3);
        record(&chip, 0..5);
        assert_eq!(sorted_trace(&chip).height(), 8);
        assert_eq!(sorted_trace(&chip).height(), 0);
    }

    #[test]
    fn a_list_counts_as_the_chip_does() {
        let chip = || Poseidon2PeripheryChip::new(vm_poseidon2_config(), 3);
        let states: Vec<State> = (0..50u32)
            .map(|i| std::array::from_fn(|j| F::from_u32(i % 20 * 7 + j as u32)))
            .collect();
        let (recorded, half) = (chip(), chip());
        system::record(states.iter().copied(), &recorded);
        system::record(states[..25].iter().copied(), &half);
        let expected = sorted_trace(&recorded);
        assert_eq!(expected.height(), 32);
        assert_eq!(
            trace(sorted(states.clone(), &recorded), &recorded),
            expected
        );
        assert_eq!(trace(sorted(states[25..].to_vec(), &half), &half), expected);
    }
}
