//! Rows of the chips that compare numbers modulo a prime.

use std::any::Any;

use openvm_algebra_circuit::modular_chip::ModularIsEqualChip;
use openvm_circuit::arch::{MatrixRecordArena, RowMajorMatrixArena, TraceFiller, VmChipWrapper};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::prover::AirProvingContext;

use super::{RangeCounts, BLOCK, BLOCKS_32, BLOCKS_48};
use crate::prelude::{F, SC};

type Chip<const BLOCKS: usize, const BYTES: usize> = ModularIsEqualChip<F, BLOCKS, BLOCK, BYTES>;

/// Rows of a thread, or a multiple.
const ROWS: usize = 512;

/// The trace of a chip, or its records if it does not compare numbers. OpenVM's chip fills each row.
pub(super) fn generate(
    counts: &RangeCounts,
    chip: &dyn Any,
    records: MatrixRecordArena<F>,
) -> Result<AirProvingContext<CpuBackend<SC>>, MatrixRecordArena<F>> {
    if let Some(chip) = chip.downcast_ref::<Chip<BLOCKS_32, 32>>() {
        return Ok(filled(counts, chip, records));
    }
    match chip.downcast_ref::<Chip<BLOCKS_48, 48>>() {
        Some(chip) => Ok(filled(counts, chip, records)),
        None => Err(records),
    }
}

fn filled(
    counts: &RangeCounts,
    chip: &VmChipWrapper<F, impl TraceFiller<F>>,
    records: MatrixRecordArena<F>,
) -> AirProvingContext<CpuBackend<SC>> {
    let (width, used) = (records.width(), records.trace_offset());
    let mut trace = records.into_matrix();
    // Padding is 0.
    counts.fill(&mut trace.values[..used], width, ROWS, |checks, rows| {
        for row in rows.chunks_exact_mut(width) {
            chip.inner.fill_trace_row(checks.memory, row);
        }
    });
    AirProvingContext::simple_no_pis(trace)
}
