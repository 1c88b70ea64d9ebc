//! `AppProver`: proves executions of one executable, segment by segment.

use std::{
    sync::{Arc, Mutex},
    time::Instant,
};

use openvm_circuit::arch::ContinuationVmProof;
use openvm_sdk::StdIn;

use super::{
    job::{Job, Segments},
    machine::MeteredRun,
    pipeline,
    resume::ResumeFolder,
    sequence,
    sink::ProofSink,
    AppKey, CommittedExe,
};
use crate::{
    engine::SdkEngine,
    error::SdkError,
    options::ProveOptions,
    prelude::{Digest, SC},
    report::Report,
};

/// Proves executions of one executable. Cheap to make: key and committed program are shared.
pub struct AppProver<E: SdkEngine> {
    device: E::Device,
    key: Arc<AppKey<E>>,
    exe: Arc<CommittedExe<E>>,
    /// Held while a proof is made on the device.
    device_lock: Arc<Mutex<()>>,
}

impl<E: SdkEngine> AppProver<E> {
    pub(crate) fn new(
        device: E::Device,
        key: Arc<AppKey<E>>,
        exe: Arc<CommittedExe<E>>,
        device_lock: Arc<Mutex<()>>,
    ) -> Self {
        Self {
            device,
            key,
            exe,
            device_lock,
        }
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

    /// Runs the program and decides where it is cut into segments.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn execute_metered(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        let job = self.job(options);
        job.execute_metered(&job.machine()?, input, |_| Ok(()))
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
        self.prove_into(input, options, &())
    }

    /// [`prove`](Self::prove) with the proofs given to a sink as they are made.
    pub(crate) fn prove_into(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
        sink: &dyn ProofSink,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        let start = Instant::now();
        let mut report = Report::default();
        let mut job = self.job(options);
        if let Some(path) = options.resume {
            job.resume = Some(ResumeFolder::open(path, &self.key, &self.exe, &input)?);
        }
        let segments = if options.in_flight > 1 {
            pipeline::run(&job, input, sink, &mut report)
        } else {
            sequence::run(&job, input, sink, &mut report)
        };
        let Segments {
            proofs,
            user_public_values,
        } = segments?;
        report.device = self.key.engine.device_name();
        report.device_memory_peak = self.key.engine.memory_peak();
        report.total = start.elapsed();
        let proof = ContinuationVmProof {
            per_segment: proofs,
            user_public_values,
        };
        Ok((proof, report))
    }

    fn job<'a>(&'a self, options: &'a ProveOptions<'a>) -> Job<'a, E> {
        Job {
            device: &self.device,
            key: &self.key,
            exe: &self.exe,
            device_lock: &self.device_lock,
            options,
            resume: None,
        }
    }
}
