//! `AppKey`: the application's proving key on a device.

use std::sync::Arc;

use openvm_circuit::arch::execution_mode::Segment;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::prover::{DeviceMultiStarkProvingKey, DeviceStarkProvingKey};

use super::{circuit::AppCircuit, segment_memory};
use crate::{
    devices::{on_each, Capacity, Station},
    engine::SdkEngine,
    error::SdkError,
    row_order::RowOrder,
};

/// The engine of the application's parameters with the proving key on its device, and the configuration that
/// segments are cut by.
pub struct AppKey<E: SdkEngine> {
    pub(crate) station: Station<E>,
    pub(crate) engine: E,
    pub(crate) device_key: DeviceMultiStarkProvingKey<E::PB>,
    pub(crate) circuit: Arc<AppCircuit<E>>,
    /// The circuit's configuration, with segments that fit the devices.
    pub(crate) config: SdkVmConfig,
    pub(crate) order: RowOrder,
    pub(crate) traces_on_device: bool,
}

impl<E: SdkEngine> AppKey<E> {
    /// Brings a circuit's key to devices, all at the same time. With `fit_segments`, segments are cut for the memory of the smallest device
    /// ([`segment_memory::bound`]).
    ///
    /// # Errors
    /// If a device cannot be used.
    pub(crate) fn on_all(
        stations: &[Station<E>],
        circuit: &Arc<AppCircuit<E>>,
        fit_segments: bool,
        order: RowOrder,
    ) -> Result<Vec<Self>, SdkError> {
        let (vm_key, mut config) = (circuit.vm_key(), circuit.config.clone());
        let engines = on_each(stations.len(), |i| {
            stations[i].engine(vm_key.params.clone())
        })?;
        let budgets = engines.iter().filter_map(E::memory_budget);
        if let Some(budget) = budgets.min().filter(|_| fit_segments) {
            let budget = usize::try_from(budget).unwrap_or(usize::MAX);
            let of_its_own = !engines.iter().any(E::is_in_host_memory);
            let bound = segment_memory::bound(budget, of_its_own, engines.len());
            config.system.config.set_segmentation_max_memory(bound);
        }
        let keys = on_each(stations.len(), |i| {
            Ok(engines[i].transport(vm_key, &circuit.air_data))
        })?;
        let parts = stations.iter().zip(engines).zip(keys);
        let keys = parts.map(|((station, engine), device_key)| Self {
            station: station.clone(),
            device_key,
            circuit: circuit.clone(),
            config: config.clone(),
            order,
            traces_on_device: E::makes_traces(engine.device()),
            engine,
        });
        Ok(keys.collect())
    }

    /// Makes traces on the device, if the engine makes any, or on the host, if that is given.
    pub(crate) fn with_traces_on_device(mut self, on_device: Option<bool>) -> Self {
        let on_device = on_device.unwrap_or(self.traces_on_device);
        self.traces_on_device = on_device && E::MAKES_TRACES;
        self
    }

    /// The device's name in messages.
    pub fn device(&self) -> &str {
        self.station.name()
    }

    /// Work that fits on the device at the same time.
    pub(crate) fn capacity(&self) -> Capacity {
        let segment = self.config.system.config.segmentation_max_memory as u64;
        Capacity::of(&self.station, &self.engine, segment)
    }

    /// Bytes of the traces of a segment, at most.
    pub(crate) fn trace_bytes(&self, segment: &Segment) -> u64 {
        self.cells(segment) * 4
    }

    /// Cells of the traces of a segment, at most.
    pub(crate) fn cells(&self, segment: &Segment) -> u64 {
        self.shapes(segment).map(|[rows, width]| rows * width).sum()
    }

    /// Rows, at most, and columns of each trace of a segment.
    fn shapes<'a>(&'a self, segment: &'a Segment) -> impl Iterator<Item = [u64; 2]> + 'a {
        let heights = segment.trace_heights.iter().zip(&self.device_key.per_air);
        heights.map(|(&height, air)| {
            let rows = match height {
                0 => 0,
                height => u64::from(height).next_power_of_two(),
            };
            [rows, air.vk.params.width.main_width() as u64]
        })
    }

    /// Bytes that the host holds of a segment, at most: its records, and the traces that are made in their place.
    ///
    /// # Errors
    /// [`SdkError::HostMemory`] if that is above the bound.
    pub(crate) fn host_bytes(
        &self,
        index: usize,
        segment: &Segment,
        bound: u64,
    ) -> Result<u64, SdkError> {
        // On a device in the host's memory the rows are the host's as well.
        let in_host_memory = self.engine.is_in_host_memory();
        let has_records = self.traces_on_device && !in_host_memory;
        let chips = has_records.then_some(&self.circuit.chips.on_device);
        let airs = self.device_key.per_air.len();
        let traces = self.shapes(segment).enumerate();
        let bytes = traces.map(|(air, [rows, width])| {
            // Chips have the order in which they were added, AIRs the other one, after those of the system.
            let made = chips.and_then(|chips| chips.host_bytes(airs - 1 - air, rows));
            made.unwrap_or(4 * rows * width)
        });
        match bytes.sum() {
            needed if needed > bound => Err(SdkError::HostMemory {
                segment: index,
                needed,
                bound,
            }),
            needed => Ok(needed),
        }
    }

    /// Another engine on the same device, with counters of its own.
    pub(crate) fn another_engine(&self) -> Result<E, SdkError> {
        self.station.engine(self.engine.params().clone())
    }

    /// The key again: the device data are shared.
    pub(crate) fn device_key(&self) -> DeviceMultiStarkProvingKey<E::PB> {
        share_key::<E>(&self.device_key)
    }
}

/// The same key: preprocessed traces and their commitments are shared, not copied.
fn share_key<E: SdkEngine>(
    key: &DeviceMultiStarkProvingKey<E::PB>,
) -> DeviceMultiStarkProvingKey<E::PB> {
    let per_air = key.per_air.iter().map(|air| DeviceStarkProvingKey {
        air_name: air.air_name.clone(),
        vk: air.vk.clone(),
        preprocessed_data: air.preprocessed_data.clone(),
        other_data: air.other_data.clone(),
    });
    DeviceMultiStarkProvingKey::new(
        per_air.collect(),
        key.trace_height_constraints.clone(),
        key.max_constraint_degree,
        key.params.clone(),
        key.vk_pre_hash,
    )
}
