//! `TransportedChip`: a chip of OpenVM's CPU backend whose trace is on another engine's device.

use std::{rc::Rc, sync::Arc};

use openvm_circuit::{
    arch::{Arena, ChipInventory, MatrixRecordArena},
    primitives::Chip,
    system::poseidon2::Poseidon2PeripheryChip,
};
use openvm_cpu_backend::CpuBackend;
use openvm_metal_tracegen::DeviceChip;
use openvm_stark_backend::prover::AirProvingContext;

use super::{
    arena::{Records, TraceArena},
    one_thread::OneThread,
    poseidon2::sorted_trace,
    Uploader,
};
use crate::{
    engine::SdkEngine,
    prelude::{F, SC},
    row_order::RowOrder,
};

/// The chips of the CPU backend, in the order in which they were added.
pub(super) type CpuChips = ChipInventory<SC, MatrixRecordArena<F>, CpuBackend<SC>>;

/// Chip `index` of an inventory of the CPU backend.
///
/// If the device makes the traces of a segment, and knows the chip, its compact records are uploaded, and the rows are made there; so
/// are the traces of the tables that such chips count in. Else the trace is made on the host, row major, and uploaded once.
///
/// Narrow traces of the host are filled on one thread, see [`OneThread`].
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

    fn on_host(&self, records: MatrixRecordArena<F>) -> AirProvingContext<E::PB> {
        let ctx = match (self.order, self.poseidon2()) {
            (RowOrder::Sorted, Some(chip)) => AirProvingContext::simple_no_pis(sorted_trace(chip)),
            _ => self
                .one_thread
                .generate(self.chips.chips()[self.index].as_ref(), records),
        };
        self.uploader.air(ctx)
    }

    fn on_device(&self, records: &Records) -> AirProvingContext<E::PB> {
        let rows = self
            .uploader
            .device_chips()
            .and_then(|chips| chips.rows(self.index));
        let chip = rows.expect("records are compact for chips of the device");
        AirProvingContext::simple_no_pis(self.uploader.rows(chip, records.bytes()))
    }
}

impl<E: SdkEngine> Chip<TraceArena, E::PB> for TransportedChip<E> {
    fn generate_proving_ctx(&self, records: TraceArena) -> AirProvingContext<E::PB> {
        let records = match records {
            TraceArena::Records(records) => return self.on_device(&records),
            TraceArena::Rows(records) => records,
        };
        let chips = self.uploader.device_chips();
        match chips.and_then(|chips| chips.get(self.index)) {
            Some(DeviceChip::Table(table)) => {
                debug_assert!(records.is_empty(), "tables have no records");
                AirProvingContext::simple_no_pis(self.uploader.table(table))
            }
            _ => self.on_host(records),
        }
    }

    fn constant_trace_height(&self) -> Option<usize> {
        self.chips.chips()[self.index].constant_trace_height()
    }
}
