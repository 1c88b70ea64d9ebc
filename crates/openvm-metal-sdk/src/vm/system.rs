//! `SystemChips`: program, connector and memory.

use openvm_circuit::{
    arch::MatrixRecordArena,
    primitives::Chip,
    system::{
        memory::{online::GuestMemory, CHUNK},
        SystemChipComplex, SystemChipInventory, SystemRecords,
    },
};
use openvm_cpu_backend::CpuBackend;
use openvm_stark_backend::{
    p3_field::PrimeCharacteristicRing,
    p3_matrix::dense::RowMajorMatrix,
    prover::{AirProvingContext, CommittedTraceData, MatrixDimensions},
};

use super::Uploader;
use crate::{
    engine::SdkEngine,
    prelude::{F, SC},
};

type Arena = MatrixRecordArena<F>;

/// The chips of the system AIRs. Connector and memory are those of OpenVM's CPU backend; the program's
/// cached trace stays on the device.
pub struct SystemChips<E: SdkEngine> {
    cpu: SystemChipInventory<SC>,
    program: Option<CommittedTraceData<E::PB>>,
    uploader: Uploader<E>,
}

impl<E: SdkEngine> SystemChips<E> {
    pub(super) fn new(cpu: SystemChipInventory<SC>, uploader: Uploader<E>) -> Self {
        Self {
            cpu,
            program: None,
            uploader,
        }
    }

    /// How often each row of the program was executed, beside its cached trace.
    ///
    /// # Panics
    /// If no program is loaded, or it has fewer rows than instructions were counted.
    fn program_ctx(&self, frequencies: &[u32]) -> AirProvingContext<E::PB> {
        let cached = self
            .program
            .clone()
            .expect("a program is loaded before traces are made");
        let height = cached.trace.height();
        assert!(
            frequencies.len() <= height,
            "{} instructions, but the program has {height} rows",
            frequencies.len()
        );
        let mut column: Vec<F> = frequencies.iter().map(|&n| F::from_u32(n)).collect();
        column.resize(height, F::ZERO);
        AirProvingContext {
            cached_mains: vec![cached],
            common_main: self.uploader.matrix(RowMajorMatrix::new(column, 1)),
            public_values: vec![],
        }
    }
}

impl<E: SdkEngine> SystemChipComplex<Arena, E::PB> for SystemChips<E> {
    fn load_program(&mut self, cached_program_trace: CommittedTraceData<E::PB>) {
        self.program = Some(cached_program_trace);
    }

    fn transport_init_memory_to_device(&mut self, memory: &GuestMemory) {
        SystemChipComplex::<Arena, CpuBackend<SC>>::transport_init_memory_to_device(
            &mut self.cpu,
            memory,
        );
    }

    fn generate_proving_ctx(
        &mut self,
        records: SystemRecords<F>,
        _record_arenas: Vec<Arena>,
    ) -> Vec<AirProvingContext<E::PB>> {
        let program = self.program_ctx(&records.filtered_exec_frequencies);
        let connector = &mut self.cpu.connector_chip;
        connector.begin(records.from_state);
        connector.end(records.to_state, records.exit_code);
        let connector = Chip::<(), CpuBackend<SC>>::generate_proving_ctx(connector, ());
        let memory = self
            .cpu
            .memory_controller
            .generate_proving_ctx::<SC>(records.touched_memory);

        let host = [connector].into_iter().chain(memory);
        [program]
            .into_iter()
            .chain(host.map(|ctx| self.uploader.air(ctx)))
            .collect()
    }

    fn memory_top_tree(&self) -> Option<&[[F; CHUNK]]> {
        SystemChipComplex::<Arena, CpuBackend<SC>>::memory_top_tree(&self.cpu)
    }
}
