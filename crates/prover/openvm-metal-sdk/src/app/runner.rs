//! Running a program without metering.

use openvm_circuit::{
    arch::{instructions::exe::VmExe, ExecutorInventory, VmExecutionConfig},
    system::memory::merkle::public_values::extract_public_values,
};
use openvm_sdk::StdIn;
use openvm_sdk_config::SdkVmConfig;

use crate::{
    error::{guard, SdkError, Stage},
    execution::{DecodedProgram, Execution, Rows},
    guest_output::printing,
    options::ProveOptions,
    prelude::F,
    progress::Event,
    unread::Given,
    vm::{CheckedExecutor, GuestConfig},
};

/// Executors of one configuration for one program.
pub(crate) type Executors = ExecutorInventory<CheckedExecutor>;

/// The executors of a configuration for a program.
pub(crate) fn executors(config: &SdkVmConfig, exe: &VmExe<F>) -> Result<Executors, SdkError> {
    guard(Stage::BuildMachine, || {
        GuestConfig::new(config.clone(), &exe.program).create_executors()
    })?
    .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))
}

/// A program, decoded once. `airs` has the AIR of each executor, or nothing if rows are not counted.
pub(crate) fn decoded<'a>(
    executors: &'a Executors,
    exe: &'a VmExe<F>,
    airs: Vec<usize>,
) -> Result<DecodedProgram<'a>, SdkError> {
    guard(Stage::BuildMachine, || {
        DecodedProgram::new(executors, exe, airs)
    })?
    .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))
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
    let given = Given::new(&input);
    let bound = options.max_instructions;
    let system = &config.system.config;
    let executors = executors(config, exe)?;
    let program = decoded(&executors, exe, Vec::new())?;
    let execution = || {
        let rows = Rows::uncounted(&system.memory_config);
        let mut execution = Execution::new(&program, system, input, rows);
        execution
            .run_to(bound)
            .map_err(|error| SdkError::execution(Stage::Execute, error, inputs))?;
        match execution.exit_code() {
            Some(0) => Ok(execution.into_state()),
            Some(code) => {
                let pc = execution.state().pc();
                Err(SdkError::GuestExit { code, pc })
            }
            None => Err(SdkError::InstructionBound {
                executed: bound,
                bound,
            }),
        }
    };
    let state = guard(Stage::Execute, || printing(options.output, execution))??;
    if let Some(unread) = given.unread(&state.streams) {
        options.progress.event(Event::InputUnread(unread));
    }
    Ok(extract_public_values(
        system.num_public_values,
        &state.memory.memory,
    ))
}
