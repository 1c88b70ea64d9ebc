//! `TransportedChip`: a chip of OpenVM's CPU backend whose trace goes to another engine's device.

use std::{rc::Rc, sync::Arc};

use openvm_circuit::{
    arch::{ChipInventory, MatrixRecordArena},
    primitives::Chip,
    system::poseidon2::Poseidon2PeripheryChip,
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::prover::AirProvingContext;

use super::{one_thread::OneThread, poseidon2::sorted_trace, Uploader};
use crate::{
    engine::SdkEngine,
    prelude::{F, SC},
    row_order::RowOrder,
};

/// The chips of the CPU backend, in the order in which they were added.
pub(super) type CpuChips = ChipInventory<SC, MatrixRecordArena<F>, CpuBackend<SC>>;

/// Chip `index` of an inventory of the CPU backend. Its trace is made on the host, row major, and uploaded
/// once.
///
/// Narrow traces are filled on one thread, see [`OneThread`].
///
/// The chips of an inventory refer to each other (lookup tables count what others send), so they stay
/// together and are shared.
///
/// One of OpenVM's chips gives its rows in an order that threads decide by chance: Poseidon2's. Its rows are sorted
/// unless they are wanted [as made](RowOrder::AsMade).
pub struct TransportedChip<E: SdkEngine> {
    chips: Rc<CpuChips>,
    index: usize,
    uploader: Uploader<E>,
    order: RowOrder,
    one_thread: OneThread,
}

impl<E: SdkEngine> TransportedChip<E> {
    pub(super) fn new(
        chips: Rc<CpuChips>,
        index: usize,
        uploader: Uploader<E>,
        order: RowOrder,
        one_thread: OneThread,
    ) -> Self {
        Self {
            chips,
            index,
            uploader,
            order,
            one_thread,
        }
    }

    fn poseidon2(&self) -> Option<&Poseidon2PeripheryChip<F>> {
        let chip = self.chips.chips()[self.index].as_ref().as_any();
        chip.downcast_ref::<Arc<Poseidon2PeripheryChip<F>>>()
            .map(Arc::as_ref)
    }
}

impl<E: SdkEngine> Chip<MatrixRecordArena<F>, E::PB> for TransportedChip<E> {
    fn generate_proving_ctx(&self, records: MatrixRecordArena<F>) -> AirProvingContext<E::PB> {
        let ctx = match (self.order, self.poseidon2()) {
            (RowOrder::Sorted, Some(chip)) => AirProvingContext::simple_no_pis(sorted_trace(chip)),
            _ => self
                .one_thread
                .generate(self.chips.chips()[self.index].as_ref(), records),
        };
        self.uploader.air(ctx)
    }

    fn constant_trace_height(&self) -> Option<usize> {
        self.chips.chips()[self.index].constant_trace_height()
    }
}
