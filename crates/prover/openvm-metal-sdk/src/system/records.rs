//! The compressions that the memory traces ask of the Poseidon2 chip.

use std::{
    borrow::Borrow,
    mem,
    sync::{
        atomic::{AtomicU32, Ordering},
        Arc, Mutex,
    },
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
use crate::slot::lock;

/// Compressions of a segment's memory that the trace of the Poseidon2 chip waits for. Clones are the same list.
#[derive(Clone, Debug, Default)]
pub struct Compressions(Arc<Mutex<Vec<State>>>);

impl Compressions {
    pub(super) fn add(&self, traces: &MemoryTraces) {
        let mut list = lock(&self.0);
        list.reserve(traces.boundary_rows + traces.merkle_rows);
        list.extend(of_traces(traces));
    }

    /// All that were added since the last call.
    pub(crate) fn take(&self) -> Vec<State> {
        mem::take(&mut *lock(&self.0))
    }
}

/// Inputs of every compression that the traces need.
///
/// The order is that of OpenVM's own memory chips on one thread: the rows of the chip's trace are
/// in the order of a hash map that this order decides.
pub(super) fn of_traces(traces: &MemoryTraces) -> impl Iterator<Item = State> + '_ {
    let rows = traces.boundary.chunks_exact(BOUNDARY_WIDTH);
    let leaves = rows.take(traces.boundary_rows).map(|row| {
        let row: &PersistentBoundaryCols<F, CHUNK> = row.borrow();
        state(&row.values, &ZERO_CELLS)
    });
    // From the lowest level up, and within a level by ascending index, which is the trace from its
    // end; of each pair the state after the segment first.
    let used = &traces.merkle[..traces.merkle_rows * MERKLE_WIDTH];
    let pairs = used.chunks_exact(2 * MERKLE_WIDTH).rev();
    let parents = pairs.flat_map(|pair| {
        let (first, second) = pair.split_at(MERKLE_WIDTH);
        let first: &MemoryMerkleCols<F, CHUNK> = first.borrow();
        let second: &MemoryMerkleCols<F, CHUNK> = second.borrow();
        let root = first.is_root == F::ONE;
        let pair = if root {
            [second, first]
        } else {
            [first, second]
        };
        pair.map(|row| state(&row.left_child_hash, &row.right_child_hash))
    });
    leaves.chain(parents)
}

/// Counts compressions in the chip, without computing them.
pub(crate) fn record(
    compressions: impl IntoIterator<Item = State>,
    chip: &Poseidon2PeripheryChip<F>,
) {
    match chip {
        Poseidon2PeripheryChip::Register0(chip) => record_in(compressions, chip),
        Poseidon2PeripheryChip::Register1(chip) => record_in(compressions, chip),
    }
}

fn record_in<const SBOX_REGISTERS: usize>(
    compressions: impl IntoIterator<Item = State>,
    chip: &Poseidon2PeripheryBaseChip<F, SBOX_REGISTERS>,
) {
    for state in compressions {
        let count = chip.records.entry(state).or_insert(AtomicU32::new(0));
        count.fetch_add(1, Ordering::Relaxed);
        chip.nonempty.store(true, Ordering::Relaxed);
    }
}
