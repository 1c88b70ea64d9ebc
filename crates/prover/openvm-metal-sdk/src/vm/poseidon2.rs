//! The trace of OpenVM's Poseidon2 chip with its rows in order.
//!
//! The chip counts compressions in a concurrent hash map: the order of its rows follows from the number of processors
//! and from which thread came first. Its AIR looks at one row at a time, so any order is as good.

use std::sync::atomic::Ordering;

use openvm_circuit::system::poseidon2::{
    columns::Poseidon2PeripheryCols, Poseidon2PeripheryBaseChip, Poseidon2PeripheryChip,
    PERIPHERY_POSEIDON2_WIDTH,
};
use openvm_stark_backend::{
    p3_field::PrimeCharacteristicRing,
    p3_matrix::{dense::RowMajorMatrix, Matrix},
};
use rayon::prelude::*;

use crate::prelude::F;

/// The trace of the chip's own generation, with the rows ascending by input; padding at the end. Clears the
/// chip.
pub(super) fn sorted_trace(chip: &Poseidon2PeripheryChip<F>) -> RowMajorMatrix<F> {
    match chip {
        Poseidon2PeripheryChip::Register0(chip) => of_chip(chip),
        Poseidon2PeripheryChip::Register1(chip) => of_chip(chip),
    }
}

fn of_chip<const SBOX_REGISTERS: usize>(
    chip: &Poseidon2PeripheryBaseChip<F, SBOX_REGISTERS>,
) -> RowMajorMatrix<F> {
    let width = Poseidon2PeripheryCols::<F, SBOX_REGISTERS>::width();
    if !chip.nonempty.load(Ordering::Relaxed) {
        return RowMajorMatrix::new(vec![], width);
    }
    let mut records: Vec<([F; PERIPHERY_POSEIDON2_WIDTH], u32)> = chip
        .records
        .par_iter()
        .map(|record| (*record.key(), record.value().load(Ordering::Relaxed)))
        .collect();
    chip.records.clear();
    chip.nonempty.store(false, Ordering::Relaxed);
    records.par_sort_unstable_by_key(|&(input, _)| input);

    let height = records.len().next_power_of_two();
    records.resize(height, ([F::ZERO; PERIPHERY_POSEIDON2_WIDTH], 0));
    let inputs = records.iter().map(|&(input, _)| input).collect();
    let permutations = chip.subchip.generate_trace(inputs);
    let count = permutations.width();
    assert_eq!(
        count + 1,
        width,
        "a permutation and how often it is looked up"
    );
    let mut values = F::zero_vec(height * width);
    values
        .par_chunks_mut(width)
        .zip(permutations.values.par_chunks(count))
        .zip(&records)
        .for_each(|((row, permutation), &(_, lookups))| {
            row[..count].copy_from_slice(permutation);
            row[count] = F::from_u32(lookups);
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
    use crate::prelude::SC;

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
}
