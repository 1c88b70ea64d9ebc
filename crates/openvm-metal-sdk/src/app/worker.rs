//! `SegmentWorker`: a virtual machine that goes through an execution, segment by segment.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::{
        execution_mode::Segment, hasher::poseidon2::vm_poseidon2_hasher,
        interpreter_preflight::PreflightInterpretedInstance, PreflightExecutionOutput, Streams,
        VirtualMachine, VmExecState, VmState,
    },
    system::memory::{
        merkle::public_values::{extract_public_values, UserPublicValuesProof},
        online::GuestMemory,
        CHUNK,
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

/// A virtual machine with a program, and the state in which its next segment starts.
///
/// After an error the machine's chips may hold half of a segment: the worker must be dropped.
pub(crate) struct SegmentWorker<E: SdkEngine> {
    vm: VirtualMachine<E, MetalVmBuilder<E>>,
    interpreter: PreflightInterpretedInstance<F, SdkVmConfigExecutor<F>>,
    exe: Arc<CommittedExe<E>>,
    state: Option<VmState<F, GuestMemory>>,
    uploader: Uploader<E>,
    /// Number of inputs that the guest was given, for messages.
    inputs: usize,
    times: WorkerTimes,
}

/// Where a worker's time went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkerTimes {
    memory_image: Duration,
    preflight: Duration,
    /// With uploads.
    traces: Duration,
    upload: Duration,
    uploaded: u64,
}

impl WorkerTimes {
    pub fn add_to(&self, report: &mut Report) {
        report.memory_image += self.memory_image;
        report.preflight += self.preflight;
        report.traces += self.traces.saturating_sub(self.upload);
        report.upload += self.upload;
        report.uploaded += self.uploaded;
    }
}

impl<E: SdkEngine> SegmentWorker<E> {
    /// A machine that has not run anything yet. `engine` is one of its own on the key's device.
    pub fn new(key: &AppKey<E>, engine: E, exe: Arc<CommittedExe<E>>) -> Result<Self, SdkError> {
        let builder = MetalVmBuilder::new(&engine);
        let uploader = builder.uploader().clone();
        let (vm, interpreter) = guard(Stage::Execute, || {
            let mut vm =
                VirtualMachine::new(engine, builder, key.config.clone(), key.device_key())?;
            vm.load_program(exe.trace.clone());
            let interpreter = vm.preflight_interpreter(&exe.exe)?;
            Ok((vm, interpreter))
        })?
        .map_err(|error: openvm_circuit::arch::VirtualMachineError| {
            SdkError::machine(Stage::Execute, error, 0)
        })?;
        Ok(Self {
            vm,
            interpreter,
            exe,
            state: None,
            uploader,
            inputs: 0,
            times: WorkerTimes::default(),
        })
    }

    /// Runs the program from the start and decides where it is cut. The bound is checked after every
    /// segment, whose end is told to `on_segment`.
    pub fn execute_metered(
        &self,
        input: StdIn,
        bound: u64,
        mut on_segment: impl FnMut(&Segment),
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
                segments[told..].iter().for_each(&mut on_segment);
                told = segments.len();
                let executed: u64 = segments.iter().map(|s| s.num_insns).sum();
                if executed > bound {
                    return Err(SdkError::InstructionBound { executed, bound });
                }
                match run.exit_code {
                    Ok(None) => {}
                    Ok(Some(0)) => break,
                    Ok(Some(code)) => return Err(SdkError::GuestExit(code)),
                    Err(error) => return Err(failed(error)),
                }
            }
            let public_values = self.public_values(&run.vm_state);
            Ok(MeteredRun {
                segments: run.ctx.into_segments(),
                public_values,
            })
        })?
    }

    fn public_values(&self, state: &VmState<F, GuestMemory>) -> Vec<u8> {
        let count = self.vm.config().system.config.num_public_values;
        extract_public_values(count, &state.memory.memory)
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

    /// Runs segment number `index` with records and makes its traces on the device.
    ///
    /// # Panics
    /// If [`start`](Self::start) was not called, or an earlier segment failed.
    pub fn next(
        &mut self,
        index: usize,
        segment: &Segment,
    ) -> Result<ProvingContext<E::PB>, SdkError> {
        let from = self.state.take().expect("an execution was started");
        let stage = Stage::Preflight(index);
        let mut times = self.times;
        let (output, to) = guard(stage.clone(), || {
            let clock = Instant::now();
            self.vm.transport_init_memory_to_device(&from.memory);
            times.memory_image += clock.elapsed();
            let clock = Instant::now();
            let output = self
                .vm
                .execute_preflight(
                    &mut self.interpreter,
                    from,
                    Some(segment.num_insns),
                    &segment.trace_heights,
                )
                .map(|output| {
                    let PreflightExecutionOutput {
                        system_records,
                        record_arenas,
                        to_state,
                    } = output;
                    ((system_records, record_arenas), to_state)
                });
            times.preflight += clock.elapsed();
            output
        })?
        .map_err(|error| SdkError::execution(stage, error, self.inputs))?;
        self.state = Some(to);

        let (system_records, record_arenas) = output;
        let stage = Stage::Traces(index);
        let clock = Instant::now();
        let ctx = guard(stage.clone(), || {
            self.vm.generate_proving_ctx(system_records, record_arenas)
        })?
        .map_err(|source| SdkError::Traces { stage, source })?;
        times.traces += clock.elapsed();
        (times.upload, times.uploaded) = self.uploader.spent();
        self.times = times;
        Ok(ctx)
    }

    /// Where the time of the segments so far went.
    pub fn times(&self) -> WorkerTimes {
        self.times
    }

    /// After the last segment: what the guest revealed, with its path in the final memory.
    ///
    /// # Panics
    /// If no segment was run.
    pub fn user_public_values(&self) -> UserPublicValuesProof<CHUNK, F> {
        let state = self.state.as_ref().expect("an execution was started");
        let top_tree = self
            .vm
            .memory_top_tree()
            .expect("the traces of a segment leave the top of the memory tree");
        let system = &self.vm.config().system.config;
        UserPublicValuesProof::compute(
            system.memory_config.memory_dimensions(),
            system.num_public_values,
            &vm_poseidon2_hasher(),
            &state.memory.memory,
            top_tree,
        )
    }
}
