//! `Metering`: the state in which a metered execution begins, for those who meter with an interpreter of their own.

use openvm_circuit::arch::{
    execution_mode::MeteredCtx, instructions::exe::VmExe, ExecutionError, ExecutorInventory,
    VmExecutionConfig,
};
use openvm_sdk_config::SdkVmConfig;

use crate::{
    app::virtual_machine,
    error::{guard, SdkError, Stage},
    fault::{at, Exit, Fault},
    guest_output::printing,
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
}

/// The state in which a metered execution of one executable begins.
pub struct Metering {
    /// Heights, pages and limits of segments, as [`MetalSdk::execute_metered`] begins with them.
    pub ctx: MeteredCtx,
    pub executors: ExecutorInventory<Executor>,
    /// Index of the AIR of each executor.
    pub executor_to_air: Vec<usize>,
    pub airs: Vec<Air>,
    /// The configuration, with the bound of memory that segments are cut by.
    pub config: SdkVmConfig,
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
        Self::error(at(pc, Exit(code)), 0)
    }

    /// The error of a guest that went to an address without an instruction.
    pub fn no_instruction(pc: u32) -> SdkError {
        Self::error(at(pc, Fault::NoInstruction), 0)
    }
}

impl MetalSdk {
    /// The state in which a metered execution of `exe` begins. The program is not committed.
    ///
    /// # Errors
    /// Errors of keys, and [`SdkError::Machine`] if no machine can be built.
    pub fn metering(&self, exe: &VmExe<F>) -> Result<Metering, SdkError> {
        let keys = self.app_keys()?;
        let key = &keys[0];
        let (vm, _) = virtual_machine(key, exe)?;
        let (ctx, executor_to_air, executors) = guard(Stage::BuildMachine, || {
            let executors = GuestConfig::new(key.config.clone(), &exe.program).create_executors();
            (
                vm.build_metered_ctx(exe),
                vm.executor_idx_to_air_idx(),
                executors,
            )
        })?;
        let airs = key.device_key.per_air.iter().map(|air| Air {
            name: air.air_name.clone(),
            width: air.vk.params.width.main_width() as u64,
            interactions: air.vk.symbolic_constraints.interactions.len() as u64,
        });
        Ok(Metering {
            ctx,
            executors: executors
                .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))?,
            executor_to_air,
            airs: airs.collect(),
            config: key.config.clone(),
        })
    }
}
