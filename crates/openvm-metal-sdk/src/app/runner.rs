//! Running a program without recording anything: the fast way to a segment.

use openvm_circuit::arch::{
    execution_mode::ExecutionCtx, instructions::exe::VmExe, InterpretedInstance, VmExecutor,
};
use openvm_sdk_config::SdkVmConfig;

use crate::{
    error::{guard, SdkError, Stage},
    prelude::F,
};

/// Runs programs of one configuration.
pub(crate) type Executor = VmExecutor<F, SdkVmConfig>;

/// Runs one program. Machines share it.
pub(crate) type Runner<'a> = InterpretedInstance<'a, F, ExecutionCtx>;

/// The executor of a configuration.
pub(crate) fn executor(config: &SdkVmConfig) -> Result<Executor, SdkError> {
    guard(Stage::BuildMachine, || VmExecutor::new(config.clone()))?
        .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))
}

/// A program, decoded once.
pub(crate) fn runner<'a>(executor: &'a Executor, exe: &VmExe<F>) -> Result<Runner<'a>, SdkError> {
    guard(Stage::BuildMachine, || executor.instance(exe))?
        .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))
}
