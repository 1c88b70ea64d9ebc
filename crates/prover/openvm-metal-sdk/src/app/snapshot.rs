//! Snapshots of the state of an execution before segments.

use std::time::{Duration, Instant};

use openvm_circuit::{
    arch::{
        hasher::poseidon2::vm_poseidon2_hasher, instructions::DEFERRAL_AS, SystemConfig, VmState,
    },
    system::memory::{
        merkle::public_values::UserPublicValuesProof,
        online::{AddressMap, GuestMemory},
        CHUNK,
    },
};
use openvm_sdk::StdIn;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::AppKey;
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    execution::{DecodedProgram, Execution, Rows},
    prelude::F,
    report::Report,
    system::{MemoryPages, MemoryTree, SpaceDigests},
};

/// The hashing pool beside a pipeline has this share of rayon's threads.
const THREADS: usize = 4;

/// Parts of the memory at the end of an execution that its proof needs.
pub(super) struct EndOfMemory {
    /// The guest's public values, with their path.
    pub user_public_values: UserPublicValuesProof<CHUNK, F>,
    /// Digests around the memory of deferral circuits, if there is any.
    pub deferrals: Option<SpaceDigests>,
}

/// State of an execution before a segment. A clone shares the memory.
#[derive(Clone)]
pub(crate) struct Snapshot {
    /// State without the memory.
    pub(super) state: VmState<F, ()>,
    pub(super) memory: MemoryTree,
}

/// State of an execution before a segment, and the pages of its memory that may differ from the state before the segment before it.
pub(super) struct Changes {
    state: VmState<F, ()>,
    pages: MemoryPages,
}

impl Changes {
    /// The changes of an execution since its first instruction or since the segment began. `layout` is a tree of the same memory configuration.
    pub fn of(execution: &Execution<'_>, layout: &MemoryTree) -> Self {
        let state = execution.state();
        let memory = &state.memory.memory;
        Self {
            state: VmState::new(state.pc(), (), state.streams.clone(), state.rng.clone()),
            pages: match execution.executed() {
                0 => layout.differing_pages(memory),
                _ => layout.copies(memory, execution.rows().touched()),
            },
        }
    }
}

/// The tree of a memory that follows an execution.
pub(super) struct Follow {
    tree: MemoryTree,
    /// Threads of its own.
    pool: Option<ThreadPool>,
    time: Duration,
}

impl Follow {
    /// A tree of zeros, with threads of its own for hashes: the common threads are busy during a proof, and each of many short steps would wait for
    /// one.
    pub fn new(system: &SystemConfig) -> Self {
        let threads = (rayon::current_num_threads() / THREADS).max(1);
        let pool = ThreadPoolBuilder::new().num_threads(threads);
        Self {
            tree: MemoryTree::new(&system.memory_config),
            // Without threads of its own it hashes on the common ones.
            pool: pool.build().ok(),
            time: Duration::ZERO,
        }
    }

    /// Goes to the state with these changes, which is before segment `index`.
    ///
    /// # Errors
    /// [`SdkError::Panicked`].
    pub fn go(&mut self, index: usize, changes: Changes) -> Result<VmState<F, ()>, SdkError> {
        let clock = Instant::now();
        let (tree, Changes { state, pages }) = (&mut self.tree, changes);
        guard(Stage::Preflight(index), || match &self.pool {
            Some(pool) => pool.install(|| tree.replace(pages)),
            None => tree.replace(pages),
        })?;
        self.time += clock.elapsed();
        Ok(state)
    }

    pub fn tree(&self) -> &MemoryTree {
        &self.tree
    }

    /// The parts of `memory`, the memory of this tree, that a proof needs at the end.
    pub fn end(&self, system: &SystemConfig, memory: &AddressMap) -> EndOfMemory {
        end_in(system, &self.tree, memory)
    }

    /// Adds where the time went to a report.
    pub fn add_to(&self, report: &mut Report) {
        report.memory_image += self.time;
    }
}

/// A program that runs without records, and the tree of its memory, for segments that are reached by a second execution. After an error it has to
/// [`restart`](Self::restart).
pub(crate) struct Snapshotter<'a> {
    system: &'a SystemConfig,
    input: StdIn,
    execution: Execution<'a>,
    has_failed: bool,
    /// The tree of the memory of the last snapshot.
    tree: MemoryTree,
    memory_image: Duration,
    skipped: Duration,
}

impl<'a> Snapshotter<'a> {
    /// Makes a snapshotter, which is at the start of the program.
    pub fn new<E: SdkEngine>(
        key: &'a AppKey<E>,
        program: &'a DecodedProgram<'a>,
        input: StdIn,
    ) -> Self {
        let system = &key.config.system.config;
        let rows = Rows::uncounted(&system.memory_config);
        Self {
            system,
            execution: Execution::new(program, system, input.clone(), rows),
            has_failed: false,
            input,
            tree: MemoryTree::new(&system.memory_config),
            memory_image: Duration::ZERO,
            skipped: Duration::ZERO,
        }
    }

    /// Goes back to the start of the program.
    pub fn restart(&mut self) {
        self.execution.restart(self.input.clone());
        self.has_failed = false;
    }

    /// Instructions that were executed.
    pub fn executed(&self) -> u64 {
        self.execution.executed()
    }

    /// Runs until `executed` instructions are executed, no fewer than so far, on the way to segment `index`.
    ///
    /// # Errors
    /// [`SdkError`] of the guest: none, if it was metered with the same input.
    pub fn run_to(&mut self, index: usize, executed: u64) -> Result<(), SdkError> {
        let stage = Stage::Preflight(index);
        if self.has_failed {
            return Err(SdkError::Panicked {
                stage,
                message: "the execution failed before".into(),
                device: None,
            });
        }
        let clock = Instant::now();
        let inputs = self.input.buffer.len();
        self.has_failed = true;
        guard(stage.clone(), || self.execution.run_to(executed))?
            .map_err(|error| SdkError::execution(stage, error, inputs))?;
        self.has_failed = false;
        self.skipped += clock.elapsed();
        Ok(())
    }

    /// The state now.
    ///
    /// # Errors
    /// [`SdkError::Panicked`] if the execution failed.
    pub fn snapshot(&mut self, index: usize) -> Result<Snapshot, SdkError> {
        let clock = Instant::now();
        self.synchronize(index)?;
        let state = self.execution.state();
        let snapshot = Snapshot {
            state: VmState::new(state.pc(), (), state.streams.clone(), state.rng.clone()),
            memory: self.tree.clone(),
        };
        self.memory_image += clock.elapsed();
        Ok(snapshot)
    }

    fn synchronize(&mut self, index: usize) -> Result<(), SdkError> {
        let memory = &self.execution.state().memory.memory;
        guard(Stage::Preflight(index), || self.tree.synchronize(memory))
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
        self.synchronize(index)?;
        self.memory_image += clock.elapsed();
        let memory = &self.execution.state().memory.memory;
        Ok(values_in(self.system, &self.tree, memory))
    }

    /// Adds where the time went to a report.
    pub fn add_to(&self, report: &mut Report) {
        report.memory_image += self.memory_image;
        report.skipped += self.skipped;
    }
}

/// The parts of the memory that a proof needs at the end of an execution.
pub(super) fn end_of_memory(system: &SystemConfig, memory: &GuestMemory) -> EndOfMemory {
    let mut tree = MemoryTree::new(&system.memory_config);
    tree.synchronize(&memory.memory);
    end_in(system, &tree, &memory.memory)
}

fn end_in(system: &SystemConfig, tree: &MemoryTree, memory: &AddressMap) -> EndOfMemory {
    EndOfMemory {
        user_public_values: values_in(system, tree, memory),
        deferrals: tree.space_digests(DEFERRAL_AS),
    }
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
