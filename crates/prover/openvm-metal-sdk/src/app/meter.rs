//! Metered execution: runs a program from the start and decides where it is cut into segments.

use std::time::{Duration, Instant};

use openvm_circuit::{
    arch::{execution_mode::Segment, instructions::exe::VmExe, VirtualMachine},
    system::memory::merkle::public_values::extract_public_values,
};
use openvm_sdk::StdIn;

use super::{
    circuit::{AppCircuit, MeterParts},
    runner::{decoded, executors},
    segment_memory::SegmentMemory,
    AppKey,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    execution::{Execution, CHECK_INSTRUCTIONS},
    guest_output::{printing, HeldOutput},
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
        .with_traces_on_device(key.traces_on_device)
        .with_compact_records();
    let vm = guard(Stage::BuildMachine, || {
        VirtualMachine::new(
            engine,
            GuestVmBuilder(builder.clone()),
            GuestConfig::new(key.config.clone(), &exe.program),
            key.device_key(),
        )
    })?
    .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))?;
    Ok((vm, builder))
}

/// Runs a program from the start and decides where it is cut; see [`execute_metered`].
pub(crate) fn meter<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<MeteredRun, SdkError> {
    let memory = &mut SegmentMemory::of(key);
    execute_metered(&key.circuit, memory, exe, input, options, &mut ())
}

/// Follows a metered execution. An error ends it.
pub(super) trait Follower {
    /// The execution stands before its first instruction, or before that of another segment.
    fn before_segment(&mut self, execution: &Execution<'_>) -> Result<(), SdkError>;

    /// A segment has ended. Touched pages are still those of this segment.
    fn segment(&mut self, segment: &Segment) -> Result<(), SdkError>;

    /// The execution has ended.
    fn end(&mut self, execution: Execution<'_>) -> Result<(), SdkError>;
}

/// Follows nothing.
impl Follower for () {
    fn before_segment(&mut self, _: &Execution<'_>) -> Result<(), SdkError> {
        Ok(())
    }

    fn segment(&mut self, _: &Segment) -> Result<(), SdkError> {
        Ok(())
    }

    fn end(&mut self, _: Execution<'_>) -> Result<(), SdkError> {
        Ok(())
    }
}

/// Runs a program from the start and decides where it is cut; reports each segment as an event and to `follower`. The bound on instructions is
/// compared when limits are. That takes widths and heights of traces, no device, and no commitment to the program. Until the bound on memory is known
/// nothing is printed or reported: if it turns out to be passed, the program is run from the start again.
pub(super) fn execute_metered<E: SdkEngine>(
    circuit: &AppCircuit<E>,
    memory: &mut SegmentMemory,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
    follower: &mut impl Follower,
) -> Result<MeteredRun, SdkError> {
    let output = HeldOutput::new(options.output, !memory.is_known());
    let job = MeteredJob {
        circuit,
        exe,
        options,
        output: &output,
    };
    let mut is_again = false;
    let run = loop {
        let execution = || job.execute(memory, input.clone(), follower, is_again);
        let run = guard(Stage::Execute, || printing(&output, execution)).and_then(|run| run);
        // An execution that fails says what it printed, if nothing before it fails.
        memory.learn(true)?;
        match run {
            Ok(None) => output.drop_all(),
            run => {
                output.release()?;
                if let Some(run) = run? {
                    break run;
                }
            }
        }
        is_again = true;
    };
    options.progress.event(Event::Executed {
        segments: run.segments.len(),
        instructions: run.instructions(),
    });
    Ok(run)
}

/// A program that is run and cut into segments.
struct MeteredJob<'a, E: SdkEngine> {
    circuit: &'a AppCircuit<E>,
    exe: &'a VmExe<F>,
    options: &'a ProveOptions<'a>,
    output: &'a HeldOutput<'a>,
}

impl<E: SdkEngine> MeteredJob<'_, E> {
    /// Runs the program. Nothing if the bound on memory became known and had been passed, which can happen before the first segment is reported.
    fn execute(
        &self,
        memory: &mut SegmentMemory,
        input: StdIn,
        follower: &mut impl Follower,
        is_again: bool,
    ) -> Result<Option<MeteredRun>, SdkError> {
        let Self {
            circuit,
            exe,
            options,
            output,
        } = self;
        let MeterParts {
            rows,
            mut cut,
            executor_airs,
        } = circuit.meter_parts(exe, memory.of_segment(0));
        let inputs = input.buffer.len();
        let given = Given::new(&input);
        let bound = options.max_instructions;
        let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
        let mut segments: Vec<Segment> = Vec::new();
        let executors = executors(&circuit.config, exe)?;
        let program = decoded(&executors, exe, executor_airs)?;
        let system = circuit.system();
        let mut execution = Execution::new(&program, system, input, rows);
        cut.begin(execution.rows());
        let clock = Instant::now();
        if !is_again {
            follower.before_segment(&execution)?;
        }
        let mut start = 0;
        loop {
            let left = bound.saturating_sub(execution.executed());
            if left == 0 {
                return Err(SdkError::InstructionBound {
                    executed: bound,
                    bound,
                });
            }
            execution
                .run_blocks(CHECK_INSTRUCTIONS.min(left))
                .map_err(failed)?;
            let mut is_full = cut.is_due(execution.rows());
            let code = execution.exit_code();
            if let Some(code) = code.filter(|&code| code != 0) {
                let pc = execution.state().pc();
                return Err(SdkError::GuestExit { code, pc });
            }
            if memory.learn(is_full || code.is_some())? {
                if !cut.bound_memory(memory.of_segment(0)) {
                    return Ok(None);
                }
                is_full = is_full && cut.is_still_due();
                output.release()?;
            }
            if !is_full && code.is_none() {
                continue;
            }
            options.check_cancelled()?;
            let segment = Segment {
                instret_start: start,
                num_insns: execution.executed() - start,
                trace_heights: cut.heights().to_vec(),
            };
            options.progress.event(Event::SegmentExecuted {
                segment: segments.len(),
                instructions: segment.num_insns,
            });
            follower.segment(&segment)?;
            segments.push(segment);
            if code.is_some() {
                break;
            }
            start = execution.executed();
            // The pages that the ended segment touched may differ from the last snapshot.
            follower.before_segment(&execution)?;
            execution.begin_segment();
            cut.bound_memory(memory.of_segment(segments.len()));
            cut.begin(execution.rows());
        }
        if let Some(unread) = given.unread(&execution.state().streams) {
            options.progress.event(Event::InputUnread(unread));
        }
        let count = system.num_public_values;
        let public_values = extract_public_values(count, &execution.state().memory.memory);
        let time = clock.elapsed();
        follower.end(execution)?;
        Ok(Some(MeteredRun {
            segments,
            public_values,
            time,
        }))
    }
}
