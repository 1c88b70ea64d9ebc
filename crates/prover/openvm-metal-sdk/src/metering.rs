//! `Metering`: the parts of a metered execution, for those who execute with an interpreter of their own.

use openvm_circuit::arch::{
    execution_mode::Segment, instructions::exe::VmExe, ExecutionError, ExecutorInventory,
    VmExecutionConfig,
};
use openvm_sdk::StdIn;
use openvm_sdk_config::SdkVmConfig;

use crate::{
    app::{executors, meter, MeterParts},
    error::{guard, SdkError, Stage},
    execution::Rows,
    fault::Fault,
    guest_output::printing,
    options::ProveOptions,
    prelude::F,
    sdk::MetalSdk,
    vm::GuestConfig,
    GuestOutput,
};

/// Executes one kind of instruction.
pub type Executor = <GuestConfig as VmExecutionConfig<F>>::Executor;

/// One circuit of the virtual machine, in the order of the verifying key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Air {
    pub name: String,
    /// Columns of the main trace, cached ones included.
    pub width: u64,
    /// Messages that each row sends or receives.
    pub interactions: u64,
    /// Every segment has as many rows.
    pub has_fixed_height: bool,
}

/// The parts of a metered execution of one executable.
pub struct Metering {
    /// Heights and pages, as [`MetalSdk::execute_metered`] begins with them.
    pub rows: Rows,
    pub executors: ExecutorInventory<Executor>,
    /// Index of the AIR of each executor.
    pub executor_to_air: Vec<usize>,
    pub airs: Vec<Air>,
    pub config: SdkVmConfig,
    /// Segments into which the execution is cut.
    pub segments: Vec<Segment>,
}

impl Metering {
    /// Runs `work`, which executes a guest: its prints go to `output`, and a panic of OpenVM's libraries becomes an error.
    ///
    /// # Errors
    /// Errors of `work`, [`SdkError::Panicked`] and [`SdkError::GuestOutput`].
    pub fn executing<T>(
        output: &dyn GuestOutput,
        work: impl FnOnce() -> Result<T, SdkError>,
    ) -> Result<T, SdkError> {
        printing(output, || guard(Stage::Execute, work)?)
    }

    /// The error, in the user's terms, of a guest that was given `inputs` inputs.
    pub fn error(error: ExecutionError, inputs: usize) -> SdkError {
        SdkError::execution(Stage::Execute, error, inputs)
    }

    /// The error of a guest that ended with an exit code other than 0.
    pub fn exit(pc: u32, code: u32) -> SdkError {
        SdkError::GuestExit { code, pc }
    }

    /// The error of a guest that went to an address without an instruction.
    pub fn no_instruction(pc: u32) -> SdkError {
        SdkError::GuestFault {
            pc,
            fault: Fault::NoInstruction,
        }
    }
}

impl MetalSdk {
    /// The parts of a metered execution of `exe`, which is executed once for its segments: what it prints goes to the output of the options. The
    /// program is not committed.
    ///
    /// # Errors
    /// Errors of the guest and of keys, and [`SdkError::Machine`] if no machine can be built.
    pub fn metering(
        &self,
        exe: &VmExe<F>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Metering, SdkError> {
        let keys = self.app_keys()?;
        let key = &keys[0];
        let quiet = ProveOptions {
            progress: &(),
            ..*options
        };
        let run = meter(key, exe, input, &quiet)?;
        let MeterParts {
            rows,
            cut,
            executor_airs,
        } = key
            .circuit
            .meter_parts(exe, key.config.system.config.segmentation_max_memory);
        let airs = key.device_key.per_air.iter().zip(cut.airs());
        let airs = airs.map(|(air, shape)| Air {
            name: air.air_name.clone(),
            width: air.vk.params.width.main_width() as u64,
            interactions: shape.interactions as u64,
            has_fixed_height: shape.has_fixed_height,
        });
        Ok(Metering {
            rows,
            executors: executors(&key.config, exe)?,
            executor_to_air: executor_airs,
            airs: airs.collect(),
            config: key.config.clone(),
            segments: run.segments,
        })
    }
}
