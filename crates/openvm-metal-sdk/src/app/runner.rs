//! Running a program without recording anything: the fast way to a segment.

use openvm_circuit::{
    arch::{
        execution_mode::ExecutionCtx, instructions::exe::VmExe, ExecutionError,
        InterpretedInstance, VmExecutor, VmState,
    },
    system::memory::{merkle::public_values::extract_public_values, online::GuestMemory},
};
use openvm_sdk::StdIn;
use openvm_sdk_config::SdkVmConfig;

use crate::{
    error::{guard, SdkError, Stage},
    executable::is_end,
    options::ProveOptions,
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

/// Goes on from a state, to the end or for so many instructions.
pub(crate) fn run_on(
    runner: &Runner<'_>,
    from: VmState<F, GuestMemory>,
    instructions: Option<u64>,
) -> Result<VmState<F, GuestMemory>, ExecutionError> {
    runner.execute_from_state(from, instructions)
}

/// Runs a program to its end. Returns what it revealed, as bytes.
///
/// # Errors
/// What goes wrong in the guest, or the bound on instructions.
pub(crate) fn execute(
    config: &SdkVmConfig,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<Vec<u8>, SdkError> {
    let inputs = input.buffer.len();
    let bound = options.max_instructions;
    let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
    let state = guard(Stage::Execute, || {
        let executor = VmExecutor::new(config.clone())
            .map_err(|error| SdkError::machine(Stage::Execute, error, inputs))?;
        let instance = executor
            .instance(exe)
            .map_err(|error| SdkError::machine(Stage::Execute, error, inputs))?;
        let state = instance.execute(input, Some(bound)).map_err(failed)?;
        if !is_end(exe, state.pc()) {
            return Err(SdkError::InstructionBound {
                executed: bound,
                bound,
            });
        }
        // Either the program ended here, or the next instruction ends it. The last one is run again for its exit
        // code.
        run_on(&instance, state, None).map_err(failed)
    })??;
    Ok(extract_public_values(
        config.system.config.num_public_values,
        &state.memory.memory,
    ))
}
