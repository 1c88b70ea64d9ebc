//! `Sdk`: from an executable and its input to one proof.

mod deferral;
mod keys;
mod proving;
mod root;

pub use root::{ProvedRoot, RootTimes};

use std::sync::{Arc, Mutex, Weak};

use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
use openvm_metal_common::Device;
use openvm_sdk::{
    config::{AggregationTreeConfig, AppConfig},
    keygen::AppProvingKey,
    StdIn,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;
use openvm_verify_stark_host::{vk::VerificationBaseline, VmStarkProof};

use crate::{
    aggregation::{AggregationKeys, DeferralKeys, Deferrals, TreeCircuits},
    app::{execute, meter, AppCircuit, AppKey, CommittedExe, MeteredRun},
    builder::{AggSource, SdkBuilder},
    cache::Cache,
    devices::{Station, Turns},
    engine::{MetalEngine, SdkEngine},
    error::SdkError,
    executable::{executable_with, ProgramSource, Traps},
    options::ProveOptions,
    prelude::{F, SC},
    report::Report,
    root::{RootKeys, RootSource},
    row_order::RowOrder,
    slot::{lock, Slot},
    verification::{check_app_proof, verify, verify_app, Verified},
    verifying_key::security_bits,
};

/// The SDK on the engine of this project.
pub type MetalSdk = Sdk<MetalEngine>;

/// Executes, proves and verifies programs of one configuration on one device or several.
///
/// Keys are made or brought to the device when they are first needed and kept; so are committed programs.
/// Shared references can be used from several threads. Keys, executables and proofs have openvm-sdk's types,
/// so files are cargo-openvm's.
pub struct Sdk<E: SdkEngine> {
    devices: Vec<E::Device>,
    app_config: AppConfig<SdkVmConfig>,
    agg_source: AggSource,
    tree: AggregationTreeConfig,
    /// Cut segments so that they fit the device.
    fit_segments: bool,
    order: RowOrder,
    /// Place where traces are made, if it was set.
    traces_on_device: Option<bool>,
    /// Keys of fewer bits of security are refused.
    min_security_bits: f64,
    /// Rule for the traps of ELFs.
    traps: Traps,
    cache: Cache,
    app_pk: Slot<AppProvingKey<SdkVmConfig>>,
    /// True if `app_pk` was given: its contents may be others than its hash says.
    app_pk_is_given: bool,
    app_vm_vk: Slot<MultiStarkVerifyingKey<SC>>,
    /// These, the keys and the programs are in the order of the devices.
    stations: Slot<Vec<Station<E>>>,
    app_circuit: Slot<AppCircuit<E>>,
    app_keys: Slot<Vec<AppKey<E>>>,
    tree_circuits: Slot<TreeCircuits>,
    agg_keys: Slot<Vec<Arc<AggregationKeys<E>>>>,
    deferrals: Option<Arc<Deferrals>>,
    /// Deferral circuits on the first device.
    deferral_keys: Slot<DeferralKeys<E>>,
    root_source: RootSource,
    root_keys: Slot<RootKeys>,
    /// Scheduler of the devices for the proofs of all jobs.
    turns: Arc<Turns>,
    /// Executables that fit the configuration.
    checked: Mutex<Vec<Weak<VmExe<F>>>>,
    /// Committed programs, each on every device; the most recently used is last.
    programs: Mutex<Vec<Vec<Arc<CommittedExe<E>>>>>,
}

/// A proof of a whole execution, with what verifies it.
pub struct Proved {
    pub proof: VmStarkProof,
    pub baseline: VerificationBaseline,
    /// Bytes that the guest revealed.
    pub public_values: Vec<u8>,
    pub report: Report,
}

impl SdkBuilder<MetalEngine> {
    /// The SDK. Keys are made when they are needed.
    ///
    /// # Errors
    /// [`SdkError::Config`] if settings are missing or contradict each other, [`SdkError::ForeignKey`] if a key
    /// was made for others.
    pub fn build(self) -> Result<MetalSdk, SdkError> {
        self.generic_build()
    }
}

impl<E: SdkEngine> SdkBuilder<E> {
    /// [`build`](SdkBuilder::build) for any engine.
    ///
    /// # Errors
    /// Errors of [`build`](SdkBuilder::build).
    pub fn generic_build(self) -> Result<Sdk<E>, SdkError> {
        let settings = self.settings()?;
        Ok(Sdk {
            turns: Arc::new(Turns::new(settings.devices.len())),
            devices: settings.devices,
            app_config: settings.app_config,
            agg_source: settings.agg_source,
            tree: settings.tree,
            fit_segments: settings.fit_segments,
            order: settings.order,
            traces_on_device: settings.traces_on_device,
            min_security_bits: settings.min_security_bits,
            traps: settings.traps,
            cache: settings.cache,
            app_pk_is_given: settings.app_pk.is_some(),
            app_pk: Slot::new(settings.app_pk),
            stations: Slot::new(None),
            app_vm_vk: Slot::new(None),
            app_circuit: Slot::new(None),
            app_keys: Slot::new(None),
            tree_circuits: Slot::new(None),
            agg_keys: Slot::new(None),
            deferrals: settings.deferrals,
            deferral_keys: Slot::new(None),
            root_source: settings.root_source,
            root_keys: Slot::new(None),
            checked: Mutex::default(),
            programs: Mutex::default(),
        })
    }
}

impl<E: SdkEngine> Sdk<E> {
    /// Configures an SDK on a device.
    pub fn builder(device: E::Device) -> SdkBuilder<E> {
        SdkBuilder::new(device)
    }

    /// The configuration of the application.
    pub fn app_config(&self) -> &AppConfig<SdkVmConfig> {
        &self.app_config
    }

    /// The devices that proofs are made on, opened at the first call: `auto` is the device that was chosen.
    ///
    /// # Errors
    /// A device that cannot be used.
    pub fn devices(&self) -> Result<Vec<E::Device>, SdkError> {
        let stations = self.stations()?;
        let named = self.devices.iter().zip(stations.iter());
        Ok(named
            .map(|(device, station)| E::chosen(device, station.context()))
            .collect())
    }

    /// Number of proofs that a node verifies.
    pub(crate) fn tree(&self) -> &AggregationTreeConfig {
        &self.tree
    }

    /// Scheduler of the devices.
    pub(crate) fn turns(&self) -> &Turns {
        &self.turns
    }

    /// The executable of an ELF, or an executable as it is, checked against the configuration.
    ///
    /// # Errors
    /// See [`executable`](crate::executable()).
    pub fn executable(&self, source: impl Into<ProgramSource>) -> Result<Arc<VmExe<F>>, SdkError> {
        self.executable_of(source.into())
    }

    fn executable_of(&self, source: ProgramSource) -> Result<Arc<VmExe<F>>, SdkError> {
        if let ProgramSource::Exe(exe) = &source {
            let known = Arc::downgrade(exe);
            if lock(&self.checked).iter().any(|exe| exe.ptr_eq(&known)) {
                return Ok(exe.clone());
            }
        }
        let exe = executable_with(&self.app_config.app_vm_config, source, self.traps)?;
        let mut checked = lock(&self.checked);
        checked.retain(|exe| exe.strong_count() > 0);
        checked.push(Arc::downgrade(&exe));
        Ok(exe)
    }

    /// Runs a program without proving it. Returns what it revealed, as bytes.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn execute(
        &self,
        source: impl Into<ProgramSource>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<Vec<u8>, SdkError> {
        let exe = self.executable(source)?;
        execute(&self.app_config.app_vm_config, &exe, input, options)
    }

    /// [`execute_metered`](Self::execute_metered) for any engine.
    ///
    /// # Errors
    /// Errors of [`execute_metered`](Self::execute_metered).
    pub fn generic_execute_metered(
        &self,
        exe: &VmExe<F>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        meter(&self.app_keys()?[0], exe, input, options)
    }
}

impl MetalSdk {
    /// An SDK for programs of RV32IM with input and output, with OpenVM's default parameters.
    ///
    /// # Errors
    /// See [`SdkBuilder::build`].
    pub fn riscv32(device: Device) -> Result<Self, SdkError> {
        Self::builder(device)
            .vm_config(SdkVmConfig::riscv32())
            .build()
    }

    /// An SDK for programs that use any of OpenVM's standard extensions, with its default parameters.
    ///
    /// # Errors
    /// See [`SdkBuilder::build`].
    pub fn standard(device: Device) -> Result<Self, SdkError> {
        Self::builder(device)
            .vm_config(SdkVmConfig::standard())
            .build()
    }

    /// Runs a program and decides where it is cut into segments, as a proof on these devices would be. The program is
    /// not committed.
    ///
    /// # Errors
    /// What goes wrong in the guest, or the bound on instructions.
    pub fn execute_metered(
        &self,
        source: impl Into<ProgramSource>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        self.meter(&*self.executable(source)?, input, options)
    }

    fn meter(
        &self,
        exe: &VmExe<F>,
        input: StdIn,
        options: &ProveOptions<'_>,
    ) -> Result<MeteredRun, SdkError> {
        self.generic_execute_metered(exe, input, options)
    }

    /// Verifies an aggregated proof of this SDK's circuits against the commitments of a program, with
    /// OpenVM's own verifier.
    ///
    /// # Errors
    /// [`SdkError::Key`] for a baseline of other circuits, [`SdkError::Rejected`] with the first
    /// difference.
    pub fn verify(
        &self,
        baseline: &VerificationBaseline,
        proof: &VmStarkProof,
    ) -> Result<Verified, SdkError> {
        let vk = self.agg_vk()?;
        verify(&vk, baseline, proof, self.min_security_bits)
    }

    /// Verifies an application proof and that it is of the executable. Such a proof says nothing about what deferral circuits computed: on machines
    /// with these, [`verify`](Self::verify) the proof of [`prove_deferred`](Self::prove_deferred).
    ///
    /// # Errors
    /// [`SdkError::DeferredUnproved`], or [`SdkError::AppRejected`] with the first difference.
    pub fn verify_app(
        &self,
        source: impl Into<ProgramSource>,
        proof: &ContinuationVmProof<SC>,
    ) -> Result<Verified, SdkError> {
        self.verify_app_of(self.executable(source)?, proof)
    }

    fn verify_app_of(
        &self,
        exe: Arc<VmExe<F>>,
        proof: &ContinuationVmProof<SC>,
    ) -> Result<Verified, SdkError> {
        let expected = self.app_prover_of(exe)?.generic_exe_commit()?;
        let vk = self.app_vk()?;
        if self.app_pk_is_given {
            let min = self.min_security_bits;
            return verify_app(&vk, proof, Some(expected), None, min);
        }
        // Key generation hashed the contents of the key, and the prover of the program refused a key of too few bits.
        check_app_proof(&vk, proof, [expected], security_bits(&vk.vk))
    }
}
