//! `Machine`: a virtual machine with a program, which records segments and makes their traces.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::{
        execution_mode::Segment, hasher::poseidon2::vm_poseidon2_hasher, instructions::exe::VmExe,
        interpreter_preflight::PreflightInterpretedInstance, MatrixRecordArena,
        PreflightExecutionOutput, Streams, VirtualMachine, VmExecState, VmState,
    },
    system::{
        memory::{
            merkle::public_values::{extract_public_values, UserPublicValuesProof},
            online::GuestMemory,
            CHUNK,
        },
        SystemRecords,
    },
};
use openvm_sdk::StdIn;
use openvm_stark_backend::prover::ProvingContext;

use super::{
    runner::{run_on, Runner},
    AppKey, CommittedExe,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    guest_output::printing,
    options::ProveOptions,
    prelude::F,
    progress::Event,
    report::Report,
    system::MemoryTree,
    unread::Given,
    vm::{CheckedExecutor, GuestConfig, GuestVmBuilder, MetalVmBuilder, Uploader},
};

/// Segments of an execution, and its public values.
pub struct MeteredRun {
    /// In order. Trace heights are upper bounds.
    pub segments: Vec<Segment>,
    /// Bytes that the guest revealed.
    pub public_values: Vec<u8>,
    /// Time of the execution alone.
    pub time: Duration,
    /// The memory at the end.
    pub(crate) memory: GuestMemory,
}

impl MeteredRun {
    /// Instructions of all segments.
    pub fn instructions(&self) -> u64 {
        self.segments.iter().map(|s| s.num_insns).sum()
    }
}

type Vm<E> = VirtualMachine<E, GuestVmBuilder<E>>;

/// The virtual machine of a key for a program, which is not loaded, and the counter of its uploads.
pub(crate) fn virtual_machine<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
) -> Result<(Vm<E>, Uploader<E>), SdkError> {
    let engine = key.another_engine()?;
    let builder = MetalVmBuilder::new(&engine).with_row_order(key.order);
    let uploader = builder.uploader().clone();
    let vm = guard(Stage::BuildMachine, || {
        VirtualMachine::new(
            engine,
            GuestVmBuilder(builder),
            GuestConfig::new(key.config.clone(), &exe.program),
            key.device_key(),
        )
    })?
    .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))?;
    Ok((vm, uploader))
}

/// Runs a program from the start and decides where it is cut. That takes widths and heights of traces, and no
/// commitment to the program.
pub(crate) fn meter<E: SdkEngine>(
    key: &AppKey<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<MeteredRun, SdkError> {
    let (vm, _) = virtual_machine(key, exe)?;
    execute_metered(&vm, exe, input, options, |_| Ok(()))
}

/// Runs a program from the start and decides where it is cut; reports each segment as an event and gives it to
/// `on_segment`, which stops the run by an error. The bound on instructions is compared at the end of each segment.
fn execute_metered<E: SdkEngine>(
    vm: &Vm<E>,
    exe: &VmExe<F>,
    input: StdIn,
    options: &ProveOptions<'_>,
    mut on_segment: impl FnMut(&Segment) -> Result<(), SdkError>,
) -> Result<MeteredRun, SdkError> {
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
        Ok(MeteredRun {
            public_values: extract_public_values(count, &run.vm_state.memory.memory),
            segments: run.ctx.into_segments(),
            time: clock.elapsed(),
            memory: run.vm_state.memory,
        })
    };
    let run = guard(Stage::Execute, || printing(options.output, execution))??;
    options.progress.event(Event::Executed {
        segments: run.segments.len(),
        instructions: run.instructions(),
    });
    Ok(run)
}

/// Records of a segment, from which traces are made.
pub(crate) struct Recorded {
    pub index: usize,
    /// Instructions before the segment's end.
    end: u64,
    records: SystemRecords<F>,
    arenas: Vec<MatrixRecordArena<F>>,
}

/// A virtual machine with a program.
///
/// It can cut an execution into segments, go through it, record segments and make their traces. Several machines
/// share the work on one execution: each goes to the segments that it takes. After an error its chips may hold half of
/// a segment: it must be dropped.
pub(crate) struct Machine<E: SdkEngine> {
    vm: Vm<E>,
    interpreter: PreflightInterpretedInstance<F, CheckedExecutor>,
    exe: Arc<CommittedExe<E>>,
    state: Option<VmState<F, GuestMemory>>,
    /// Instructions that were executed.
    executed: u64,
    /// The memory tree is that after so many instructions of this execution.
    tree: Option<u64>,
    uploader: Uploader<E>,
    /// Number of inputs that the guest was given, for messages.
    inputs: usize,
    times: MachineTimes,
}

/// Times of a machine by stage.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MachineTimes {
    pub memory_image: Duration,
    /// Running to the segments that are taken.
    pub skipped: Duration,
    pub preflight: Duration,
    /// With uploads.
    pub traces: Duration,
}

impl<E: SdkEngine> Machine<E> {
    /// A machine that has not run anything yet, whose traces go to the key's device.
    pub fn new(key: &AppKey<E>, exe: Arc<CommittedExe<E>>) -> Result<Self, SdkError> {
        let (mut vm, uploader) = virtual_machine(key, &exe.exe)?;
        let interpreter = guard(Stage::BuildMachine, || {
            vm.load_program(exe.trace.clone());
            vm.preflight_interpreter(&exe.exe)
        })?
        .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))?;
        Ok(Self {
            vm,
            interpreter,
            exe,
            state: None,
            executed: 0,
            tree: None,
            uploader,
            inputs: 0,
            times: MachineTimes::default(),
        })
    }

    /// From now on traces go to the device of `engine`, on which `exe` is the same program.
    pub fn aim(&mut self, engine: &E, exe: &CommittedExe<E>) {
        self.uploader.aim(engine);
        self.vm.load_program(exe.trace.clone());
    }

    /// Runs the program from the start and decides where it is cut; see [`execute_metered`].
    pub fn execute_metered(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
        on_segment: impl FnMut(&Segment) -> Result<(), SdkError>,
    ) -> Result<MeteredRun, SdkError> {
        execute_metered(&self.vm, &self.exe.exe, input, options, on_segment)
    }

    /// Starts an execution: the next segment is the first one.
    pub fn start(&mut self, input: StdIn) {
        self.inputs = input.buffer.len();
        let exe = &self.exe.exe;
        let input: Streams<F> = input.into();
        match &mut self.state {
            Some(state) => state.reset(&exe.init_memory, exe.pc_start, input),
            None => self.state = Some(self.vm.create_initial_state(exe, input)),
        }
        self.executed = 0;
        self.tree = None;
    }

    /// The memory that the next segment starts from.
    ///
    /// # Panics
    /// If [`start`](Self::start) was not called, or an earlier segment failed.
    pub fn memory(&self) -> &GuestMemory {
        &self
            .state
            .as_ref()
            .expect("an execution was started")
            .memory
    }

    /// Takes over the memory of another execution, which has executed as many instructions as this one: the next segment
    /// that is traced starts from it.
    pub fn give_memory(&mut self, memory: &GuestMemory) {
        let clock = Instant::now();
        self.vm.transport_init_memory_to_device(memory);
        self.tree = Some(self.executed);
        self.times.memory_image += clock.elapsed();
    }

    /// True if the machine has to start again to go to a segment.
    pub fn is_past(&self, segment: &Segment) -> bool {
        self.executed > segment.instret_start
    }

    /// Goes to the start of a segment, which is not before where the machine is, and takes over the memory there
    /// unless the machine traced the segment before it. What differs from the memory that it knows is hashed.
    pub fn go_to(
        &mut self,
        runner: &Runner<'_>,
        index: usize,
        segment: &Segment,
    ) -> Result<(), SdkError> {
        self.run(runner, index, segment.instret_start - self.executed)?;
        if self.tree != Some(self.executed) {
            let state = self.state.take();
            if let Some(state) = &state {
                self.give_memory(&state.memory);
            }
            self.state = state;
        }
        Ok(())
    }

    /// Runs a segment without recording it.
    pub fn skip(
        &mut self,
        runner: &Runner<'_>,
        index: usize,
        segment: &Segment,
    ) -> Result<(), SdkError> {
        let end = segment.instret_start + segment.num_insns;
        self.run(runner, index, end - self.executed)
    }

    fn run(
        &mut self,
        runner: &Runner<'_>,
        index: usize,
        instructions: u64,
    ) -> Result<(), SdkError> {
        if instructions == 0 {
            return Ok(());
        }
        let from = self.state.take().expect("an execution was started");
        let stage = Stage::Preflight(index);
        let clock = Instant::now();
        let to = guard(stage.clone(), || run_on(runner, from, Some(instructions)))?
            .map_err(|error| SdkError::execution(stage, error, self.inputs))?;
        self.times.skipped += clock.elapsed();
        self.executed += instructions;
        self.state = Some(to);
        Ok(())
    }

    /// Runs segment number `index` and records it.
    pub fn record(&mut self, index: usize, segment: &Segment) -> Result<Recorded, SdkError> {
        let from = self.state.take().expect("an execution was started");
        let stage = Stage::Preflight(index);
        let clock = Instant::now();
        let output = guard(stage.clone(), || {
            self.vm.execute_preflight(
                &mut self.interpreter,
                from,
                Some(segment.num_insns),
                &segment.trace_heights,
            )
        })?
        .map_err(|error| SdkError::execution(stage, error, self.inputs))?;
        self.times.preflight += clock.elapsed();
        let PreflightExecutionOutput {
            system_records,
            record_arenas,
            to_state,
        } = output;
        self.state = Some(to_state);
        self.executed += segment.num_insns;
        Ok(Recorded {
            index,
            end: self.executed,
            records: system_records,
            arenas: record_arenas,
        })
    }

    /// Makes the traces of a segment on the device. The memory tree has to be that of the segment's start, see
    /// [`go_to`](Self::go_to) and [`give_memory`](Self::give_memory).
    pub fn trace(&mut self, recorded: Recorded) -> Result<ProvingContext<E::PB>, SdkError> {
        let stage = Stage::Traces(recorded.index);
        let clock = Instant::now();
        let ctx = guard(stage.clone(), || {
            self.vm
                .generate_proving_ctx(recorded.records, recorded.arenas)
        })?
        .map_err(|source| SdkError::Traces { stage, source })?;
        self.tree = Some(recorded.end);
        self.times.traces += clock.elapsed();
        Ok(ctx)
    }

    /// The guest's public values, with their path in the memory in which the execution ended.
    pub fn user_public_values(&self) -> UserPublicValuesProof<CHUNK, F> {
        self.public_values_in(self.memory())
    }

    /// [`user_public_values`](Self::user_public_values) of another execution of the program, which ended in this memory.
    pub fn public_values_in(&self, memory: &GuestMemory) -> UserPublicValuesProof<CHUNK, F> {
        let memory = &memory.memory;
        let system = &self.vm.config().system.config;
        let mut tree = MemoryTree::new(&system.memory_config);
        tree.synchronize(memory);
        UserPublicValuesProof::compute(
            system.memory_config.memory_dimensions(),
            system.num_public_values,
            &vm_poseidon2_hasher(),
            memory,
            &tree.top(),
        )
    }

    /// Adds where the time went to a report.
    pub fn add_to(&self, report: &mut Report) {
        let (upload, bytes) = self.uploader.spent();
        report.memory_image += self.times.memory_image;
        report.skipped += self.times.skipped;
        report.preflight += self.times.preflight;
        report.traces += self.times.traces.saturating_sub(upload);
        report.upload += upload;
        report.uploaded += bytes;
    }
}
