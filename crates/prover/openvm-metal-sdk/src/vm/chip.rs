//! `TransportedChip`: a chip of OpenVM's CPU backend whose trace is on another engine's device.

use std::{rc::Rc, sync::Arc};

use openvm_circuit::{
    arch::{Arena, ChipInventory, MatrixRecordArena},
    primitives::Chip,
    system::poseidon2::Poseidon2PeripheryChip,
};
use openvm_cpu_backend::CpuBackend;
use openvm_metal_tracegen::DeviceChip;
use openvm_stark_backend::{p3_matrix::Matrix, prover::AirProvingContext};

use super::{
    arena::{Records, TraceArena},
    field_expression::FieldExpressionRows,
    one_thread::OneThread,
    poseidon2, Uploader,
};
use crate::{
    engine::SdkEngine,
    prelude::{F, SC},
    row_order::RowOrder,
    system::{record, Compressions},
};

/// The chips of the CPU backend, in the order in which they were added.
pub(super) type CpuChips = ChipInventory<SC, MatrixRecordArena<F>, CpuBackend<SC>>;

/// Chip `index` of an inventory of the CPU backend.
///
/// If the device makes the traces of a segment, and knows the chip, its compact records are uploaded, and the rows are made there; so
/// are the traces of the tables that such chips count in. Else the trace is made on the host, row major, and uploaded once.
///
/// Narrow traces of the host are filled on one thread, see [`OneThread`]; traces of computations modulo a prime by [`FieldExpressionRows`].
///
/// The chips of an inventory refer to each other (lookup tables count what others send), so they stay
/// together and are shared.
///
/// One of OpenVM's chips gives its rows in an order that threads decide by chance: Poseidon2's. Its rows are sorted, on the device as on the host,
/// unless they are wanted [as made](RowOrder::AsMade).
pub struct TransportedChip<E: SdkEngine> {
    chips: Rc<CpuChips>,
    index: usize,
    uploader: Uploader<E>,
    order: RowOrder,
    one_thread: OneThread,
    fields: Option<FieldExpressionRows>,
    compressions: Compressions,
}

impl<E: SdkEngine> TransportedChip<E> {
    pub(super) fn new(
        chips: Rc<CpuChips>,
        index: usize,
        uploader: Uploader<E>,
        order: RowOrder,
        one_thread: OneThread,
        fields: Option<FieldExpressionRows>,
        compressions: Compressions,
    ) -> Self {
        Self {
            chips,
            index,
            uploader,
            order,
            one_thread,
            fields,
            compressions,
        }
    }

    fn poseidon2(&self) -> Option<&Poseidon2PeripheryChip<F>> {
        let chip = self.chips.chips()[self.index].as_ref().as_any();
        chip.downcast_ref::<Arc<Poseidon2PeripheryChip<F>>>()
            .map(Arc::as_ref)
    }

    fn on_host(&self, records: MatrixRecordArena<F>) -> AirProvingContext<E::PB> {
        let chip = self.chips.chips()[self.index].as_ref();
        let ctx = match &self.fields {
            Some(fields) => fields.generate(chip.as_any(), records),
            None => Err(records),
        };
        let ctx = ctx.unwrap_or_else(|records| self.one_thread.generate(chip, records));
        self.uploader
            .made_on_host(self.index, ctx.common_main.height());
        self.uploader.air(ctx)
    }

    /// The trace of the Poseidon2 chip with its rows in order.
    fn permutations(&self, chip: &Poseidon2PeripheryChip<F>) -> AirProvingContext<E::PB> {
        let permutations = poseidon2::sorted(self.compressions.take(), chip);
        let chips = self.uploader.device_chips();
        let matrix = match chips.and_then(|chips| chips.get(self.index)) {
            Some(_) => self.uploader.permutations(&permutations),
            None => self.uploader.matrix(poseidon2::trace(permutations, chip)),
        };
        AirProvingContext::simple_no_pis(matrix)
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
            Some(DeviceChip::Periphery(chip)) => {
                debug_assert!(records.is_empty(), "the records are another chip's");
                AirProvingContext::simple_no_pis(self.uploader.periphery(chip))
            }
            _ => match (self.order, self.poseidon2()) {
                (RowOrder::Sorted, Some(chip)) => self.permutations(chip),
                (RowOrder::AsMade, Some(chip)) => {
                    record(self.compressions.take(), chip);
                    self.on_host(records)
                }
                _ => self.on_host(records),
            },
        }
    }

    fn constant_trace_height(&self) -> Option<usize> {
        self.chips.chips()[self.index].constant_trace_height()
    }
}
