//! The compressions that the memory traces ask of the Poseidon2 chip.

use std::{
    borrow::Borrow,
    sync::atomic::{AtomicU32, Ordering},
};

use openvm_circuit::system::{
    memory::{merkle::MemoryMerkleCols, persistent::PersistentBoundaryCols, CHUNK},
    poseidon2::{Poseidon2PeripheryBaseChip, Poseidon2PeripheryChip},
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use super::{
    boundary_rows::BOUNDARY_WIDTH,
    hash::{state, State},
    image::ZERO_CELLS,
    memory::MemoryTraces,
    merkle_rows::MERKLE_WIDTH,
};

/// Counts every compression of the traces in the chip, without computing it.
///
/// The order is that of OpenVM's own memory chips on one thread: the rows of the chip's trace are
/// in the order of a hash map that this order decides.
pub fn record_compressions(traces: &MemoryTraces, chip: &Poseidon2PeripheryChip<F>) {
    match chip {
        Poseidon2PeripheryChip::Register0(chip) => record(traces, chip),
        Poseidon2PeripheryChip::Register1(chip) => record(traces, chip),
    }
}

fn record<const SBOX_REGISTERS: usize>(
    traces: &MemoryTraces,
    chip: &Poseidon2PeripheryBaseChip<F, SBOX_REGISTERS>,
) {
    let count = |state: State| {
        let count = chip.records.entry(state).or_insert(AtomicU32::new(0));
        count.fetch_add(1, Ordering::Relaxed);
    };
    let rows = traces.boundary.chunks_exact(BOUNDARY_WIDTH);
    for row in rows.take(traces.boundary_rows) {
        let row: &PersistentBoundaryCols<F, CHUNK> = row.borrow();
        count(state(&row.values, &ZERO_CELLS));
    }
    // From the lowest level up, and within a level by ascending index, which is the trace from its
    // end; of each pair the state after the segment first.
    let used = &traces.merkle[..traces.merkle_rows * MERKLE_WIDTH];
    for pair in used.chunks_exact(2 * MERKLE_WIDTH).rev() {
        let (first, second) = pair.split_at(MERKLE_WIDTH);
        let first: &MemoryMerkleCols<F, CHUNK> = first.borrow();
        let second: &MemoryMerkleCols<F, CHUNK> = second.borrow();
        let root = first.is_root == F::ONE;
        let (after, before) = if root {
            (second, first)
        } else {
            (first, second)
        };
        count(state(&after.left_child_hash, &after.right_child_hash));
        count(state(&before.left_child_hash, &before.right_child_hash));
    }
    chip.nonempty.store(true, Ordering::Relaxed);
}
