//! `TransportedChip`: a chip of OpenVM's CPU backend whose trace goes to another engine's device.

use std::rc::Rc;

use openvm_circuit::{
    arch::{ChipInventory, MatrixRecordArena},
    primitives::Chip,
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::prover::AirProvingContext;

use super::Uploader;
use crate::{
    engine::SdkEngine,
    prelude::{F, SC},
};

/// The chips of the CPU backend, in the order in which they were added.
pub(super) type CpuChips = ChipInventory<SC, MatrixRecordArena<F>, CpuBackend<SC>>;

/// Chip `index` of an inventory of the CPU backend. Its trace is made on the host, row major, and uploaded
/// once.
///
/// The chips of an inventory refer to each other (lookup tables count what others send), so they stay
/// together and are shared.
pub struct TransportedChip<E: SdkEngine> {
    chips: Rc<CpuChips>,
    index: usize,
    uploader: Uploader<E>,
}

impl<E: SdkEngine> TransportedChip<E> {
    pub(super) fn new(chips: Rc<CpuChips>, index: usize, uploader: Uploader<E>) -> Self {
        Self {
            chips,
            index,
            uploader,
        }
    }
}

impl<E: SdkEngine> Chip<MatrixRecordArena<F>, E::PB> for TransportedChip<E> {
    fn generate_proving_ctx(&self, records: MatrixRecordArena<F>) -> AirProvingContext<E::PB> {
        let ctx = self.chips.chips()[self.index].generate_proving_ctx(records);
        self.uploader.air(ctx)
    }

    fn constant_trace_height(&self) -> Option<usize> {
        self.chips.chips()[self.index].constant_trace_height()
    }
}
