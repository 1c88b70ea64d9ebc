//! `AppCircuit`: the application's circuit on the host: its keys, its chips, and the facts by which executions are cut into segments.

use std::sync::Arc;

use openvm_circuit::arch::{
    instructions::exe::VmExe, SystemConfig, VirtualMachineError, VmCircuitConfig, CONNECTOR_AIR_ID,
    PROGRAM_AIR_ID,
};
use openvm_metal_tracegen::DeviceChips;
use openvm_sdk::keygen::AppProvingKey;
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    memory_metering::ProvingMemoryConfig,
    p3_field::PrimeField32,
    prover::{DeviceStarkProvingKey, MatrixDimensions, ProverBackend},
};

use crate::{
    engine::{OtherAirData, SdkEngine},
    error::{guard, SdkError, Stage},
    executable::defined_instructions,
    execution::{AirShape, Cut, Rows, SegmentLimits},
    prelude::{F, SC},
    vm::host_chips,
};

/// Rows of the connector's trace: the states before and after the segment.
const CONNECTOR_ROWS: usize = 2;

/// The application's circuit, for which no device is needed.
pub(crate) struct AppCircuit<E: SdkEngine> {
    pub key: Arc<AppProvingKey<SdkVmConfig>>,
    /// Verifying key of segments.
    pub vk: Arc<MultiStarkVerifyingKey<SC>>,
    /// Data of each AIR that devices share.
    pub air_data: Vec<OtherAirData<E>>,
    pub chips: ConfigChips,
    pub config: SdkVmConfig,
    /// Shapes of the AIRs, and the rows that every segment has of each; nothing where they differ. The program and its rows are none of the circuit's.
    shapes: Vec<(AirShape, Option<usize>)>,
    memory: ProvingMemoryConfig,
}

/// Facts about the chips of a configuration, which no device is needed for.
pub(crate) struct ConfigChips {
    /// Rows of the tables among the chips, by AIR; nothing for others and for those of the system.
    pub table_rows: Vec<Option<usize>>,
    /// Index of the AIR of each executor.
    pub executor_airs: Vec<usize>,
    /// Chips whose traces a device makes, if it makes any.
    pub on_device: DeviceChips,
}

impl ConfigChips {
    /// Looks at the chips of a configuration.
    ///
    /// # Errors
    /// [`SdkError::Machine`] if no machine can be built.
    pub(crate) fn new(config: &SdkVmConfig) -> Result<Self, SdkError> {
        guard(Stage::BuildMachine, || {
            let chips = host_chips(config, config.create_airs()?, true)?;
            Ok(Self {
                table_rows: chips.constant_trace_heights(),
                executor_airs: chips.executor_idx_to_air_idx(),
                on_device: DeviceChips::new(&chips)?,
            })
        })?
        .map_err(|error: VirtualMachineError| SdkError::machine(Stage::BuildMachine, error, 0))
    }
}

/// Parts with which a metered execution begins.
pub(crate) struct MeterParts {
    pub rows: Rows,
    pub cut: Cut,
    /// Index of the AIR of each executor.
    pub executor_airs: Vec<usize>,
}

impl<E: SdkEngine> AppCircuit<E> {
    /// The circuit of a key and the chips of its configuration.
    pub fn new(
        key: Arc<AppProvingKey<SdkVmConfig>>,
        vk: Arc<MultiStarkVerifyingKey<SC>>,
        chips: ConfigChips,
        config: SdkVmConfig,
    ) -> Self {
        let vm_key = &*key.app_vm_pk.vm_pk;
        let air_data = E::air_data(vm_key);
        let airs = vm_key.per_air.iter().zip(&air_data).zip(&chips.table_rows);
        let shapes = airs.enumerate().map(|(index, ((air, data), &rows))| {
            let preprocessed = air.preprocessed_data.as_ref();
            let fixed = preprocessed.map(|data| data.mat_view(0).height()).or(rows);
            let fixed = match index {
                PROGRAM_AIR_ID => Some(0),
                CONNECTOR_AIR_ID => Some(CONNECTOR_ROWS),
                _ => fixed,
            };
            let (vk, other_data) = (air.vk.clone(), data.clone());
            let shape = AirShape {
                width: vk.params.width.total_width(),
                interactions: vk.symbolic_constraints.interactions.len(),
                needs_next_row: vk.params.need_rot,
                // The number of values does not depend on the preprocessed trace.
                constraint_values: E::PB::constraint_eval_buffer_size(&DeviceStarkProvingKey {
                    air_name: air.air_name.clone(),
                    vk,
                    preprocessed_data: None,
                    other_data,
                }),
                has_fixed_height: fixed.is_some(),
            };
            (shape, fixed)
        });
        Self {
            shapes: shapes.collect(),
            memory: E::memory_config(&vm_key.params),
            vk,
            air_data,
            chips,
            config,
            key,
        }
    }

    /// The proving key of segments.
    pub fn vm_key(&self) -> &MultiStarkProvingKey<SC> {
        &self.key.app_vm_pk.vm_pk
    }

    /// System part of the configuration.
    pub fn system(&self) -> &SystemConfig {
        &self.config.system.config
    }

    /// The parts with which the metered execution of a program begins, whose segments may need so many bytes for a proof. Rows are counted
    /// as by a machine of the key.
    pub fn meter_parts(&self, exe: &VmExe<F>, memory: usize) -> MeterParts {
        let heights = self.shapes.iter().map(|(_, rows)| rows.unwrap_or(0) as u32);
        let mut heights: Vec<u32> = heights.collect();
        heights[PROGRAM_AIR_ID] = defined_instructions(&exe.program) as u32;
        let limits = SegmentLimits {
            airs: self.shapes.iter().map(|(shape, _)| *shape).collect(),
            height: 1 << self.vm_key().params.log_stacked_height(),
            memory,
            interactions: F::ORDER_U32.into(),
            config: self.memory,
        };
        MeterParts {
            rows: Rows::new(heights, &self.system().memory_config),
            cut: Cut::new(limits),
            executor_airs: self.chips.executor_airs.clone(),
        }
    }
}
