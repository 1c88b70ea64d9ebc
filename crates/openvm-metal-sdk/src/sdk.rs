//! `Sdk`: from an executable and its input to one proof.

use std::{
    array::from_fn,
    fs,
    path::Path,
    sync::{Arc, Mutex},
    thread,
    time::Instant,
};

use openvm_circuit::{
    arch::{
        execution_mode::Segment, instructions::exe::VmExe, ContinuationVmProof, VmExecutor, VmState,
    },
    system::memory::{merkle::public_values::extract_public_values, online::GuestMemory},
};
use openvm_continuations::CommitBytes;
use openvm_sdk::{
    config::{AggregationConfig, AggregationSystemParams, AggregationTreeConfig, AppConfig},
    keygen::{AggProvingKey, AppProvingKey, AppVerifyingKey},
    types::{AppExecutionCommit, ExecutableFormat},
    StdIn,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{codec::Encode, keygen::types::MultiStarkVerifyingKey, proof::Proof};
use openvm_verify_stark_host::{vk::VerificationBaseline, VmStarkProof};

use crate::{
    aggregation::{AggregationKeys, Tree},
    app::{AppKey, AppProver, CommittedExe, ProofSink},
    builder::{AggSource, SdkBuilder},
    engine::{MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    executable::{digest, executable, is_end},
    options::ProveOptions,
    prelude::{Digest, F, SC},
    progress::Event,
    report::Report,
    slot::{lock, Slot},
    verification::{public_values, verify, verify_app},
};

/// Number of executables whose committed programs are kept.
const KEPT_PROGRAMS: usize = 4;

/// Threads that aggregate: while one proves, the other makes the traces of the next node.
const AGGREGATION_THREADS: usize = 2;

/// The SDK on the engine of this project.
pub type MetalSdk = Sdk<MetalEngine>;

/// Executes, proves and verifies programs of one configuration on one device.
///
/// Keys are made or brought to the device when they are first needed and kept; so are committed programs.
/// Shared references can be used from several threads. Keys, executables and proofs have openvm-sdk's types,
/// so files are cargo-openvm's.
pub struct Sdk<E: SdkEngine> {
    device: E::Device,
    app_config: AppConfig<SdkVmConfig>,
    agg_source: AggSource,
    tree: AggregationTreeConfig,
    /// Cut segments so that they fit the device.
    fit_segments: bool,
    app_pk: Slot<AppProvingKey<SdkVmConfig>>,
    app_key: Slot<AppKey<E>>,
    agg_keys: Slot<AggregationKeys<E>>,
    /// Held while a proof is made on the device: one needs all the memory that it can get.
    device_lock: Arc<Mutex<()>>,
    /// The most recently used last.
    programs: Mutex<Vec<Arc<CommittedExe<E>>>>,
}

/// A proof of a whole execution, with what verifies it.
pub struct Proved {
    pub proof: VmStarkProof,
    pub baseline: VerificationBaseline,
    /// What the guest revealed, as bytes.
    pub public_values: Vec<u8>,
    pub report: Report,
}

impl<E: SdkEngine> SdkBuilder<E> {
    /// The SDK. Keys are made when they are needed.
    ///
    /// # Errors
    /// [`SdkError::Config`] if settings are missing or contradict each other, [`SdkError::ForeignKey`] if a key
    /// was made for others.
    pub fn build(self) -> Result<Sdk<E>, SdkError> {
        let settings = self.settings()?;
        Ok(Sdk {
            device: settings.device,
            app_config: settings.app_config,
            agg_source: settings.agg_source,
            tree: settings.tree,
            fit_segments: settings.fit_segments,
            app_pk: Slot::new(settings.app_pk),
            app_key: Slot::new(None),
            agg_keys: Slot::new(None),
            device_lock: Arc::default(),
            programs: Mutex::default(),
        })
    }
}

impl<E: SdkEngine> Sdk<E> {
    /// Configures an SDK on a device.
    pub fn builder(device: E::Device) -> SdkBuilder<E> {
        SdkBuilder::new(device)
    }

    /// For programs of RV32IM with input and output, with OpenVM's default parameters.
    ///
    /// # Errors
    /// See [`SdkBuilder::build`].
    pub fn riscv32(device: E::Device) -> Result<Self, SdkError> {
        Self::builder(device)
            .vm_config(SdkVmConfig::riscv32())
            .build()
    }

    /// For programs that use any of OpenVM's standard extensions, with its default parameters.
    ///
    /// # Errors
    /// See [`SdkBuilder::build`].
    pub fn standard(device: E::Device) -> Result<Self, SdkError> {
        Self::builder(device)
            .vm_config(SdkVmConfig::standard())
            .build()
    }

    /// With the configuration of an `openvm.toml`.
    ///
    /// # Errors
    /// If the file cannot be read or does not parse; see [`SdkBuilder::build`].
    pub fn from_toml_file(path: impl AsRef<Path>, device: E::Device) -> Result<Self, SdkError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|error| SdkError::File {
            path: path.to_owned(),
            what: "a configuration",
            reason: error.to_string(),
        })?;
        Self::builder(device).toml(&text)?.build()
    }

    /// The configuration of the application.
    pub fn app_config(&self) -> &AppConfig<SdkVmConfig> {
        &self.app_config
    }

    /// The device that proofs are made on.
    pub fn device(&self) -> &E::Device {
        &self.device
    }

    // ------------------------------------------------------------------ executables

    /// The executable of an ELF, or an executable as it is, checked against the configuration.
    ///
    /// # Errors
    /// See [`executable`].
    pub fn executable(
        &self,
        source: impl Into<ExecutableFormat>,
    ) -> Result<Arc<VmExe<F>>, SdkError> {
        executable(&self.app_config.app_vm_config, source)
    }

    // ------------------------------------------------------------------ execution

    /// Runs a program without proving it. Returns what it revealed, as bytes.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn execute(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Vec<u8>, SdkError> {
        let exe = self.executable(source)?;
        let config = &self.app_config.app_vm_config;
        let inputs = input.buffer.len();
        let bound = options.max_instructions;
        let failed = |error| SdkError::execution(Stage::Execute, error, inputs);
        let state: VmState<F, GuestMemory> = guard(Stage::Execute, || {
            let executor = VmExecutor::new(config.clone())
                .map_err(|error| SdkError::machine(Stage::Execute, error, inputs))?;
            let instance = executor
                .instance(&exe)
                .map_err(|error| SdkError::machine(Stage::Execute, error, inputs))?;
            let state = instance.execute(input, Some(bound)).map_err(failed)?;
            if !is_end(&exe, state.pc()) {
                return Err(SdkError::InstructionBound {
                    executed: bound,
                    bound,
                });
            }
            // Either it ended here, or the next instruction ends it: the last one is run again for its
            // exit code.
            instance.execute_from_state(state, None).map_err(failed)
        })??;
        Ok(extract_public_values(
            config.system.config.num_public_values,
            &state.memory.memory,
        ))
    }

    /// Runs a program and decides where it is cut into segments. Returns what it revealed, and the segments.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn execute_metered(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(Vec<u8>, Vec<Segment>), SdkError> {
        let run = self.app_prover(source)?.execute_metered(input, options)?;
        Ok((run.public_values, run.segments))
    }

    // ------------------------------------------------------------------ keys

    /// The application's proving key, made at the first call unless it was given.
    ///
    /// # Errors
    /// If the configuration has no circuit.
    pub fn app_pk(&self) -> Result<Arc<AppProvingKey<SdkVmConfig>>, SdkError> {
        self.app_pk.get_or_try(|| {
            let config = self.app_config.clone();
            guard(Stage::AppKeygen, || AppProvingKey::keygen(config))?
                .map_err(|error| SdkError::machine(Stage::AppKeygen, error, 0))
        })
    }

    /// What verifies application proofs.
    ///
    /// # Errors
    /// See [`app_pk`](Self::app_pk).
    pub fn app_vk(&self) -> Result<AppVerifyingKey, SdkError> {
        Ok(self.app_pk()?.get_app_vk())
    }

    /// The application's key on the device.
    fn app_key(&self) -> Result<Arc<AppKey<E>>, SdkError> {
        self.app_key.get_or_try(|| {
            let config = self.app_config.app_vm_config.clone();
            AppKey::new(&self.device, &*self.app_pk()?, config, self.fit_segments)
        })
    }

    /// The aggregation keys on the device, made at the first call unless they were given.
    ///
    /// # Errors
    /// If the parameters do not go together, or given keys belong to another configuration.
    pub fn aggregation_keys(&self) -> Result<Arc<AggregationKeys<E>>, SdkError> {
        if self.app_config.app_vm_config.deferral.is_some() {
            return Err(SdkError::Unsupported(
                "aggregation of programs with deferral circuits".into(),
            ));
        }
        self.agg_keys.get_or_try(|| {
            let app_vk = Arc::new(self.app_pk()?.app_vm_pk.vm_pk.get_vk());
            match &self.agg_source {
                AggSource::Params(params) => {
                    let config = AggregationConfig {
                        params: AggregationSystemParams::clone(params),
                    };
                    AggregationKeys::generate(&self.device, app_vk, &config)
                }
                AggSource::Key(key) => {
                    AggregationKeys::load(&self.device, app_vk, AggProvingKey::clone(key))
                }
            }
        })
    }

    /// The aggregation keys in cargo-openvm's form.
    ///
    /// # Errors
    /// See [`aggregation_keys`](Self::aggregation_keys).
    pub fn agg_pk(&self) -> Result<AggProvingKey, SdkError> {
        Ok(self.aggregation_keys()?.proving_key())
    }

    /// What verifies aggregated proofs.
    ///
    /// # Errors
    /// See [`aggregation_keys`](Self::aggregation_keys).
    pub fn agg_vk(&self) -> Result<Arc<MultiStarkVerifyingKey<SC>>, SdkError> {
        Ok(self.aggregation_keys()?.verifying_key().clone())
    }

    // ------------------------------------------------------------------ commitments

    /// The commitments to the executable and to the virtual machine.
    ///
    /// # Errors
    /// Those of keys and of committing the program.
    pub fn app_commit(
        &self,
        source: impl Into<ExecutableFormat>,
    ) -> Result<AppExecutionCommit, SdkError> {
        let exe_commit: Digest = self.app_prover(source)?.exe_commit()?;
        Ok(AppExecutionCommit {
            app_exe_commit: CommitBytes::from(exe_commit),
            app_vm_commit: CommitBytes::from(self.aggregation_keys()?.app_vm_commit()),
        })
    }

    /// What a verifier must know of the program and the circuits, whatever the input.
    ///
    /// # Errors
    /// Those of keys and of committing the program.
    pub fn baseline(
        &self,
        source: impl Into<ExecutableFormat>,
    ) -> Result<VerificationBaseline, SdkError> {
        self.baseline_of(&self.app_prover(source)?)
    }

    fn baseline_of(&self, prover: &AppProver<E>) -> Result<VerificationBaseline, SdkError> {
        let keys = self.aggregation_keys()?;
        let system = &self.app_config.app_vm_config.system.config;
        Ok(VerificationBaseline {
            app_exe_commit: prover.exe_commit()?,
            memory_dimensions: system.memory_config.memory_dimensions(),
            num_user_pvs: system.num_public_values,
            app_vk_commit: keys.app_vk_commit(),
            leaf_vk_commit: keys.leaf_vk_commit(),
            internal_for_leaf_vk_commit: keys.internal_for_leaf_vk_commit(),
            internal_recursive_vk_commit: keys.internal_recursive_vk_commit(),
            expected_def_hook_commit: None,
        })
    }

    // ------------------------------------------------------------------ proving

    /// A prover for one executable. Its program is committed once for each SDK.
    ///
    /// # Errors
    /// If the executable does not fit the configuration, or the device refuses.
    pub fn app_prover(
        &self,
        source: impl Into<ExecutableFormat>,
    ) -> Result<AppProver<E>, SdkError> {
        let exe = self.executable(source)?;
        let key = self.app_key()?;
        let exe = self.committed(&key, exe)?;
        Ok(AppProver::new(
            self.device.clone(),
            key,
            exe,
            self.device_lock.clone(),
        ))
    }

    fn committed(
        &self,
        key: &AppKey<E>,
        exe: Arc<VmExe<F>>,
    ) -> Result<Arc<CommittedExe<E>>, SdkError> {
        let id = digest(&exe);
        let mut programs = lock(&self.programs);
        let program = match programs.iter().position(|program| program.digest == id) {
            Some(index) => programs.remove(index),
            None => Arc::new(CommittedExe::new(key, exe)?),
        };
        if programs.len() == KEPT_PROGRAMS {
            programs.remove(0);
        }
        programs.push(program.clone());
        Ok(program)
    }

    /// Proves an execution, segment by segment.
    ///
    /// # Errors
    /// What goes wrong in the guest, on the device, or the bound on instructions.
    pub fn prove_app(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<(ContinuationVmProof<SC>, Report), SdkError> {
        self.app_prover(source)?.prove(input, options)
    }

    /// Proves an execution and aggregates the proofs of its segments into one, which OpenVM's verifier has
    /// accepted when this returns. Segments are aggregated while later ones are proved.
    ///
    /// # Errors
    /// What goes wrong in the guest, on the device, or the bound on instructions.
    pub fn prove(
        &self,
        source: impl Into<ExecutableFormat>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Proved, SdkError> {
        let start = Instant::now();
        let prover = self.app_prover(source)?;
        let keys = self.aggregation_keys()?;
        let baseline = self.baseline_of(&prover)?;

        let tree = Tree::new(&keys, &self.tree, options, &self.device_lock);
        let segments = || {
            let proved = guard(Stage::Pipeline, || {
                prover.prove_into(input, options, &GrowingTree(&tree))
            });
            self.trim();
            proved
                .and_then(|result| result)
                .inspect_err(|_| tree.stop())
        };
        let (app, mut report) = if options.in_flight > 1 {
            thread::scope(|scope| {
                let workers: [_; AGGREGATION_THREADS] = from_fn(|_| scope.spawn(|| tree.work()));
                let app = segments();
                let work = workers.map(|worker| worker.join().expect("panics are errors"));
                // If a node failed, that is why the segments were stopped.
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
        let clock = Instant::now();
        verify(keys.verifying_key(), &baseline, &proof)?;
        report.verify = clock.elapsed();
        options.progress.event(Event::Verified);
        report.proof_bytes = proof.encode_to_vec().map_or(0, |bytes| bytes.len() as u64);
        report.device = self.app_key()?.engine.device_name();
        report.device_memory_peak = self.app_key()?.engine.memory_peak();
        report.total = start.elapsed();
        Ok(Proved {
            public_values: public_values(&proof),
            proof,
            baseline,
            report,
        })
    }

    /// Gives unused device memory back: the sizes that segments need are not those of aggregation.
    fn trim(&self) {
        if let Ok(key) = self.app_key() {
            key.engine.trim();
        }
    }

    // ------------------------------------------------------------------ verification

    /// Verifies an aggregated proof of this SDK's circuits against the commitments of a program, with
    /// OpenVM's own verifier.
    ///
    /// # Errors
    /// [`SdkError::Rejected`], with what does not fit.
    pub fn verify(
        &self,
        baseline: &VerificationBaseline,
        proof: &VmStarkProof,
    ) -> Result<(), SdkError> {
        let vk = self.agg_vk()?;
        verify(&vk, baseline, proof)
    }

    /// Verifies an application proof and that it is of the executable.
    ///
    /// # Errors
    /// [`SdkError::AppRejected`], with what does not fit.
    pub fn verify_app(
        &self,
        source: impl Into<ExecutableFormat>,
        proof: &ContinuationVmProof<SC>,
    ) -> Result<(), SdkError> {
        let expected = self.app_prover(source)?.exe_commit()?;
        verify_app(&self.app_vk()?, proof, Some(expected))
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
