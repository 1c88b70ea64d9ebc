//! Proofs: of each segment, and one of the whole execution.

use std::{sync::Arc, thread, time::Instant};

use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
use openvm_sdk::{types::ExecutableFormat, StdIn};
use openvm_stark_backend::{codec::Encode, proof::Proof};
use openvm_verify_stark_host::VmStarkProof;

use super::{MetalSdk, Proved, Sdk};
use crate::{
    aggregation::{NodeFolder, Tree},
    app::{AppKey, AppProver, CommittedExe, ProofSink, ResumeFolder},
    engine::{MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    executable::digest,
    options::ProveOptions,
    prelude::{F, SC},
    progress::Event,
    report::{Laps, Report},
    slot::lock,
    verification::{check_proof, public_values},
};

/// Number of executables whose committed programs are kept.
const KEPT_PROGRAMS: usize = 4;

/// Threads that aggregate for each device: while one proves, the other makes the traces of the next node.
const AGGREGATION_THREADS: usize = 2;

impl MetalSdk {
    /// A prover for one executable. Its program is committed once for each SDK.
    ///
    /// # Errors
    /// If the executable does not fit the configuration, or the device refuses.
    pub fn app_prover(
        &self,
        source: impl Into<ExecutableFormat>,
    ) -> Result<AppProver<MetalEngine>, SdkError> {
        self.app_prover_of_exe(self.executable(source)?)
    }

    fn app_prover_of_exe(&self, exe: Arc<VmExe<F>>) -> Result<AppProver<MetalEngine>, SdkError> {
        self.app_prover_of(exe)
    }

    /// Proves an execution, segment by segment.
    ///
    /// # Errors
    /// Errors of the guest, of the device, and the bound on instructions.
    pub fn prove_app(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        self.prove_app_of(self.executable(source)?, input, options)
    }

    fn prove_app_of(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        self.generic_prove_app(exe, input, options)
    }

    /// Proves an execution and aggregates the proofs of its segments into one, which OpenVM's verifier has
    /// accepted when this returns. Segments are aggregated while later ones are proved.
    ///
    /// # Errors
    /// Errors of the guest, of the device, and the bound on instructions.
    pub fn prove(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        self.prove_exe(self.executable(source)?, input, options)
    }

    fn prove_exe(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        self.generic_prove(exe, input, options)
    }
}

impl<E: SdkEngine> Sdk<E> {
    pub(crate) fn app_prover_of(&self, exe: Arc<VmExe<F>>) -> Result<AppProver<E>, SdkError> {
        let keys = self.app_keys()?;
        let exes = self.committed(&keys, exe)?;
        Ok(AppProver::new(keys, exes, self.turns.clone()))
    }

    fn committed(
        &self,
        keys: &[AppKey<E>],
        exe: Arc<VmExe<F>>,
    ) -> Result<Vec<Arc<CommittedExe<E>>>, SdkError> {
        let id = digest(&exe);
        let mut programs = lock(&self.programs);
        let known = programs.iter().position(|exes| exes[0].digest == id);
        let exes = match known {
            Some(index) => programs.remove(index),
            None => CommittedExe::on_all(keys, &exe)?,
        };
        if programs.len() == KEPT_PROGRAMS {
            programs.remove(0);
        }
        programs.push(exes.clone());
        Ok(exes)
    }

    /// [`prove_app`](Self::prove_app) for any engine.
    ///
    /// # Errors
    /// Errors of [`prove_app`](Self::prove_app).
    pub fn generic_prove_app(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        let start = Instant::now();
        let mut laps = Laps::since(start);
        options.progress.event(Event::Preparing {
            work: "application keys",
        });
        self.app_keys()?;
        let keys = laps.end();
        options.progress.event(Event::Preparing {
            work: "program commitment",
        });
        let prover = self.app_prover_of(exe)?;
        let program = laps.end();
        let (proof, mut report) = prover.generic_prove(input, options)?;
        report.app = laps.end();
        report.security_bits = self.generic_app_security_bits()?;
        (report.keys, report.program) = (keys, program);
        report.end(start.elapsed());
        Ok((proof, report))
    }

    /// [`prove`](Self::prove) for any engine.
    ///
    /// # Errors
    /// Errors of [`prove`](Self::prove).
    pub fn generic_prove(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        let start = Instant::now();
        let mut laps = Laps::since(start);
        let preparing = |work| options.progress.event(Event::Preparing { work });
        let (prover, keys, app_keys, program) = thread::scope(|scope| {
            let keys = || {
                let keys = || self.all_aggregation_keys();
                guard(Stage::AggregationKeygen, keys).and_then(|keys| keys)
            };
            // All is done on the calling thread if one segment is in flight.
            let beside = (options.in_flight != Some(1)).then(|| scope.spawn(keys));
            preparing("application keys");
            self.app_keys()?;
            let app_keys = laps.end();
            preparing("program commitment");
            let prover = self.app_prover_of(exe)?;
            let program = laps.end();
            preparing("aggregation keys");
            let keys = match beside {
                Some(keys) => keys.join().expect("panics are errors"),
                None => keys(),
            };
            Ok::<_, SdkError>((prover, keys?, app_keys, program))
        })?;
        let baseline = self.baseline_of(&prover)?;
        let keys_time = app_keys + laps.end();

        let fleet = prover.fleet();
        let on_devices = keys.iter().map(Arc::as_ref).collect();
        let folder = options.resume.map(|path| {
            let (key, exe) = (&prover.keys()[0], prover.exe());
            ResumeFolder::open(path, key, exe, &input).map(NodeFolder::new)
        });
        // Else the verification of the last proof is enough.
        let one_by_one = (options.resume.is_some() || fleet.len() > 1).then_some(&baseline);
        let folder = folder.transpose()?;
        let tree = Tree::new(on_devices, &self.tree, options, &fleet, folder, one_by_one);
        let segments = || {
            let proved = guard(Stage::Pipeline, || {
                prover.prove_into(input, options, &fleet, &GrowingTree(&tree))
            });
            let time = laps.end();
            // The sizes that segments need are not those of aggregation.
            prover.trim();
            proved
                .and_then(|result| result)
                .map(|proved| (proved, time))
                .inspect_err(|_| tree.stop())
        };
        let ((app, mut report), app_time) = if options.threads(&fleet.proofs_at_once()).is_some() {
            thread::scope(|scope| {
                let workers = (0..AGGREGATION_THREADS * fleet.len())
                    .map(|_| scope.spawn(|| tree.work()))
                    .collect::<Vec<_>>();
                let app = segments();
                let work: Vec<_> = workers
                    .into_iter()
                    .map(|worker| worker.join().expect("panics are errors"))
                    .collect();
                // A node that failed stopped the segments: its error is the cause.
                work.into_iter().collect::<Result<(), _>>()?;
                app
            })?
        } else {
            let app = segments()?;
            tree.work()?;
            app
        };
        report.aggregate = tree.busy();
        let aggregated = tree.finish()?;

        let proof = VmStarkProof {
            inner: aggregated.proof,
            user_pvs_proof: app.user_public_values,
            deferral_merkle_proofs: None,
        };
        options.check_cancelled()?;
        (report.keys, report.program, report.app) = (keys_time, program, app_time);
        report.tree = laps.end();
        check_proof(keys[0].verifying_key(), &baseline, &proof)?;
        report.verify = laps.end();
        options.progress.event(Event::Verified);
        report.proof_bytes = proof.encode_to_vec().map_or(0, |bytes| bytes.len() as u64);
        prover.finish(&mut report, &fleet, start);
        report.security_bits = self.generic_security_bits()?;
        Ok(Proved {
            public_values: public_values(&proof)?,
            proof,
            baseline,
            report,
        })
    }
}

/// Proofs of segments go to the tree as they are made.
struct GrowingTree<'a, 'b, E: SdkEngine>(&'a Tree<'b, E>);

impl<E: SdkEngine> ProofSink for GrowingTree<'_, '_, E> {
    fn segment(&self, index: usize, proof: &Proof<SC>) -> Result<(), SdkError> {
        self.0.add_segment(index, proof.clone())
    }

    fn close(&self, segments: usize) {
        self.0.close(segments);
    }
}
