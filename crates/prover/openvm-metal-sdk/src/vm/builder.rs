//! `MetalVmBuilder`: the chips of every extension of `SdkVmConfig` for any engine.

use std::rc::Rc;

use openvm_circuit::{
    arch::{AirInventory, ChipInventory, ChipInventoryError, VmBuilder, VmChipComplex},
    primitives::bitwise_op_lookup::SharedBitwiseOperationLookupChip,
};
use openvm_metal_tracegen::DeviceChips;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{EngineDeviceCtx, StarkEngine};

use super::{
    arena::TraceArena, field_expression::FieldExpressionRows, host_chips::host_chips,
    one_thread::OneThread, range_counts::RangeCounts, TransportedChip, Uploader,
};
use crate::{
    engine::SdkEngine,
    prelude::SC,
    row_order::RowOrder,
    system::{Compressions, SparseSystem, TreeSlot},
};

/// Program, connector and memory of a machine on the device of `E`.
type SystemChips<E> = SparseSystem<<E as StarkEngine>::PB, Uploader<E>>;

/// Builds the chips of an [`SdkVmConfig`]: rv32im, io, keccak, sha2, bigint, modular, fp2, ecc, pairing and
/// deferral.
///
/// Traces are made by the device if it makes the chip's, else by OpenVM's CPU chips, but for those of the memory ([`SparseSystem`]), and uploaded
/// once each, see `TransportedChip`. The engine sees ordinary proving contexts, so its proofs are those of the CPU engine for the same traces.
pub struct MetalVmBuilder<E: SdkEngine> {
    uploader: Uploader<E>,
    trees: TreeSlot,
    order: RowOrder,
    on_device: bool,
    compact_records: bool,
}

impl<E: SdkEngine> MetalVmBuilder<E> {
    /// Chips whose traces go to the device of `engine`.
    pub fn new(engine: &E) -> Self {
        Self {
            uploader: Uploader::new(engine),
            trees: TreeSlot::default(),
            order: RowOrder::default(),
            on_device: E::makes_traces(engine.device()),
            compact_records: false,
        }
    }

    /// Every segment is recorded in the arenas of [`segment_arenas`](super::segment_arenas): the device makes all traces that it can.
    pub(crate) fn with_compact_records(mut self) -> Self {
        self.compact_records = true;
        self
    }

    /// Other order of rows.
    pub fn with_row_order(mut self, order: RowOrder) -> Self {
        self.order = order;
        self
    }

    /// Traces are made on the device where it has kernels for their chips, or on the host; by default as
    /// [`SdkEngine::makes_traces`] says.
    pub fn with_traces_on_device(mut self, on_device: bool) -> Self {
        self.on_device = on_device;
        self
    }

    /// Uploader of the traces to the device, with its counters.
    pub fn uploader(&self) -> &Uploader<E> {
        &self.uploader
    }

    /// Slot that gives the chips the memory trees which segments start from.
    pub fn trees(&self) -> &TreeSlot {
        &self.trees
    }
}

impl<E: SdkEngine> Clone for MetalVmBuilder<E> {
    fn clone(&self) -> Self {
        Self {
            uploader: self.uploader.clone(),
            trees: self.trees.clone(),
            order: self.order,
            on_device: self.on_device,
            compact_records: self.compact_records,
        }
    }
}

impl<E: SdkEngine> VmBuilder<E> for MetalVmBuilder<E> {
    type VmConfig = SdkVmConfig;
    type RecordArena = TraceArena;
    type SystemChipInventory = SystemChips<E>;

    fn create_chip_complex(
        &self,
        config: &SdkVmConfig,
        circuit: AirInventory<SC>,
        _device_ctx: &EngineDeviceCtx<E>,
    ) -> Result<VmChipComplex<SC, TraceArena, E::PB, SystemChips<E>>, ChipInventoryError> {
        let only_device_counts = self.on_device && self.compact_records;
        let chips = host_chips(config, circuit.clone(), only_device_counts)?;
        if self.on_device {
            self.uploader.make_on_device(DeviceChips::new(&chips)?);
        }
        let compressions = Compressions::default();
        let system = SparseSystem::from_inventory(&chips, self.uploader.clone())?
            .with_trees_from(self.trees.clone())
            .with_compressions_to(compressions.clone());
        let chips = Rc::new(chips);

        let one_thread = OneThread::default();
        let memory = &config.system.config.memory_config;
        let counts = RangeCounts::new(chips.range_checker()?.clone(), memory.timestamp_max_bits);
        // Every chip that computes modulo a prime counts in this table.
        let mut bitwise = chips.find_chip::<SharedBitwiseOperationLookupChip<8>>();
        let bitwise = bitwise.next().cloned();
        let fields = bitwise
            .map(|bitwise| FieldExpressionRows::new(bitwise, counts, memory.pointer_max_bits));
        let mut inventory = ChipInventory::new(circuit);
        for index in 0..chips.chips().len() {
            let uploader = self.uploader.clone();
            let chip = TransportedChip::<E>::new(
                chips.clone(),
                index,
                uploader,
                self.order,
                one_thread.clone(),
                fields.clone(),
                compressions.clone(),
            );
            inventory.add_periphery_chip(chip);
        }
        inventory.executor_idx_to_insertion_idx = chips.executor_idx_to_insertion_idx.clone();
        Ok(VmChipComplex { system, inventory })
    }
}
