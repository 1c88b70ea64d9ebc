//! `AppProver`: proves executions of one executable, segment by segment.

use std::{sync::Arc, time::Instant};

use openvm_circuit::arch::ContinuationVmProof;
use openvm_sdk::StdIn;
use openvm_stark_backend::{codec::Encode, proof::Proof};

use super::{
    worker::{MeteredRun, SegmentWorker},
    AppKey, CommittedExe,
};
use crate::{
    engine::{EngineError, SdkEngine},
    error::{SdkError, Stage},
    options::ProveOptions,
    prelude::{Digest, SC},
    progress::Event,
    report::Report,
};

/// Proves executions of one executable. Cheap to make: key and committed program are shared.
pub struct AppProver<E: SdkEngine> {
    device: E::Device,
    key: Arc<AppKey<E>>,
    exe: Arc<CommittedExe<E>>,
}

impl<E: SdkEngine> AppProver<E> {
    pub(crate) fn new(device: E::Device, key: Arc<AppKey<E>>, exe: Arc<CommittedExe<E>>) -> Self {
        Self { device, key, exe }
    }

    /// The executable.
    pub fn exe(&self) -> &Arc<CommittedExe<E>> {
        &self.exe
    }

    /// The commitment to the executable.
    ///
    /// # Errors
    /// See [`CommittedExe::exe_commit`].
    pub fn exe_commit(&self) -> Result<Digest, SdkError> {
        self.exe.exe_commit(&self.key)
    }

    pub(crate) fn worker(&self) -> Result<SegmentWorker<E>, SdkError> {
        let params = self.key.engine.params().clone();
        let engine = E::open(params, &self.device).map_err(SdkError::engine(Stage::OpenDevice))?;
        SegmentWorker::new(&self.key, engine, self.exe.clone())
    }

    /// Runs the program and decides where it is cut into segments.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn execute_metered(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        run_metered(&self.worker()?, input, options)
    }

    /// Proves an execution: one proof for each segment, and what the guest revealed.
    ///
    /// # Errors
    /// What goes wrong in the guest, on the device, or the bound on instructions.
    pub fn prove(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        let start = Instant::now();
        let mut report = Report::default();
        let mut worker = self.worker()?;
        report.machine = start.elapsed();

        let clock = Instant::now();
        let run = run_metered(&worker, input.clone(), options)?;
        report.execution = clock.elapsed();
        report.instructions = run.instructions();
        report.segments = run.segments.len();

        worker.start(input);
        let mut per_segment = Vec::with_capacity(run.segments.len());
        for (index, segment) in run.segments.iter().enumerate() {
            let instructions = segment.num_insns;
            let ctx = worker.next(index, segment)?;
            options.progress.event(Event::SegmentTraced {
                segment: index,
                instructions,
            });
            let clock = Instant::now();
            let proof = self
                .key
                .engine
                .prove(&self.key.device_key, ctx)
                .map_err(|error| SdkError::Engine {
                    stage: Stage::ProveSegment(index),
                    source: EngineError::new(error),
                })?;
            report.prove += clock.elapsed();
            report.app_proof_bytes += encoded_len(&proof);
            options.progress.event(Event::SegmentProved {
                segment: index,
                instructions,
            });
            per_segment.push(proof);
        }
        worker.times().add_to(&mut report);
        report.device_memory_peak = self.key.engine.memory_peak();
        report.total = start.elapsed();
        Ok((
            ContinuationVmProof {
                per_segment,
                user_public_values: worker.user_public_values(),
            },
            report,
        ))
    }
}

fn run_metered<E: SdkEngine>(
    worker: &SegmentWorker<E>,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<MeteredRun, SdkError> {
    let mut index = 0;
    let run = worker.execute_metered(input, options.max_instructions, |segment| {
        options.progress.event(Event::SegmentExecuted {
            segment: index,
            instructions: segment.num_insns,
        });
        index += 1;
    })?;
    options.progress.event(Event::Executed {
        segments: run.segments.len(),
        instructions: run.instructions(),
    });
    Ok(run)
}

/// Bytes of an encoded proof.
pub(crate) fn encoded_len(proof: &Proof<SC>) -> u64 {
    proof.encode_to_vec().map_or(0, |bytes| bytes.len() as u64)
}
