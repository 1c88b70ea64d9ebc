//! Metered execution: runs a program from the start and decides where it is cut into segments.

use std::time::{Duration, Instant};

use openvm_circuit::{
    arch::{execution_mode::Segment, instructions::exe::VmExe, VirtualMachine, VmExecState},
    system::memory::{merkle::public_values::extract_public_values, online::GuestMemory},
};
use openvm_sdk::StdIn;

use super::AppKey;
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    guest_output::printing,
    options::ProveOptions,
    prelude::F,
    progress::Event,
    unread::Given,
    vm::{GuestConfig, GuestVmBuilder, MetalVmBuilder},
};

/// Segments of an execution, and its public values.
pub struct MeteredRun {
    /// Segments in order. Their trace heights are upper bounds.
    pub segments: Vec<Segment>,
    /// Bytes that the guest revealed.
    pub public_values: Vec<u8>,
    /// Time of the execution alone.
    pub time: Duration,
}

impl MeteredRun {
    /// Instructions of all segments.
    pub fn instructions(&self) -> u64 {
        self.segments.iter().map(|s| s.num_insns).sum()
    }
}

pub(super) type Vm<E> = VirtualMachine<E, GuestVmBuilder<E>>;

/// The virtual machine of a key for a program, which is not loaded, and a clone of its builder, which shares the uploader and the slot of memory
/// trees with it.
pub(crate) fn virtual_machine<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
) -> Result<(Vm<E>, MetalVmBuilder<E>), SdkError> {
    let engine = key.another_engine()?;
    let builder = MetalVmBuilder::new(&engine)
        .with_row_order(key.order)
        .with_traces_on_device(key.traces_on_device);
    let vm = guard(Stage::BuildMachine, || {
        VirtualMachine::new(
            engine,
            GuestVmBuilder(builder.clone()),
            GuestConfig::new(key.config.clone(), &exe.program),
            key.device_key(),
        )
    })?
    .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))?;
    if let Some(chips) = builder.uploader().device_chips() {
        key.device_chips.get_or_init(|| chips.clone());
    }
    Ok((vm, builder))
}

/// Runs a program from the start and decides where it is cut; see [`execute_metered`].
pub(crate) fn meter<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<MeteredRun, SdkError> {
    let (run, _) = execute_metered(key, exe, input, options, |_| Ok(()))?;
    Ok(run)
}

/// Runs a program from the start and decides where it is cut; reports each segment as an event and gives it to `on_segment`, which stops the run by
/// an error. The bound on instructions is compared at the end of each segment. That takes widths and heights of traces, and no commitment to the
/// program. Returns the memory at the end, too.
pub(super) fn execute_metered<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
    mut on_segment: impl FnMut(&Segment) -> Result<(), SdkError>,
) -> Result<(MeteredRun, GuestMemory), SdkError> {
    let (vm, _) = virtual_machine(key, exe)?;
    let inputs = input.buffer.len();
    let given = Given::new(&input);
    let bound = options.max_instructions;
    let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
    let execution = || {
        let ctx = vm.build_metered_ctx(exe).with_suspend_on_segment(true);
        let interpreter = vm
            .metered_interpreter(exe)
            .map_err(|error| SdkError::machine(Stage::Execute, error, inputs))?;
        let clock = Instant::now();
        let mut run = VmExecState::new(interpreter.create_initial_vm_state(input), ctx);
        let mut told = 0;
        loop {
            run = interpreter
                .execute_metered_until_suspend(run)
                .map_err(failed)?;
            let segments = run.ctx.segments();
            let executed: u64 = segments.iter().map(|s| s.num_insns).sum();
            if executed > bound {
                return Err(SdkError::InstructionBound { executed, bound });
            }
            match run.exit_code {
                Ok(Some(code)) if code != 0 => {
                    let pc = run.vm_state.pc();
                    return Err(SdkError::GuestExit { code, pc });
                }
                Err(error) => return Err(failed(error)),
                Ok(_) => {}
            }
            for (index, segment) in segments.iter().enumerate().skip(told) {
                options.check_cancelled()?;
                options.progress.event(Event::SegmentExecuted {
                    segment: index,
                    instructions: segment.num_insns,
                });
                on_segment(segment)?;
            }
            told = segments.len();
            if let Ok(Some(_)) = run.exit_code {
                break;
            }
        }
        if let Some(unread) = given.unread(&run.vm_state.streams) {
            options.progress.event(Event::InputUnread(unread));
        }
        let count = vm.config().system.config.num_public_values;
        let memory = run.vm_state.memory;
        let run = MeteredRun {
            public_values: extract_public_values(count, &memory.memory),
            segments: run.ctx.into_segments(),
            time: clock.elapsed(),
        };
        Ok((run, memory))
    };
    let (run, memory) = guard(Stage::Execute, || printing(options.output, execution))??;
    options.progress.event(Event::Executed {
        segments: run.segments.len(),
        instructions: run.instructions(),
    });
    Ok((run, memory))
}
