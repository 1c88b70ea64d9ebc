//! `Machine`: a virtual machine with a program, which records segments and makes their traces.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::{
        execution_mode::Segment, hasher::poseidon2::vm_poseidon2_hasher,
        interpreter_preflight::PreflightInterpretedInstance, MatrixRecordArena,
        PreflightExecutionOutput, Streams, VirtualMachine, VirtualMachineError, VmExecState,
        VmState,
    },
    system::{
        memory::{
            merkle::public_values::{extract_public_values, UserPublicValuesProof},
            online::{GuestMemory, LinearMemory, PAGE_SIZE},
            AddressMap, CHUNK,
        },
        SystemRecords,
    },
};
use openvm_sdk::StdIn;
use openvm_sdk_config::SdkVmConfigExecutor;
use openvm_stark_backend::prover::ProvingContext;

use super::{AppKey, CommittedExe};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::F,
    report::Report,
    system::MemoryTree,
    vm::{MetalVmBuilder, Uploader},
};

/// How a program is cut into segments, and what it made public.
pub struct MeteredRun {
    /// In order. Trace heights are upper bounds.
    pub segments: Vec<Segment>,
    /// What the guest revealed, as bytes.
    pub public_values: Vec<u8>,
}

impl MeteredRun {
    /// Instructions of all segments.
    pub fn instructions(&self) -> u64 {
        self.segments.iter().map(|s| s.num_insns).sum()
    }
}

/// What a segment did, in the form that traces are made from.
pub(crate) struct Recorded {
    pub index: usize,
    /// The memory that the segment starts from, where the segment before it was not traced by the machine
    /// that traces this one.
    pub memory: Option<GuestMemory>,
    records: SystemRecords<F>,
    arenas: Vec<MatrixRecordArena<F>>,
}

/// A virtual machine with a program.
///
/// It can cut an execution into segments, go through it and record segments, and make traces of what another
/// machine recorded. After an error its chips may hold half of a segment: it must be dropped.
pub(crate) struct Machine<E: SdkEngine> {
    vm: VirtualMachine<E, MetalVmBuilder<E>>,
    interpreter: PreflightInterpretedInstance<F, SdkVmConfigExecutor<F>>,
    exe: Arc<CommittedExe<E>>,
    state: Option<VmState<F, GuestMemory>>,
    uploader: Uploader<E>,
    /// Number of inputs that the guest was given, for messages.
    inputs: usize,
    times: MachineTimes,
}

/// Where a machine's time went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MachineTimes {
    pub memory_image: Duration,
    pub preflight: Duration,
    /// With uploads.
    pub traces: Duration,
}

impl<E: SdkEngine> Machine<E> {
    /// A machine that has not run anything yet. `engine` is one of its own on the key's device.
    pub fn new(key: &AppKey<E>, engine: E, exe: Arc<CommittedExe<E>>) -> Result<Self, SdkError> {
        let builder = MetalVmBuilder::new(&engine);
        let uploader = builder.uploader().clone();
        let (vm, interpreter) = guard(Stage::BuildMachine, || {
            let mut vm =
                VirtualMachine::new(engine, builder, key.config.clone(), key.device_key())?;
            vm.load_program(exe.trace.clone());
            let interpreter = vm.preflight_interpreter(&exe.exe)?;
            Ok((vm, interpreter))
        })?
        .map_err(|error: VirtualMachineError| SdkError::machine(Stage::BuildMachine, error, 0))?;
        Ok(Self {
            vm,
            interpreter,
            exe,
            state: None,
            uploader,
            inputs: 0,
            times: MachineTimes::default(),
        })
    }

    /// Runs the program from the start and decides where it is cut. The bound is checked after every
    /// segment, whose end is told to `on_segment`; that stops the run by an error.
    pub fn execute_metered(
        &self,
        input: StdIn,
        bound: u64,
        mut on_segment: impl FnMut(&Segment) -> Result<(), SdkError>,
    ) -> Result<MeteredRun, SdkError> {
        let inputs = input.buffer.len();
        let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
        guard(Stage::Execute, || {
            let exe = &self.exe.exe;
            let ctx = self.vm.build_metered_ctx(exe).with_suspend_on_segment(true);
            let interpreter = self
                .vm
                .metered_interpreter(exe)
                .map_err(|error| SdkError::machine(Stage::Execute, error, inputs))?;
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
                    Ok(Some(code)) if code != 0 => return Err(SdkError::GuestExit(code)),
                    Err(error) => return Err(failed(error)),
                    Ok(_) => {}
                }
                segments[told..].iter().try_for_each(&mut on_segment)?;
                told = segments.len();
                if let Ok(Some(_)) = run.exit_code {
                    break;
                }
            }
            let count = self.vm.config().system.config.num_public_values;
            Ok(MeteredRun {
                public_values: extract_public_values(count, &run.vm_state.memory.memory),
                segments: run.ctx.into_segments(),
            })
        })?
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

    /// Takes over a memory: the next segment that is traced starts from it.
    pub fn give_memory(&mut self, memory: &GuestMemory) {
        let clock = Instant::now();
        self.vm.transport_init_memory_to_device(memory);
        self.times.memory_image += clock.elapsed();
    }

    /// [`give_memory`](Self::give_memory) with the memory of the execution that was started.
    pub fn give_own_memory(&mut self) {
        let state = self.state.take();
        if let Some(state) = &state {
            self.give_memory(&state.memory);
        }
        self.state = state;
    }

    /// Runs a segment without recording it.
    pub fn skip(&mut self, index: usize, segment: &Segment) -> Result<(), SdkError> {
        let from = self.state.take().expect("an execution was started");
        let stage = Stage::Preflight(index);
        let clock = Instant::now();
        let to = guard(stage.clone(), || {
            let interpreter = self.vm.interpreter(&self.exe.exe)?;
            let state = interpreter.execute_from_state(from, Some(segment.num_insns))?;
            Ok(state)
        })?
        .map_err(|error: VirtualMachineError| SdkError::machine(stage, error, self.inputs))?;
        self.times.preflight += clock.elapsed();
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
        Ok(Recorded {
            index,
            memory: None,
            records: system_records,
            arenas: record_arenas,
        })
    }

    /// Makes the traces of a segment on the device. Segments are traced in order; see
    /// [`give_memory`](Self::give_memory) where one is left out, and for the first.
    pub fn trace(&mut self, recorded: Recorded) -> Result<ProvingContext<E::PB>, SdkError> {
        if let Some(memory) = &recorded.memory {
            self.give_memory(memory);
        }
        let stage = Stage::Traces(recorded.index);
        let clock = Instant::now();
        let ctx = guard(stage.clone(), || {
            self.vm
                .generate_proving_ctx(recorded.records, recorded.arenas)
        })?
        .map_err(|source| SdkError::Traces { stage, source })?;
        self.times.traces += clock.elapsed();
        Ok(ctx)
    }

    /// What the guest revealed, with its path in the memory in which the execution ended.
    pub fn user_public_values(&self) -> UserPublicValuesProof<CHUNK, F> {
        let memory = &self.memory().memory;
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
        report.preflight += self.times.preflight;
        report.traces += self.times.traces.saturating_sub(upload);
        report.upload += upload;
        report.uploaded += bytes;
    }
}

/// A copy of a memory that takes only what is not zero.
pub(crate) fn copy_memory(memory: &GuestMemory) -> GuestMemory {
    let from = &memory.memory;
    let mut to: AddressMap = AddressMap::new(from.config.clone());
    for (from, to) in from.mem.iter().zip(&mut to.mem) {
        let pages = from.as_slice().chunks(PAGE_SIZE);
        for (from, to) in pages.zip(to.as_mut_slice().chunks_mut(PAGE_SIZE)) {
            if from.iter().any(|&byte| byte != 0) {
                to.copy_from_slice(from);
            }
        }
    }
    GuestMemory::new(to)
}
