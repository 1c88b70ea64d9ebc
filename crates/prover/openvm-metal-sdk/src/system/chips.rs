//! The system chips of a VM: program, connector, memory boundary and memory tree.

use std::sync::{Arc, Mutex};

use openvm_circuit::{
    arch::{
        ChipInventory, ChipInventoryError, SystemConfig, BOUNDARY_AIR_ID, CONNECTOR_AIR_ID,
        MERKLE_AIR_ID, PROGRAM_AIR_ID,
    },
    primitives::{var_range::SharedVariableRangeCheckerChip, Chip},
    system::{
        connector::VmConnectorChip,
        memory::{online::GuestMemory, CHUNK},
        poseidon2::Poseidon2PeripheryChip,
        SystemChipComplex, SystemRecords, SystemWithFixedTraceHeights,
    },
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::{
    p3_matrix::dense::RowMajorMatrix,
    prover::{AirProvingContext, CommittedTraceData, ProverBackend},
};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use super::{
    boundary_rows::BOUNDARY_WIDTH,
    hash::Digest,
    memory::{MemoryTree, TraceHeights},
    merkle_rows::MERKLE_WIDTH,
    records::{of_traces, record, Compressions},
};

use crate::slot::lock;

type HostBackend = CpuBackend<BabyBearPoseidon2Config>;
type HostContext = AirProvingContext<HostBackend>;

/// Transport of a host's trace to the memory of a backend.
pub trait TraceUpload<PB: ProverBackend> {
    fn upload(&self, trace: RowMajorMatrix<F>) -> PB::Matrix;
}

/// For backends whose matrices are the host's row-major ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct OnHost;

impl TraceUpload<HostBackend> for OnHost {
    fn upload(&self, trace: RowMajorMatrix<F>) -> RowMajorMatrix<F> {
        trace
    }
}

/// Gives system chips the tree of the memory that their next segment starts from, in place of the memory itself. Clones are the same
/// slot.
#[derive(Clone, Debug, Default)]
pub struct TreeSlot(Arc<Mutex<Option<MemoryTree>>>);

impl TreeSlot {
    /// The next segment starts from the memory of this tree.
    pub fn give(&self, tree: MemoryTree) {
        *lock(&self.0) = Some(tree);
    }

    fn take(&self) -> Option<MemoryTree> {
        lock(&self.0).take()
    }
}

/// Memory that the next segment starts from.
#[derive(Clone, Copy, Debug)]
enum Start {
    /// The one that was given last (zeros at first).
    Given,
    /// The one after the last segment, which stopped at this program counter.
    After { pc: u32 },
    /// The memory has to be given: the last segment ended its program, or its own memory was given as a tree.
    NotGiven,
}

/// The system chips with a memory tree that is kept from segment to segment.
///
/// Traces equal those of OpenVM's `SystemChipInventory`. What it computes anew for every segment,
/// the tree of all guest memory up to its last page that is not zero, is here advanced by the
/// leaves that the segment touched.
///
/// # The memory that a segment starts from
/// `transport_init_memory_to_device` gives it; any memory may follow any other, of this program or
/// another one. It compares pages and hashes those that differ, so that giving the memory in which
/// the last segment ended costs one comparison. A segment that goes on where the last one stopped
/// needs no such call: preflights may run ahead while the traces of earlier segments are made. A [`TreeSlot`] gives the tree of the memory instead, for one
/// segment: nothing is compared or hashed before it, and the next one has to be given its own.
///
/// # Panics
/// `generate_proving_ctx` panics if the memory was not given and the segment does not start at the
/// program counter at which the last one stopped, or if that one ended its program: its roots would
/// be those of another memory.
pub struct SparseSystem<PB: ProverBackend, U> {
    upload: U,
    program: Option<CommittedTraceData<PB>>,
    connector: VmConnectorChip<F>,
    memory: MemoryTree,
    heights: TraceHeights,
    start: Start,
    poseidon2: Arc<Poseidon2PeripheryChip<F>>,
    top: Vec<Digest>,
    given: TreeSlot,
    /// List that takes compressions in place of the Poseidon2 chip.
    compressions: Option<Compressions>,
}

impl<PB, U> SparseSystem<PB, U>
where
    PB: ProverBackend<Val = F>,
    U: TraceUpload<PB>,
{
    pub fn new(
        config: &SystemConfig,
        range_checker: SharedVariableRangeCheckerChip,
        poseidon2: Arc<Poseidon2PeripheryChip<F>>,
        upload: U,
    ) -> Self {
        Self {
            upload,
            program: None,
            connector: VmConnectorChip::new(range_checker, config.memory_config.timestamp_max_bits),
            memory: MemoryTree::new(&config.memory_config),
            heights: TraceHeights::default(),
            start: Start::Given,
            poseidon2,
            top: Vec::new(),
            given: TreeSlot::default(),
            compressions: None,
        }
    }

    /// System chips for the other chips of a VM that a CPU builder of OpenVM made: their range
    /// checker and their Poseidon2 chip are used. `upload` takes the traces to `PB`.
    pub fn from_inventory<RA>(
        inventory: &ChipInventory<BabyBearPoseidon2Config, RA, HostBackend>,
        upload: U,
    ) -> Result<Self, ChipInventoryError> {
        let range_checker = inventory.range_checker()?.clone();
        let poseidon2 = inventory
            .find_chip::<Arc<Poseidon2PeripheryChip<F>>>()
            .next()
            .ok_or_else(|| ChipInventoryError::ChipNotFound {
                name: "Poseidon2PeripheryChip".to_string(),
            })?;
        Ok(Self::new(
            inventory.config(),
            range_checker,
            poseidon2.clone(),
            upload,
        ))
    }

    /// Sets the slot that trees are given by.
    pub fn with_trees_from(mut self, slot: TreeSlot) -> Self {
        self.given = slot;
        self
    }

    /// Adds compressions to a list in place of the Poseidon2 chip, whose hash map takes longer.
    pub fn with_compressions_to(mut self, list: Compressions) -> Self {
        self.compressions = Some(list);
        self
    }

    /// The tree, in the memory that the next segment starts from.
    pub fn memory(&self) -> &MemoryTree {
        &self.memory
    }

    fn program_context(&self, frequencies: &[u32]) -> AirProvingContext<PB>
    where
        PB::Matrix: Clone,
    {
        let program = self.program.clone();
        let program = program.expect("the program is loaded before traces are made");
        assert!(
            frequencies.len() <= program.height(),
            "more instructions than the program has"
        );
        let mut column = F::zero_vec(program.height());
        for (cell, &frequency) in column.iter_mut().zip(frequencies) {
            *cell = F::from_u32(frequency);
        }
        AirProvingContext {
            cached_mains: vec![program],
            common_main: self.upload.upload(RowMajorMatrix::new(column, 1)),
            public_values: vec![],
        }
    }

    fn upload(&self, trace: RowMajorMatrix<F>, public_values: Vec<F>) -> AirProvingContext<PB> {
        AirProvingContext::simple(self.upload.upload(trace), public_values)
    }
}

impl<RA, PB, U> SystemChipComplex<RA, PB> for SparseSystem<PB, U>
where
    PB: ProverBackend<Val = F>,
    PB::Matrix: Clone,
    U: TraceUpload<PB>,
{
    fn load_program(&mut self, cached_program_trace: CommittedTraceData<PB>) {
        self.program = Some(cached_program_trace);
    }

    fn transport_init_memory_to_device(&mut self, memory: &GuestMemory) {
        self.memory.synchronize(&memory.memory);
        self.start = Start::Given;
    }

    fn generate_proving_ctx(
        &mut self,
        records: SystemRecords<F>,
        _record_arenas: Vec<RA>,
    ) -> Vec<AirProvingContext<PB>> {
        let given = self.given.take();
        match self.start {
            _ if given.is_some() => {}
            Start::Given => {}
            Start::After { pc } => assert_eq!(
                pc, records.from_state.pc,
                "a segment that does not go on where the last one stopped needs its memory given"
            ),
            Start::NotGiven => panic!(
                "the last segment ended its program or began with a tree: memory has to be given"
            ),
        }
        self.start = match records.exit_code {
            Some(_) => Start::NotGiven,
            None => Start::After {
                pc: records.to_state.pc,
            },
        };
        let program = self.program_context(&records.filtered_exec_frequencies);
        self.connector.begin(records.from_state);
        self.connector.end(records.to_state, records.exit_code);
        let connector: HostContext = self.connector.generate_proving_ctx(());
        let traces = match given {
            Some(tree) => {
                self.start = Start::NotGiven;
                self.top.clear();
                tree.traces(records.touched_memory, self.heights)
            }
            None => {
                let traces = self.memory.advance(records.touched_memory, self.heights);
                self.top = self.memory.top();
                traces
            }
        };
        match &self.compressions {
            Some(list) => list.add(&traces),
            None => record(of_traces(&traces), &self.poseidon2),
        }
        let roots = [traces.initial_root, traces.final_root].concat();
        vec![
            program,
            self.upload(connector.common_main, connector.public_values),
            self.upload(RowMajorMatrix::new(traces.boundary, BOUNDARY_WIDTH), vec![]),
            self.upload(RowMajorMatrix::new(traces.merkle, MERKLE_WIDTH), roots),
        ]
    }

    fn memory_top_tree(&self) -> Option<&[[F; CHUNK]]> {
        (!self.top.is_empty()).then_some(self.top.as_slice())
    }
}

impl<PB: ProverBackend, U> SystemWithFixedTraceHeights for SparseSystem<PB, U> {
    /// Heights of the system AIRs in the order of their AIR IDs. That of the program's trace must
    /// be the loaded program's, the connector's 2.
    fn override_trace_heights(&mut self, heights: &[u32]) {
        let program = self
            .program
            .as_ref()
            .expect("the program is loaded before heights are set");
        assert_eq!(
            heights[PROGRAM_AIR_ID] as usize,
            program.height(),
            "program trace"
        );
        assert_eq!(heights[CONNECTOR_AIR_ID], 2, "connector trace");
        self.heights = TraceHeights {
            boundary: Some(heights[BOUNDARY_AIR_ID] as usize),
            merkle: Some(heights[MERKLE_AIR_ID] as usize),
        };
    }
}
