//! `CommittedExe`: an executable whose program is committed on a device.

use std::sync::{Arc, Mutex, OnceLock};

use openvm_circuit::{
    arch::instructions::{
        exe::VmExe,
        program::{Program, DEFAULT_PC_STEP},
        LocalOpcode, SystemOpcode,
    },
    system::program::ProgramExecutionCols,
};
use openvm_stark_backend::{
    p3_field::PrimeCharacteristicRing, p3_matrix::dense::RowMajorMatrix,
    prover::CommittedTraceData, SystemParams,
};

use super::AppKey;
use crate::{
    devices::{on_each, Station},
    engine::SdkEngine,
    error::{SdkError, Stage},
    executable::{defined_instructions, ExeDigest},
    prelude::{Digest, F},
    slot::lock,
    system::exe_commit,
};

/// Exit code of the instructions that pad a program: a guest that reaches one has failed.
const EXIT_CODE_FAIL: usize = 1;

/// An executable, and its program's trace committed on the device.
///
/// The commitment is made over the whole stacked height of the application's parameters, so it is worth
/// keeping; provers of the same executable share it.
pub struct CommittedExe<E: SdkEngine> {
    pub(crate) exe: Arc<VmExe<F>>,
    pub(crate) digest: ExeDigest,
    pub(crate) trace: CommittedTraceData<E::PB>,
    exe_commit: OnceLock<Digest>,
}

impl<E: SdkEngine> CommittedExe<E> {
    /// Commits the program of `exe`, which has this digest and this trace, with the application's parameters.
    ///
    /// # Errors
    /// If the device refuses.
    fn new(
        station: &Station<E>,
        params: &SystemParams,
        exe: Arc<VmExe<F>>,
        (digest, trace): (ExeDigest, RowMajorMatrix<F>),
    ) -> Result<Self, SdkError> {
        let engine = station.engine(params.clone())?;
        let trace = station
            .commit(&engine, trace)
            .map_err(SdkError::engine(Stage::CommitProgram))
            .map_err(|error| error.on(station.name()))?;
        Ok(Self {
            digest,
            exe,
            trace,
            exe_commit: OnceLock::new(),
        })
    }

    /// Commits the program, of which the digest and the trace are given, on each device.
    ///
    /// # Errors
    /// If a device refuses, or [`SdkError::Disagreement`].
    pub(crate) fn on_all(
        stations: &[Station<E>],
        params: &SystemParams,
        exe: &Arc<VmExe<F>>,
        (digest, trace): (ExeDigest, RowMajorMatrix<F>),
    ) -> Result<Vec<Arc<Self>>, SdkError> {
        let traces = Mutex::new(vec![trace; stations.len()]);
        let exes = on_each(stations.len(), |i| {
            let trace = lock(&traces).pop().expect("a trace for each device");
            Self::new(&stations[i], params, exe.clone(), (digest, trace))
        })?;
        for (station, other) in stations.iter().zip(&exes) {
            if other.program_commit() != exes[0].program_commit() {
                return Err(SdkError::Disagreement {
                    stage: Stage::CommitProgram,
                    device: station.name().to_owned(),
                });
            }
        }
        Ok(exes.into_iter().map(Arc::new).collect())
    }

    /// The executable.
    pub fn exe(&self) -> &Arc<VmExe<F>> {
        &self.exe
    }

    /// The commitment to the program's trace.
    pub fn program_commit(&self) -> Digest {
        self.trace.commitment
    }

    /// The commitment to the executable: program, initial memory and start, as OpenVM's verifier expects it.
    ///
    /// # Errors
    /// If the initial memory does not fit the configuration.
    pub fn exe_commit(&self, key: &AppKey<E>) -> Result<Digest, SdkError> {
        if let Some(commit) = self.exe_commit.get() {
            return Ok(*commit);
        }
        let memory_config = &key.config.system.config.memory_config;
        let VmExe {
            init_memory,
            pc_start,
            ..
        } = &*self.exe;
        let commit = exe_commit(
            &self.program_commit(),
            memory_config,
            init_memory,
            *pc_start,
        )
        .map_err(|error| SdkError::Executable(error.to_string()))?;
        Ok(*self.exe_commit.get_or_init(|| commit))
    }
}

/// One row for each defined instruction, padded to a power of two by instructions that end with a failure.
pub(crate) fn program_trace(program: &Program<F>) -> RowMajorMatrix<F> {
    let slots = program.instructions_and_debug_infos.iter();
    let address = |index: usize| program.pc_base + index as u32 * DEFAULT_PC_STEP;
    let mut defined = slots.enumerate().filter_map(|(index, slot)| {
        let (instruction, _) = slot.as_ref()?;
        Some((address(index), instruction))
    });
    // Not on rayon's threads: the caller may have a lock that others of its jobs wait for.
    let terminate = SystemOpcode::TERMINATE.global_opcode().to_field::<F>();
    let width = ProgramExecutionCols::<F>::width();
    let height = defined_instructions(program).next_power_of_two();
    let mut values = F::zero_vec(height * width);
    for (index, row) in values.chunks_exact_mut(width).enumerate() {
        match defined.next() {
            Some((pc, i)) => {
                let opcode = i.opcode.to_field::<F>();
                let pc = F::from_u32(pc);
                row.copy_from_slice(&[pc, opcode, i.a, i.b, i.c, i.d, i.e, i.f, i.g]);
            }
            None => {
                row[0] = F::from_u32(address(index));
                row[1] = terminate;
                row[4] = F::from_usize(EXIT_CODE_FAIL);
            }
        }
    }
    RowMajorMatrix::new(values, width)
}
