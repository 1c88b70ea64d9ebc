//! Proofs: of each segment, and one of the whole execution.

use std::{
    cell::{Cell, OnceCell},
    sync::Arc,
    thread::{self, Scope},
    time::Instant,
};

use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
use openvm_sdk::{DeferralInput, StdIn};
use openvm_stark_backend::{codec::Encode, proof::Proof};
use openvm_verify_stark_host::VmStarkProof;

use super::{MetalSdk, Proved, Sdk};
use crate::{
    aggregation::{DeferredJob, NodeFolder, Tree, TreeKeys},
    app::{
        program_trace, AppCircuit, AppProver, CommittedExe, ProofSink, ProvedSegments,
        ResumeFolder, Started,
    },
    deferred_calls,
    engine::{MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    executable::{digest, ProgramSource},
    options::ProveOptions,
    own_thread::on_own_thread,
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
        source: impl Into<ProgramSource>,
    ) -> Result<AppProver<MetalEngine>, SdkError> {
        self.app_prover_of_exe(self.executable(source)?)
    }

    fn app_prover_of_exe(&self, exe: Arc<VmExe<F>>) -> Result<AppProver<MetalEngine>, SdkError> {
        self.app_prover_of(exe)
    }

    /// Proves an execution, segment by segment.
    ///
    /// # Errors
    /// [`SdkError::DeferredUnproved`] for a machine with deferral circuits; errors of the guest, of the device, and the bound on instructions.
    pub fn prove_app(
        &self,
        source: impl Into<ProgramSource>,
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
    /// accepted when this returns. Segments are aggregated while later ones are proved. The guest may call no deferral circuit:
    /// see [`prove_deferred`](Self::prove_deferred).
    ///
    /// # Errors
    /// Errors of the guest, of the device, and the bound on instructions.
    pub fn prove(
        &self,
        source: impl Into<ProgramSource>,
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

    /// [`prove`](Self::prove) for a guest that calls deferral circuits: `deferred` has the inputs of the calls of each circuit, in the order of the
    /// circuits and of the calls. The results, which the guest gets, are in the deferrals of `input`; they are looked up there by the commitments to
    /// inputs. The proof says that the circuits computed them.
    ///
    /// # Errors
    /// [`SdkError::Deferral`] if the inputs are not those of the guest's calls, and the errors of [`prove`](Self::prove).
    pub fn prove_deferred(
        &self,
        source: impl Into<ProgramSource>,
        input: StdIn,
        deferred: &[DeferralInput],
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        self.prove_deferred_of(self.executable(source)?, input, deferred, options)
    }

    fn prove_deferred_of(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        deferred: &[DeferralInput],
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        self.generic_prove_deferred(exe, input, deferred, options)
    }
}

impl<E: SdkEngine> Sdk<E> {
    pub(crate) fn app_prover_of(&self, exe: Arc<VmExe<F>>) -> Result<AppProver<E>, SdkError> {
        // The errors of the key come first.
        self.app_circuit()?;
        // Neither needs the other.
        let (keys, exes) = thread::scope(|scope| {
            let keys = scope.spawn(|| guard(Stage::AppKeygen, || self.app_keys()));
            let exes = self.committed(&exe);
            (keys.join().expect("panics are errors"), exes)
        });
        Ok(AppProver::new(keys??, exes?, self.turns.clone()))
    }

    fn committed(&self, exe: &Arc<VmExe<F>>) -> Result<Vec<Arc<CommittedExe<E>>>, SdkError> {
        on_own_thread(|| self.committed_here(exe))
    }

    fn committed_here(&self, exe: &Arc<VmExe<F>>) -> Result<Vec<Arc<CommittedExe<E>>>, SdkError> {
        let mut programs = lock(&self.programs);
        let position = |is_same: &dyn Fn(&CommittedExe<E>) -> bool| {
            programs.iter().position(|exes| is_same(&exes[0]))
        };
        let same = position(&|known| Arc::ptr_eq(known.exe(), exe));
        // The digest is made for programs that are not known by their address: it takes long for large ones.
        let id = OnceCell::new();
        let id = || *id.get_or_init(|| digest(exe));
        let exes = match same.or_else(|| position(&|known| known.digest == id())) {
            Some(index) => programs.remove(index),
            None => {
                // Drivers take long to open a device: this is done meanwhile.
                let program = (id(), program_trace(&exe.program));
                let (stations, params) = (self.stations()?, &self.app_config.system_params);
                CommittedExe::on_all(&stations, params, exe, program)?
            }
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
        on_own_thread(|| self.prove_app_here(exe, input, options))
    }

    fn prove_app_here(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        deferred_calls::refuse_config(&self.app_config.app_vm_config)?;
        let start = Instant::now();
        let mut laps = Laps::since(start);
        options.progress.event(Event::Preparing {
            work: "application keys",
        });
        let circuit = self.app_circuit()?;
        let keys = laps.end();
        thread::scope(|scope| {
            let started = self.started(scope, &circuit, &exe, &input, options);
            options.progress.event(Event::Preparing {
                work: "device and program commitment",
            });
            let prover = self.app_prover_of(exe.clone())?;
            let program = laps.end();
            let fleet = prover.fleet();
            let proved = prover.prove_into(input, options, &fleet, &(), started)?;
            let (proof, mut report) = (proved.proof, proved.report);
            report.app = laps.end();
            prover.finish(&mut report, &fleet, start);
            report.security_bits = self.generic_app_security_bits()?;
            (report.keys, report.program) = (keys, program);
            Ok((proof, report))
        })
    }

    /// Starts an execution, of which nothing is printed or reported before its proof begins, if the proof takes several threads.
    fn started<'scope, 'env>(
        &self,
        scope: &'scope Scope<'scope, 'env>,
        circuit: &'env AppCircuit<E>,
        exe: &'env VmExe<F>,
        input: &StdIn,
        options: &'env ProveOptions<'env>,
    ) -> Option<Started<'scope>> {
        let devices = vec![1; self.devices.len()];
        options
            .threads(&devices)
            .map(|_| Started::start(scope, circuit, exe, input.clone(), options))
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
        self.generic_prove_deferred(exe, input, &[], options)
    }

    /// [`prove_deferred`](Self::prove_deferred) for any engine.
    ///
    /// # Errors
    /// Errors of [`prove_deferred`](Self::prove_deferred).
    pub fn generic_prove_deferred(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        deferred: &[DeferralInput],
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        on_own_thread(|| self.prove_here(exe, input, deferred, options))
    }

    fn prove_here(
        &self,
        exe: Arc<VmExe<F>>,
        input: StdIn,
        deferred: &[DeferralInput],
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        let start = Instant::now();
        let mut laps = Laps::since(start);
        self.check_deferral()?;
        self.check_inputs(&exe, &input, deferred, options)?;
        let checked = laps.end();
        let preparing = |work| options.progress.event(Event::Preparing { work });
        preparing("application keys");
        let circuit = self.app_circuit()?;
        let app_keys = laps.end();
        thread::scope(|scope| {
            let started = self.started(scope, &circuit, &exe, &input, options);
            // The circuits are made while devices are opened. Errors of the keys come where these are needed.
            scope.spawn(|| {
                guard(Stage::AggregationKeygen, || {
                    self.all_aggregation_keys().map(drop)
                })
            });
            preparing("device and program commitment");
            let prover = self.app_prover_of(exe.clone())?;
            let program = laps.end();

            let fleet = prover.fleet();
            let workers = options
                .threads(&fleet.proofs_at_once())
                .map(|_| AGGREGATION_THREADS * fleet.len());
            let keys = || {
                let keys = || {
                    let keys = self.all_aggregation_keys()?;
                    self.deferral_keys()?;
                    Ok(keys)
                };
                guard(Stage::AggregationKeygen, keys).and_then(|keys| keys)
            };
            // Segments wait for the aggregation keys where a segment takes longer than the keys, whose errors should come first, and where a
            // segment may take all of the memory.
            if workers.is_none() || !fleet.holds_two_segments() {
                preparing("aggregation keys");
                keys()?;
            }
            let keys_time = app_keys + laps.end();

            let folder = options.resume.map(|path| {
                let (key, exe) = (&prover.keys()[0], prover.exe());
                ResumeFolder::open(path, key, exe, &input).map(NodeFolder::new)
            });
            let mut tree = Tree::new(&self.tree, options, &fleet, folder.transpose()?);
            if self.deferrals.is_some() {
                // The last node is joined with deferred computations before it is made smaller.
                tree = tree.unwrapped();
            }
            // Else the verification of the last proof is enough.
            let one_by_one = options.resume.is_some() || fleet.len() > 1;
            let nodes = || {
                let keys = keys()?;
                let baseline = self.baseline_of(&prover)?;
                let tree_keys = TreeKeys {
                    on_devices: keys.iter().map(Arc::as_ref).collect(),
                    baseline: one_by_one.then_some(&baseline),
                };
                tree.work(&tree_keys, workers.unwrap_or(1))?;
                Ok((keys, baseline))
            };
            let nodes = || {
                let result = guard(Stage::Pipeline, nodes).and_then(|result| result);
                result.inspect_err(|_| tree.stop())
            };
            let segments = || {
                let proved = guard(Stage::Pipeline, || {
                    prover.prove_into(input, options, &fleet, &GrowingTree(&tree), started)
                });
                let time = laps.end();
                // The sizes that segments need are not those of aggregation.
                prover.trim();
                proved
                    .and_then(|result| result)
                    .map(|proved| (proved, time))
                    .inspect_err(|_| tree.stop())
            };
            let (segments, nodes) = if workers.is_some() {
                thread::scope(|scope| {
                    let nodes = scope.spawn(nodes);
                    (segments(), nodes.join().expect("panics are errors"))
                })
            } else {
                let segments = segments();
                // After an error the tree is stopped, and has nothing to do.
                (segments, nodes())
            };
            // A node that fails stops the segments: its error is the cause.
            let (segments, app_time) = match segments {
                Err(SdkError::Cancelled) => {
                    nodes?;
                    return Err(SdkError::Cancelled);
                }
                segments => segments?,
            };
            let ProvedSegments {
                proof: app,
                deferrals,
                mut report,
            } = segments;
            let (keys, baseline) = nodes?;
            report.aggregate = tree.busy();
            let aggregated = tree.finish()?;
            let memory = (prover.exe().exe.as_ref(), deferrals);
            let job = DeferredJob {
                fleet: &fleet,
                options,
                busy: Cell::default(),
            };
            let on_devices: Vec<_> = keys.iter().map(Arc::as_ref).collect();
            let (aggregated, paths) =
                self.join_deferred(&job, &on_devices, aggregated, memory, deferred)?;
            report.aggregate += job.busy.get();

            let proof = VmStarkProof {
                inner: aggregated.proof,
                user_pvs_proof: app.user_public_values,
                deferral_merkle_proofs: paths,
            };
            options.check_cancelled()?;
            (report.keys, report.program, report.app) = (keys_time, program, app_time);
            report.tree = laps.end();
            check_proof(keys[0].verifying_key(), &baseline, &proof)?;
            report.verify = checked + laps.end();
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
        })
    }
}

/// Proofs of segments go to the tree as they are made.
struct GrowingTree<'a, 'b>(&'a Tree<'b>);

impl ProofSink for GrowingTree<'_, '_> {
    fn segment(&self, index: usize, proof: &Proof<SC>) -> Result<(), SdkError> {
        self.0.add_segment(index, proof.clone())
    }

    fn close(&self, segments: usize) {
        self.0.close(segments);
    }
}
