//! `SegmentTracer`: a virtual machine with a program, which records segments and makes their traces.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::{execution_mode::Segment, instructions::exe::VmExe, PreflightExecutionOutput, VmState},
    system::{
        memory::online::{AddressMap, GuestMemory},
        SystemRecords,
    },
};
use openvm_stark_backend::prover::ProvingContext;

use super::{
    meter::{virtual_machine, Vm},
    runner::{executors, Executors},
    snapshot::Snapshot,
    AppKey, CommittedExe,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    execution::Recorder,
    prelude::F,
    report::Report,
    system::{MemoryTree, TreeSlot},
    vm::{segment_arenas, TraceArena, Uploader},
};

/// Records of a segment, from which traces are made.
pub(crate) struct Recorded {
    index: usize,
    records: SystemRecords<F>,
    arenas: Vec<TraceArena>,
    /// Memory before the segment.
    memory: MemoryTree,
}

/// A virtual machine with a program.
///
/// It records any segment from the snapshot before it, and makes its traces. Several share the work on one execution. After an error its chips may
/// hold half of a segment: it must be dropped.
pub(crate) struct SegmentTracer<E: SdkEngine> {
    vm: Vm<E>,
    exe: Arc<VmExe<F>>,
    executors: Executors,
    recorder: Recorder,
    memory: TracerMemory,
    uploader: Uploader<E>,
    trees: TreeSlot,
    /// Number of inputs that the guest was given, for messages.
    inputs: usize,
    memory_image: Duration,
    preflight: Duration,
    /// Time of traces and uploads.
    traces: Duration,
}

/// The guest memory of a tracer, which goes from snapshot to snapshot: only pages that are others are written.
struct TracerMemory {
    /// Memory of the guest; absent while a segment is recorded.
    guest: Option<GuestMemory>,
    /// The memory of `guest`, except for the pages `stale`.
    image: MemoryTree,
    /// Pages that the last segment may have changed, as `(address space, page)`.
    stale: Vec<(u32, u32)>,
}

impl TracerMemory {
    /// The guest memory of a snapshot.
    fn go_to(&mut self, to: &MemoryTree) -> Option<GuestMemory> {
        let mut guest = self.guest.take()?;
        to.write_to(&mut guest.memory, &self.image, &self.stale);
        self.image = to.clone();
        self.stale.clear();
        Some(guest)
    }
}

impl<E: SdkEngine> SegmentTracer<E> {
    /// A tracer whose traces go to the key's device, of a program that is given `inputs` inputs.
    pub fn new(
        key: &AppKey<E>,
        exe: &Arc<CommittedExe<E>>,
        inputs: usize,
    ) -> Result<Self, SdkError> {
        let (mut vm, builder) = virtual_machine(key, &exe.exe)?;
        let executors = executors(&key.config, &exe.exe)?;
        let recorder = guard(Stage::BuildMachine, || {
            vm.load_program(exe.trace.clone());
            Recorder::new(&executors, &exe.exe, vm.executor_idx_to_air_idx())
        })?
        .map_err(|error| SdkError::machine(Stage::BuildMachine, error, 0))?;
        let config = &key.config.system.config.memory_config;
        Ok(Self {
            vm,
            exe: exe.exe.clone(),
            executors,
            recorder,
            memory: TracerMemory {
                guest: Some(GuestMemory::new(AddressMap::from_mem_config(config))),
                image: MemoryTree::new(config),
                stale: Vec::new(),
            },
            uploader: builder.uploader().clone(),
            trees: builder.trees().clone(),
            inputs,
            memory_image: Duration::ZERO,
            preflight: Duration::ZERO,
            traces: Duration::ZERO,
        })
    }

    /// Sends traces to the device of `engine` from now on, on which `exe` is the same program.
    pub fn aim(&mut self, engine: &E, exe: &CommittedExe<E>) {
        self.uploader.aim(engine);
        self.vm.load_program(exe.trace.clone());
    }

    /// Runs segment number `index`, which begins at the snapshot, and records it.
    pub fn record(
        &mut self,
        index: usize,
        segment: &Segment,
        snapshot: Snapshot,
    ) -> Result<Recorded, SdkError> {
        let Snapshot { state, memory } = snapshot;
        let stage = Stage::Preflight(index);
        let clock = Instant::now();
        let guest = self
            .memory
            .go_to(&memory)
            .ok_or_else(|| SdkError::Panicked {
                stage: stage.clone(),
                message: "an earlier segment failed here".into(),
                device: None,
            })?;
        self.memory_image += clock.elapsed();
        let from = VmState::new(state.pc(), guest, state.streams, state.rng);
        let clock = Instant::now();
        let output = guard(stage.clone(), || {
            let arenas = segment_arenas(&self.vm, segment, self.uploader.device_chips());
            self.recorder
                .record(&self.executors, &self.exe, from, segment, arenas)
        })?
        .map_err(|error| SdkError::execution(stage, error, self.inputs))?;
        self.preflight += clock.elapsed();
        let PreflightExecutionOutput {
            system_records,
            record_arenas,
            to_state,
        } = output;
        self.memory.guest = Some(to_state.memory);
        self.memory.stale = memory.pages_of(&system_records.touched_memory);
        Ok(Recorded {
            index,
            records: system_records,
            arenas: record_arenas,
            memory,
        })
    }

    /// Makes the traces of a segment on the device.
    pub fn trace(&mut self, recorded: Recorded) -> Result<ProvingContext<E::PB>, SdkError> {
        let Recorded {
            index,
            records,
            arenas,
            memory,
        } = recorded;
        let stage = Stage::Traces(index);
        let clock = Instant::now();
        self.trees.give(memory);
        self.uploader.begin_segment();
        let ctx = guard(stage.clone(), || {
            self.vm.generate_proving_ctx(records, arenas)
        })?
        .map_err(|source| SdkError::Traces { stage, source })?;
        self.traces += clock.elapsed();
        Ok(ctx)
    }

    /// The guest's memory; nothing after an error.
    #[cfg(test)]
    pub fn guest(&self) -> Option<&GuestMemory> {
        self.memory.guest.as_ref()
    }

    /// Adds where the time went to a report.
    pub fn add_to(&self, report: &mut Report) {
        let (upload, bytes) = self.uploader.spent();
        report.memory_image += self.memory_image;
        report.preflight += self.preflight;
        report.traces += self.traces.saturating_sub(upload);
        report.upload += upload;
        report.uploaded += bytes;
        let airs = &self.vm.pk().per_air;
        for (chip, rows) in self.uploader.rows_on_host() {
            // Chips have the order in which they were added, AIRs the other one.
            let name = airs[airs.len() - 1 - chip].air_name.clone();
            *report.rows_on_host.entry(name).or_default() += rows;
        }
    }
}
