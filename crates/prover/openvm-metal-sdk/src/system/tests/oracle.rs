//! OpenVM's own memory chips, and both on the same guest memory.

use std::sync::Arc;

use openvm_circuit::{
    arch::{vm_poseidon2_config, MatrixRecordArena, MemoryConfig, SystemConfig, VmCircuitConfig},
    primitives::{
        var_range::{VariableRangeCheckerBus, VariableRangeCheckerChip},
        Chip,
    },
    system::{
        memory::{
            merkle::public_values::UserPublicValuesProof,
            online::{GuestMemory, TracingMemory},
            CHUNK,
        },
        poseidon2::Poseidon2PeripheryChip,
        SystemChipComplex, SystemChipInventory, TouchedMemory,
    },
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::prover::AirProvingContext;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;
use p3_baby_bear::BabyBear as F;

use crate::system::{
    boundary_rows::BOUNDARY_WIDTH,
    hash::{Compressor, Digest},
    memory::{MemoryTraces, MemoryTree, TraceHeights},
    merkle_rows::MERKLE_WIDTH,
    records::{of_traces, record},
};

type SC = BabyBearPoseidon2Config;
type Context = AirProvingContext<CpuBackend<SC>>;

/// Both implementations, with a Poseidon2 chip each, for one configuration.
pub struct Both {
    pub config: SystemConfig,
    pub sparse: MemoryTree,
    poseidon2: Arc<Poseidon2PeripheryChip<F>>,
    stock: SystemChipInventory<SC>,
    stock_poseidon2: Arc<Poseidon2PeripheryChip<F>>,
    /// Compare the Poseidon2 traces row by row: the stock chips write them in a fixed order on one
    /// thread only.
    pub ordered: bool,
}

impl Both {
    pub fn new(memory_config: MemoryConfig, public_values: usize) -> Self {
        let mut config = SystemConfig::default_from_memory(memory_config);
        config = config.with_public_values(public_values);
        let airs = VmCircuitConfig::<SC>::create_airs(&config).unwrap();
        let chip = || {
            let degree = config.max_constraint_degree;
            Arc::new(Poseidon2PeripheryChip::new(vm_poseidon2_config(), degree))
        };
        let (poseidon2, stock_poseidon2) = (chip(), chip());
        let bus = VariableRangeCheckerBus::new(0, config.memory_config.decomp);
        let range_checker = Arc::new(VariableRangeCheckerChip::new(bus));
        let memory = &airs.system().memory;
        let stock =
            SystemChipInventory::new(&config, memory, range_checker, stock_poseidon2.clone());
        Self {
            sparse: MemoryTree::new(&config.memory_config),
            config,
            poseidon2,
            stock,
            stock_poseidon2,
            ordered: false,
        }
    }

    /// Proves one segment from `start` with both and compares everything. Our tree is given the
    /// start only if `give` is set; otherwise it goes on from the last segment.
    pub fn segment(
        &mut self,
        start: &GuestMemory,
        give: bool,
        run: impl FnOnce(&mut TracingMemory),
    ) -> GuestMemory {
        if give {
            self.sparse.synchronize(&start.memory);
        }
        self.stock.memory_controller.interface_chip.initial_memory = start.memory.clone();
        let mut memory = TracingMemory::from_image(start.clone());
        run(&mut memory);
        let touched: TouchedMemory<F> = memory.finalize();

        let expected: Vec<Context> = self
            .stock
            .memory_controller
            .generate_proving_ctx::<SC>(touched.clone());
        let traces = self.sparse.advance(touched, TraceHeights::default());
        record(of_traces(&traces), &self.poseidon2);
        compare_traces(&traces, &expected);
        self.compare_compressions();

        let end = memory.data;
        let stock = SystemChipComplex::<MatrixRecordArena<F>, CpuBackend<SC>>::memory_top_tree;
        let top = self.sparse.top();
        assert_eq!(Some(top.as_slice()), stock(&self.stock), "top of the tree");
        self.check_public_values(&end, &top, &traces.final_root);
        end
    }

    fn compare_compressions(&self) {
        let trace = |chip: &Arc<Poseidon2PeripheryChip<F>>| {
            let ctx: Context = chip.generate_proving_ctx(());
            let width = ctx.common_main.width;
            let rows = ctx.common_main.values.chunks(width).map(<[F]>::to_vec);
            rows.collect::<Vec<_>>()
        };
        let (mut got, mut expected) = (trace(&self.poseidon2), trace(&self.stock_poseidon2));
        if !self.ordered {
            got.sort_unstable();
            expected.sort_unstable();
        }
        assert!(got == expected, "Poseidon2 trace");
    }

    fn check_public_values(&self, end: &GuestMemory, top: &[Digest], root: &Digest) {
        let dimensions = self.config.memory_config.memory_dimensions();
        let hasher = Compressor::new();
        let count = self.config.num_public_values;
        let proof = UserPublicValuesProof::compute(dimensions, count, &hasher, &end.memory, top);
        proof.verify(&hasher, dimensions, *root).unwrap();
    }
}

fn compare_traces(traces: &MemoryTraces, expected: &[Context]) {
    let [boundary, merkle] = expected else {
        panic!("{} memory traces", expected.len());
    };
    let same = |name: &str, got: &[F], width: usize, expected: &Context| {
        assert_eq!(width, expected.common_main.width, "{name} width");
        let expected = &expected.common_main.values;
        assert_eq!(got.len() / width, expected.len() / width, "{name} height");
        for (i, (got, expected)) in got.chunks(width).zip(expected.chunks(width)).enumerate() {
            assert_eq!(got, expected, "{name} row {i}");
        }
    };
    same("boundary", &traces.boundary, BOUNDARY_WIDTH, boundary);
    same("Merkle", &traces.merkle, MERKLE_WIDTH, merkle);
    assert!(boundary.public_values.is_empty());
    let roots = [traces.initial_root, traces.final_root].concat();
    assert_eq!(roots, merkle.public_values, "roots");
    assert_eq!(roots.len(), 2 * CHUNK);
}
