//! Metered execution: runs a program from the start and decides where it is cut into segments.

use std::time::{Duration, Instant};

use openvm_circuit::{
    arch::{
        execution_mode::Segment, instructions::exe::VmExe, VirtualMachine, CONNECTOR_AIR_ID,
        PROGRAM_AIR_ID,
    },
    system::memory::merkle::public_values::extract_public_values,
};
use openvm_sdk::StdIn;
use openvm_stark_backend::{p3_field::PrimeField32, prover::ProverBackend};

use super::{
    runner::{decoded, executors},
    AppKey,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    executable::defined_instructions,
    execution::{AirShape, Cut, Execution, Rows, SegmentLimits, CHECK_INSTRUCTIONS},
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

/// Rows of the connector's trace: the states before and after the segment.
const CONNECTOR_ROWS: usize = 2;

/// Parts of a virtual machine that metering needs.
pub(crate) struct MeterParts {
    pub rows: Rows,
    pub cut: Cut,
    /// Index of the AIR of each executor.
    pub executor_airs: Vec<usize>,
}

/// The parts with which the metered execution of a program begins. Rows are counted as by a machine of the key.
pub(crate) fn meter_parts<E: SdkEngine>(key: &AppKey<E>, exe: &VmExe<F>) -> MeterParts {
    let airs = &key.device_key.per_air;
    // Heights that every segment has: of preprocessed traces, of chips that are tables, of the program and of the connector.
    let heights = airs.iter().zip(&key.chips.table_rows).map(|(air, &rows)| {
        let preprocessed = air.preprocessed_data.as_ref();
        preprocessed.map(|data| data.height()).or(rows)
    });
    let mut heights: Vec<Option<usize>> = heights.collect();
    heights[PROGRAM_AIR_ID] = Some(defined_instructions(&exe.program));
    heights[CONNECTOR_AIR_ID] = Some(CONNECTOR_ROWS);
    let first = heights.iter().map(|height| height.unwrap_or(0) as u32);
    let fixed = heights.iter().map(Option::is_some);
    let airs = airs.iter().zip(fixed);
    let airs = airs.map(|(air, has_fixed_height)| AirShape {
        width: air.vk.params.width.total_width(),
        interactions: air.vk.symbolic_constraints.interactions.len(),
        needs_next_row: air.vk.params.need_rot,
        constraint_values: E::PB::constraint_eval_buffer_size(air),
        has_fixed_height,
    });
    let system = &key.config.system.config;
    let limits = SegmentLimits {
        airs: airs.collect(),
        height: 1 << key.engine.params().log_stacked_height(),
        memory: system.segmentation_max_memory,
        interactions: F::ORDER_U32.into(),
        config: key.engine.proving_memory_config(),
    };
    MeterParts {
        rows: Rows::new(first.collect(), &system.memory_config),
        cut: Cut::new(limits),
        executor_airs: key.chips.executor_airs.clone(),
    }
}

/// Runs a program from the start and decides where it is cut; see [`execute_metered`].
pub(crate) fn meter<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<MeteredRun, SdkError> {
    execute_metered(key, exe, input, options, &mut ())
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
/// compared when limits are. That takes widths and heights of traces, and no commitment to the program.
pub(super) fn execute_metered<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
    follower: &mut impl Follower,
) -> Result<MeteredRun, SdkError> {
    let MeterParts {
        rows,
        mut cut,
        executor_airs,
    } = meter_parts(key, exe);
    let inputs = input.buffer.len();
    let given = Given::new(&input);
    let bound = options.max_instructions;
    let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
    let mut segments: Vec<Segment> = Vec::new();
    let execution = || {
        let executors = executors(&key.config, exe)?;
        let program = decoded(&executors, exe, executor_airs)?;
        let system = &key.config.system.config;
        let mut execution = Execution::new(&program, system, input, rows);
        cut.begin(execution.rows());
        let clock = Instant::now();
        follower.before_segment(&execution)?;
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
            let is_full = cut.is_due(execution.rows());
            let code = execution.exit_code();
            if let Some(code) = code.filter(|&code| code != 0) {
                let pc = execution.state().pc();
                return Err(SdkError::GuestExit { code, pc });
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
            cut.begin(execution.rows());
        }
        if let Some(unread) = given.unread(&execution.state().streams) {
            options.progress.event(Event::InputUnread(unread));
        }
        let count = system.num_public_values;
        let public_values = extract_public_values(count, &execution.state().memory.memory);
        let time = clock.elapsed();
        follower.end(execution)?;
        Ok((public_values, time))
    };
    let (public_values, time) = guard(Stage::Execute, || printing(options.output, execution))??;
    let run = MeteredRun {
        segments,
        public_values,
        time,
    };
    options.progress.event(Event::Executed {
        segments: run.segments.len(),
        instructions: run.instructions(),
    });
    Ok(run)
}
