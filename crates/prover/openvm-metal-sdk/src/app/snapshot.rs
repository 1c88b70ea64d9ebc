//! `Snapshotter`: runs a program once more and gives snapshots of its state before segments.

use std::time::{Duration, Instant};

use openvm_circuit::{
    arch::{
        hasher::poseidon2::vm_poseidon2_hasher, instructions::exe::VmExe, Streams, SystemConfig,
        VmState,
    },
    system::memory::{
        merkle::public_values::UserPublicValuesProof,
        online::{AddressMap, GuestMemory},
        CHUNK,
    },
};
use openvm_sdk::StdIn;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::{
    runner::{run_on, Runner},
    AppKey,
};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::F,
    report::Report,
    system::MemoryTree,
};

/// Shares of rayon's threads that a snapshotter hashes on.
const THREADS: usize = 4;

/// State of an execution before a segment. A clone shares the memory.
#[derive(Clone)]
pub(crate) struct Snapshot {
    /// State without the memory.
    pub(super) state: VmState<F, ()>,
    pub(super) memory: MemoryTree,
}

/// A program that runs without records, and the tree of its memory.
///
/// It is at the same place for all segment tracers: the changes of a segment are found and hashed once. After an error it has to
/// [`restart`](Self::restart).
pub(crate) struct Snapshotter<'a> {
    runner: &'a Runner<'a>,
    exe: &'a VmExe<F>,
    system: &'a SystemConfig,
    input: StdIn,
    /// State of the execution; absent after an error.
    state: Option<VmState<F, GuestMemory>>,
    /// Instructions that were executed.
    executed: u64,
    /// The tree of the memory of the last snapshot.
    tree: MemoryTree,
    /// Threads of its own.
    pool: Option<ThreadPool>,
    memory_image: Duration,
    skipped: Duration,
}

impl<'a> Snapshotter<'a> {
    /// Makes a snapshotter, which is at the start of the program.
    pub fn new<E: SdkEngine>(
        key: &'a AppKey<E>,
        exe: &'a VmExe<F>,
        runner: &'a Runner<'a>,
        input: StdIn,
    ) -> Self {
        let system = &key.config.system.config;
        let mut this = Self {
            runner,
            exe,
            system,
            input,
            state: None,
            executed: 0,
            tree: MemoryTree::new(&system.memory_config),
            pool: None,
            memory_image: Duration::ZERO,
            skipped: Duration::ZERO,
        };
        this.restart();
        this
    }

    /// Gives the snapshotter threads of its own for hashes. The common threads are busy during a proof, and each of many short steps would wait for one.
    pub fn with_threads(mut self) -> Self {
        let threads = (rayon::current_num_threads() / THREADS).max(1);
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        // Without threads of its own it hashes on the common ones.
        self.pool = pool.build().ok();
        self
    }

    /// Goes back to the start of the program.
    pub fn restart(&mut self) {
        let input: Streams<F> = self.input.clone().into();
        let (memory, start) = (&self.exe.init_memory, self.exe.pc_start);
        match &mut self.state {
            Some(state) => state.reset(memory, start, input),
            None => self.state = Some(VmState::initial(self.system, memory, start, input)),
        }
        self.executed = 0;
    }

    /// Instructions that were executed.
    pub fn executed(&self) -> u64 {
        self.executed
    }

    /// Runs until `executed` instructions are executed, no fewer than so far, on the way to segment `index`.
    ///
    /// # Errors
    /// [`SdkError`] of the guest: none, if it was metered with the same input.
    pub fn run_to(&mut self, index: usize, executed: u64) -> Result<(), SdkError> {
        let instructions = executed - self.executed;
        if instructions == 0 {
            return Ok(());
        }
        let stage = Stage::Preflight(index);
        let from = self.state.take().ok_or_else(|| SdkError::Panicked {
            stage: stage.clone(),
            message: "the execution failed before".into(),
            device: None,
        })?;
        let clock = Instant::now();
        let inputs = self.input.buffer.len();
        let to = guard(stage.clone(), || {
            run_on(self.runner, from, Some(instructions))
        })?
        .map_err(|error| SdkError::execution(stage, error, inputs))?;
        self.skipped += clock.elapsed();
        self.executed = executed;
        self.state = Some(to);
        Ok(())
    }

    /// The state now.
    ///
    /// # Errors
    /// [`SdkError::Panicked`] if the execution failed.
    pub fn snapshot(&mut self, index: usize) -> Result<Snapshot, SdkError> {
        let stage = Stage::Preflight(index);
        let clock = Instant::now();
        guard(stage, || self.synchronize())?;
        let state = self.state.as_ref().expect("a memory that was hashed");
        let snapshot = Snapshot {
            state: VmState::new(state.pc(), (), state.streams.clone(), state.rng.clone()),
            memory: self.tree.clone(),
        };
        self.memory_image += clock.elapsed();
        Ok(snapshot)
    }

    fn synchronize(&mut self) {
        let state = self.state.as_ref().expect("the execution did not fail");
        let (tree, memory) = (&mut self.tree, &state.memory.memory);
        match &self.pool {
            Some(pool) => pool.install(|| tree.synchronize(memory)),
            None => tree.synchronize(memory),
        }
    }

    /// The guest's public values, with their path in the memory, at the end of the execution.
    ///
    /// # Errors
    /// [`SdkError::Panicked`] if the execution failed.
    pub fn user_public_values(
        &mut self,
        index: usize,
    ) -> Result<UserPublicValuesProof<CHUNK, F>, SdkError> {
        let clock = Instant::now();
        guard(Stage::Preflight(index), || self.synchronize())?;
        self.memory_image += clock.elapsed();
        let state = self.state.as_ref().expect("a memory that was hashed");
        Ok(values_in(self.system, &self.tree, &state.memory.memory))
    }

    /// Adds where the time went to a report.
    pub fn add_to(&self, report: &mut Report) {
        report.memory_image += self.memory_image;
        report.skipped += self.skipped;
    }
}

/// The guest's public values, with their path in the memory at the end of an execution.
pub(super) fn user_public_values(
    system: &SystemConfig,
    memory: &GuestMemory,
) -> UserPublicValuesProof<CHUNK, F> {
    let mut tree = MemoryTree::new(&system.memory_config);
    tree.synchronize(&memory.memory);
    values_in(system, &tree, &memory.memory)
}

/// The guest's public values in `memory`, of which `tree` is the tree.
fn values_in(
    system: &SystemConfig,
    tree: &MemoryTree,
    memory: &AddressMap,
) -> UserPublicValuesProof<CHUNK, F> {
    UserPublicValuesProof::compute(
        system.memory_config.memory_dimensions(),
        system.num_public_values,
        &vm_poseidon2_hasher(),
        memory,
        &tree.top(),
    )
}
