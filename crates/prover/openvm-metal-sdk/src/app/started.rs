//! `Started`: an execution that was started on a thread of its own. It is metered whether devices are ready or not.

use std::{
    sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender},
    thread::{Scope, ScopedJoinHandle},
    time::{Duration, Instant},
};

use openvm_circuit::{
    arch::{execution_mode::Segment, instructions::exe::VmExe},
    system::memory::online::GuestMemory,
};
use openvm_sdk::StdIn;

use super::{
    circuit::AppCircuit,
    meter::{execute_metered, Follower, MeteredRun},
    segment_memory::SegmentMemory,
    snapshot::Changes,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    execution::Execution,
    options::ProveOptions,
    prelude::F,
    system::MemoryTree,
};

/// Page copies that may wait for hashing; each holds the remaining input.
const WAITING_CHANGES: usize = 1;

/// Message from the thread that executes to the one that makes snapshots.
pub(super) enum Followed {
    /// Changes up to the beginning of the next segment.
    Segment(Changes),
    /// Changes up to the end, and the memory there.
    End(Changes, GuestMemory),
}

/// Results of the metering thread.
pub(super) struct Metered {
    pub run: MeteredRun,
    /// Time of the execution, without waits for snapshots and devices.
    pub time: Duration,
}

/// An execution that is metered on a thread, which ends soon after this is dropped.
pub(crate) struct Started<'scope> {
    /// Receives the bound on the memory of a segment's proof. The first segment ends after that.
    pub(super) memory: Sender<usize>,
    pub(super) changes: Receiver<Followed>,
    /// Segments as they are cut.
    pub(super) segments: Receiver<Segment>,
    /// Gives nothing if nobody took segments or changes any more.
    pub(super) metered: ScopedJoinHandle<'scope, Result<Option<Metered>, SdkError>>,
}

impl<'scope> Started<'scope> {
    /// Starts the execution of a program.
    pub fn start<'env, E: SdkEngine>(
        scope: &'scope Scope<'scope, 'env>,
        circuit: &'env AppCircuit<E>,
        exe: &'env VmExe<F>,
        input: StdIn,
        options: &'env ProveOptions<'env>,
    ) -> Self {
        let (memory, later) = channel();
        let (changes, changed) = sync_channel(WAITING_CHANGES);
        let (segments, cut) = channel();
        let memory_of_segments = SegmentMemory::later(circuit, later);
        let metered = scope.spawn(move || {
            let follower = Handed {
                layout: MemoryTree::new(&circuit.system().memory_config),
                changes,
                segments,
                waited: Duration::ZERO,
                is_taken: true,
            };
            let meter = || follower.meter(circuit, memory_of_segments, exe, input, options);
            guard(Stage::Pipeline, meter).and_then(|metered| metered)
        });
        Self {
            memory,
            changes: changed,
            segments: cut,
            metered,
        }
    }
}

/// Gives segments and changes to whoever takes them.
struct Handed {
    /// A tree of the memory's configuration.
    layout: MemoryTree,
    changes: SyncSender<Followed>,
    segments: Sender<Segment>,
    /// Time for which changes were not taken.
    waited: Duration,
    /// False once nobody takes segments or changes.
    is_taken: bool,
}

impl Handed {
    fn meter<E: SdkEngine>(
        mut self,
        circuit: &AppCircuit<E>,
        mut memory: SegmentMemory,
        exe: &VmExe<F>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Option<Metered>, SdkError> {
        let clock = Instant::now();
        let run = execute_metered(circuit, &mut memory, exe, input, options, &mut self);
        let run = match run {
            Err(_) if !self.is_taken => return Ok(None),
            run => run?,
        };
        let time = clock.elapsed().saturating_sub(self.waited + memory.waited);
        Ok(Some(Metered { run, time }))
    }

    fn taken(&mut self, is_taken: bool) -> Result<(), SdkError> {
        self.is_taken = is_taken;
        is_taken.then_some(()).ok_or(SdkError::Cancelled)
    }
}

impl Follower for Handed {
    fn before_segment(&mut self, execution: &Execution<'_>) -> Result<(), SdkError> {
        let changes = Changes::of(execution, &self.layout);
        let clock = Instant::now();
        let sent = self.changes.send(Followed::Segment(changes));
        self.waited += clock.elapsed();
        self.taken(sent.is_ok())
    }

    fn segment(&mut self, segment: &Segment) -> Result<(), SdkError> {
        let sent = self.segments.send(segment.clone());
        self.taken(sent.is_ok())
    }

    fn end(&mut self, execution: Execution<'_>) -> Result<(), SdkError> {
        let changes = Changes::of(&execution, &self.layout);
        let memory = execution.into_state().memory;
        let sent = self.changes.send(Followed::End(changes, memory));
        self.taken(sent.is_ok())
    }
}
