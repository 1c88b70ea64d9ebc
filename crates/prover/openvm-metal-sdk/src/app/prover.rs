//! `AppProver`: proves executions of one executable, segment by segment.

use std::{sync::Arc, thread, time::Instant};

use openvm_circuit::arch::ContinuationVmProof;
use openvm_sdk::StdIn;

use super::{
    check::SegmentCheck,
    job::{Job, Segments},
    meter::{meter, MeteredRun},
    pipeline,
    resume::ResumeFolder,
    sequence,
    sink::ProofSink,
    started::Started,
    AppKey, CommittedExe,
};
use crate::{
    deferred_calls,
    devices::{Fleet, Turns},
    engine::{MetalEngine, SdkEngine},
    error::SdkError,
    host_memory::default_host_memory,
    options::ProveOptions,
    own_thread::on_own_thread,
    prelude::{Digest, SC},
    report::Report,
    system::SpaceDigests,
};

/// Proofs of an execution's segments, and what a proof of the whole needs besides.
pub(crate) struct ProvedSegments {
    pub proof: ContinuationVmProof<SC>,
    /// Digests around the memory of deferral circuits at the end, if there is any.
    pub deferrals: Option<SpaceDigests>,
    pub report: Report,
}

/// Proves executions of one executable. Cheap to make: keys and committed programs are shared.
pub struct AppProver<E: SdkEngine> {
    /// On each device.
    keys: Arc<Vec<AppKey<E>>>,
    exes: Vec<Arc<CommittedExe<E>>>,
    turns: Arc<Turns>,
}

impl AppProver<MetalEngine> {
    /// The commitment to the executable.
    ///
    /// # Errors
    /// See [`CommittedExe::exe_commit`].
    pub fn exe_commit(&self) -> Result<Digest, SdkError> {
        self.generic_exe_commit()
    }

    /// Runs the program and decides where it is cut into segments.
    ///
    /// # Errors
    /// Errors of the guest, and the bound on instructions.
    pub fn execute_metered(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        self.generic_execute_metered(input, options)
    }

    /// Proves an execution: one proof for each segment, and what the guest revealed.
    ///
    /// # Errors
    /// [`SdkError::DeferredUnproved`] for a machine with deferral circuits; errors of the guest, of the device, and the bound on instructions.
    pub fn prove(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        self.generic_prove(input, options)
    }
}

impl<E: SdkEngine> AppProver<E> {
    pub(crate) fn new(
        keys: Arc<Vec<AppKey<E>>>,
        exes: Vec<Arc<CommittedExe<E>>>,
        turns: Arc<Turns>,
    ) -> Self {
        Self { keys, exes, turns }
    }

    /// The application's key on each device, in the order in which devices were named.
    pub fn keys(&self) -> &[AppKey<E>] {
        &self.keys
    }

    /// The executable, on the first device.
    pub fn exe(&self) -> &Arc<CommittedExe<E>> {
        &self.exes[0]
    }

    /// The executable on each device.
    pub(crate) fn exes(&self) -> &[Arc<CommittedExe<E>>] {
        &self.exes
    }

    pub(crate) fn generic_exe_commit(&self) -> Result<Digest, SdkError> {
        self.exes[0].exe_commit(&self.keys[0])
    }

    /// The devices for one job.
    pub(crate) fn fleet(&self) -> Fleet<'_> {
        let devices = self.keys.iter();
        Fleet::new(
            devices.map(|key| (key.device().to_owned(), key.capacity())),
            &self.turns,
        )
    }

    pub(crate) fn generic_execute_metered(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        meter(&self.keys[0], &self.exes[0].exe, input, options)
    }

    pub(crate) fn generic_prove(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        deferred_calls::refuse_config(&self.keys[0].config)?;
        on_own_thread(|| {
            let start = Instant::now();
            let fleet = self.fleet();
            let proved = self.prove_into(input, options, &fleet, &(), None)?;
            let (proof, mut report) = (proved.proof, proved.report);
            self.finish(&mut report, &fleet, start);
            report.app = report.total;
            Ok((proof, report))
        })
    }

    /// [`generic_prove`](Self::generic_prove) with the proofs given to a sink as they are made, of an execution that may have been started with
    /// the same input and options.
    pub(crate) fn prove_into(
        &self,
        input: StdIn,
        options: &ProveOptions<'_>,
        fleet: &Fleet<'_>,
        sink: &dyn ProofSink,
        started: Option<Started<'_>>,
    ) -> Result<ProvedSegments, SdkError> {
        let mut report = Report::default();
        let mut job = self.job(fleet, options);
        if let Some(path) = options.resume {
            let folder = ResumeFolder::open(path, &self.keys[0], &self.exes[0], &input)?;
            job.resume = Some(folder);
        }
        if job.resume.is_some() || fleet.len() > 1 {
            job.check = Some(SegmentCheck::new(&self.keys[0], &self.exes[0])?);
        }
        let segments = match options.threads(&fleet.proofs_at_once()) {
            Some(threads) => thread::scope(|scope| {
                let (circuit, exe) = (&*self.keys[0].circuit, &*self.exes[0].exe);
                let start = || Started::start(scope, circuit, exe, input.clone(), options);
                let started = started.unwrap_or_else(start);
                pipeline::run(&job, input, started, sink, &mut report, threads)
            }),
            None => sequence::run(&job, input, sink, &mut report),
        };
        let Segments { proofs, end } = segments?;
        let proof = ContinuationVmProof {
            per_segment: proofs,
            user_public_values: end.user_public_values,
        };
        Ok(ProvedSegments {
            proof,
            deferrals: end.deferrals,
            report,
        })
    }

    /// Adds the devices and their shares of a job that began at `start` and ends now to a report.
    pub(crate) fn finish(&self, report: &mut Report, fleet: &Fleet<'_>, start: Instant) {
        let engines = || self.keys.iter().map(|key| &key.engine);
        let names: Vec<String> = engines().filter_map(E::device_name).collect();
        report.device = (!names.is_empty()).then(|| names.join(", "));
        report.device_memory_peak = engines().filter_map(E::memory_peak).max();
        report.total = start.elapsed();
        report.devices = fleet.report(report.total);
    }

    /// Returns unused memory of the devices to the system.
    pub(crate) fn trim(&self) {
        for key in self.keys() {
            key.engine.trim();
        }
    }

    fn job<'a>(&'a self, fleet: &'a Fleet<'a>, options: &'a ProveOptions<'a>) -> Job<'a, E> {
        Job {
            keys: &self.keys,
            exes: &self.exes,
            fleet,
            options,
            resume: None,
            check: None,
            host_memory: options.host_memory.unwrap_or_else(default_host_memory),
        }
    }
}
