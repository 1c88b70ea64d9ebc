//! `RangeCounts`: range checks of rows that several threads fill.

use std::sync::{atomic::Ordering, Arc};

use openvm_circuit::{
    primitives::var_range::{SharedVariableRangeCheckerChip, VariableRangeCheckerChip},
    system::memory::{MemoryAuxColsFactory, SharedMemoryHelper},
};
use rayon::prelude::*;

use crate::prelude::F;

/// The range checks of a machine.
///
/// A row makes dozens of checks. Threads that add to the same counters wait for each other's cache lines, so each thread counts in a table of its own,
/// which is added to the machine's table in the end.
#[derive(Clone)]
pub(super) struct RangeCounts {
    range: SharedVariableRangeCheckerChip,
    timestamp_bits: usize,
}

/// A table of range checks, and the columns of accesses to memory whose checks are counted in it.
pub(super) struct Checks<'a> {
    pub range: &'a VariableRangeCheckerChip,
    pub memory: &'a MemoryAuxColsFactory<'a, F>,
}

impl RangeCounts {
    /// Takes the machine's table and the bits of a timestamp.
    pub fn new(range: SharedVariableRangeCheckerChip, timestamp_bits: usize) -> Self {
        Self {
            range,
            timestamp_bits,
        }
    }

    /// Calls `fill` with pieces of `rows`, which have `width` cells each, on all of rayon's threads. Pieces have a multiple of `least` rows, which are
    /// worth a table of 2^18 counters, except the last one.
    pub fn fill(
        &self,
        rows: &mut [F],
        width: usize,
        least: usize,
        fill: impl Fn(&Checks<'_>, &mut [F]) + Sync,
    ) {
        let count = rows.len() / width;
        let piece = count.div_ceil(rayon::current_num_threads());
        let piece = piece.next_multiple_of(least);
        if count <= piece {
            return self.fill_in(&self.range, rows, &fill);
        }
        rows.par_chunks_mut(piece * width).for_each(|rows| {
            let own = Arc::new(VariableRangeCheckerChip::new(self.range.bus()));
            self.fill_in(&own, rows, &fill);
            self.add(&own);
        });
    }

    fn fill_in(
        &self,
        range: &SharedVariableRangeCheckerChip,
        rows: &mut [F],
        fill: impl Fn(&Checks<'_>, &mut [F]),
    ) {
        let memory = SharedMemoryHelper::new(range.clone(), self.timestamp_bits);
        let memory = &memory.as_borrowed();
        fill(&Checks { range, memory }, rows);
    }

    fn add(&self, own: &VariableRangeCheckerChip) {
        for (shared, own) in self.range.count.iter().zip(&own.count) {
            let count = own.load(Ordering::Relaxed);
            if count > 0 {
                shared.fetch_add(count, Ordering::Relaxed);
            }
        }
    }
}
