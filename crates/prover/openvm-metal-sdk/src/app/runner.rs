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
    guest_output::printing,
    options::ProveOptions,
    prelude::F,
    progress::Event,
    unread::Given,
    vm::{exits, GuestConfig},
};

/// Runs programs of one configuration.
pub(crate) type Executor = VmExecutor<F, GuestConfig>;

/// Runs one program. Machines share it.
pub(crate) type Runner<'a> = InterpretedInstance<'a, F, ExecutionCtx>;

/// The executor of a configuration for a program.
pub(crate) fn executor(config: &SdkVmConfig, exe: &VmExe<F>) -> Result<Executor, SdkError> {
    guard(Stage::BuildMachine, || {
        VmExecutor::new(GuestConfig::new(config.clone(), &exe.program))
    })?
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
    let given = Given::new(&input);
    let bound = options.max_instructions;
    let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
    let executor = executor(config, exe)?;
    // Where it ends is asked of it.
    let instance = runner(&executor, &exits(exe))?;
    let execution = || {
        let system = &config.system.config;
        let state = VmState::initial(system, &exe.init_memory, exe.pc_start, input);
        // The instruction that ends the program counts.
        let before = bound.saturating_sub(1);
        let state = run_on(&instance, state, Some(before)).map_err(failed)?;
        if bound == 0 || !is_end(exe, state.pc()) {
            return Err(SdkError::InstructionBound {
                executed: bound,
                bound,
            });
        }
        // The program ended here, or the next instruction ends it: for the exit code, it is run again or now.
        run_on(&instance, state, None).map_err(failed)
    };
    let state = guard(Stage::Execute, || printing(options.output, execution))??;
    if let Some(unread) = given.unread(&state.streams) {
        options.progress.event(Event::InputUnread(unread));
    }
    Ok(extract_public_values(
        config.system.config.num_public_values,
        &state.memory.memory,
    ))
}
