//! Keys and commitments, made or brought to the device when they are first needed.

use std::{sync::Arc, thread};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_continuations::CommitBytes;
use openvm_sdk::{
    config::{AggregationConfig, AggregationSystemParams},
    keygen::{AggProvingKey, AppProvingKey, AppVerifyingKey},
    types::AppExecutionCommit,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;
use openvm_verify_stark_host::vk::VerificationBaseline;

use super::{MetalSdk, Sdk};
use crate::{
    aggregation::{AggregationKeys, TreeCircuits},
    app::{app_keygen, AppCircuit, AppKey, AppProver, ConfigChips},
    builder::AggSource,
    devices::{on_each, Station},
    engine::{MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    executable::ProgramSource,
    prelude::{F, SC},
    verification::app_vm_commit,
    verifying_key::{require, security_bits, security_bits_of},
};

impl MetalSdk {
    /// The application's proving key, made at the first call unless it was given.
    ///
    /// # Errors
    /// If the configuration has no circuit.
    pub fn app_pk(&self) -> Result<Arc<AppProvingKey<SdkVmConfig>>, SdkError> {
        self.generic_app_pk()
    }

    /// Bits of security of the application's circuit, by OpenVM's calculator.
    ///
    /// # Errors
    /// See [`app_pk`](Self::app_pk).
    pub fn app_security_bits(&self) -> Result<f64, SdkError> {
        self.generic_app_security_bits()
    }

    /// Bits of security of an aggregated proof: those of the weakest of the circuits of the
    /// application, the leaves and the internal nodes, and of the deferral circuits.
    ///
    /// # Errors
    /// See [`aggregation_keys`](Self::aggregation_keys).
    pub fn security_bits(&self) -> Result<f64, SdkError> {
        self.generic_security_bits()
    }

    /// Compares the bits of security of the keys that are known before the aggregation keys are made with
    /// the least that is accepted: the application's, and aggregation keys that were given. Returns the
    /// bits of the weakest.
    ///
    /// # Errors
    /// [`SdkError::Insecure`], and those of [`app_pk`](Self::app_pk).
    pub fn check_security(&self) -> Result<f64, SdkError> {
        let app = self.app_security_bits()?;
        require("the application's key", app, self.min_security_bits)?;
        let AggSource::Key(key) = &self.agg_source else {
            return Ok(app);
        };
        let keys = [
            &key.prefix.leaf,
            &key.prefix.internal_for_leaf,
            &key.internal_recursive,
        ];
        let bits = keys.map(|key| security_bits_of(key));
        let bits = bits.into_iter().fold(app, f64::min);
        require("the aggregation keys", bits, self.min_security_bits)?;
        Ok(bits)
    }

    /// Verifying key of application proofs.
    ///
    /// # Errors
    /// See [`app_pk`](Self::app_pk).
    pub fn app_vk(&self) -> Result<AppVerifyingKey, SdkError> {
        Ok(self.app_pk()?.get_app_vk())
    }

    /// The aggregation keys on the first device, made at the first call unless they were given.
    ///
    /// # Errors
    /// Parameters that do not go together, or given keys of another configuration.
    pub fn aggregation_keys(&self) -> Result<Arc<AggregationKeys<MetalEngine>>, SdkError> {
        self.generic_aggregation_keys()
    }

    /// The aggregation keys in cargo-openvm's form.
    ///
    /// # Errors
    /// See [`aggregation_keys`](Self::aggregation_keys).
    pub fn agg_pk(&self) -> Result<AggProvingKey, SdkError> {
        Ok(self.aggregation_keys()?.proving_key())
    }

    /// Verifying key of aggregated proofs.
    ///
    /// # Errors
    /// See [`aggregation_keys`](Self::aggregation_keys).
    pub fn agg_vk(&self) -> Result<Arc<MultiStarkVerifyingKey<SC>>, SdkError> {
        Ok(self.aggregation_keys()?.verifying_key().clone())
    }

    /// The commitments to the executable and to the virtual machine.
    ///
    /// # Errors
    /// Errors of keys and of committing the program.
    pub fn app_commit(
        &self,
        source: impl Into<ProgramSource>,
    ) -> Result<AppExecutionCommit, SdkError> {
        let baseline = self.baseline(source)?;
        Ok(AppExecutionCommit {
            app_exe_commit: CommitBytes::from(baseline.app_exe_commit),
            app_vm_commit: app_vm_commit(&baseline),
        })
    }

    /// Commitments of the program and the circuits for verifiers, whatever the input.
    ///
    /// # Errors
    /// Errors of keys and of committing the program.
    pub fn baseline(
        &self,
        source: impl Into<ProgramSource>,
    ) -> Result<VerificationBaseline, SdkError> {
        self.baseline_of_exe(self.executable(source)?)
    }

    fn baseline_of_exe(&self, exe: Arc<VmExe<F>>) -> Result<VerificationBaseline, SdkError> {
        self.baseline_of(&self.app_prover_of(exe)?)
    }
}

impl<E: SdkEngine> Sdk<E> {
    pub(crate) fn generic_app_pk(&self) -> Result<Arc<AppProvingKey<SdkVmConfig>>, SdkError> {
        self.app_pk.get_or_try(|| {
            let config = self.app_config.clone();
            guard(Stage::AppKeygen, || app_keygen(config))?
                .map_err(|error| SdkError::machine(Stage::AppKeygen, error, 0))
        })
    }

    pub(crate) fn generic_app_security_bits(&self) -> Result<f64, SdkError> {
        Ok(security_bits(&*self.app_vm_vk()?))
    }

    /// The verifying key of segments. It is large, so it is copied once.
    pub(crate) fn app_vm_vk(&self) -> Result<Arc<MultiStarkVerifyingKey<SC>>, SdkError> {
        let vk = || Ok(self.generic_app_pk()?.app_vm_pk.vm_pk.get_vk());
        self.app_vm_vk.get_or_try(vk)
    }

    pub(crate) fn generic_security_bits(&self) -> Result<f64, SdkError> {
        let aggregation = self.generic_aggregation_keys()?.security_bits();
        let bits = self.generic_app_security_bits()?.min(aggregation);
        let deferral = self.deferral_keys()?;
        Ok(deferral.map_or(bits, |keys| bits.min(keys.security_bits())))
    }

    /// The devices, opened at the first call.
    pub(crate) fn stations(&self) -> Result<Arc<Vec<Station<E>>>, SdkError> {
        self.stations.get_or_try(|| {
            let stations = Station::open_all(&self.devices)?.into_iter();
            Ok(stations
                .map(|station| station.with_cache(self.cache.clone()))
                .collect())
        })
    }

    /// The application's circuit. No device is needed for it.
    pub(crate) fn app_circuit(&self) -> Result<Arc<AppCircuit<E>>, SdkError> {
        self.app_circuit.get_or_try(|| {
            let config = &self.app_config.app_vm_config;
            let (key, chips) = thread::scope(|scope| {
                let chips = scope.spawn(|| ConfigChips::new(config));
                let key = || {
                    let key = self.generic_app_pk()?;
                    let bits = self.generic_app_security_bits()?;
                    require("the application's key", bits, self.min_security_bits)?;
                    Ok::<_, SdkError>(key)
                };
                // A panic is an error there, so that the error of the key is the one to tell.
                (key(), chips.join().expect("panics are errors"))
            });
            let (key, chips, vk) = (key?, chips?, self.app_vm_vk()?);
            guard(Stage::AppKeygen, || {
                AppCircuit::new(key, vk, chips, config.clone())
            })
        })
    }

    /// The application's key on each device.
    pub(crate) fn app_keys(&self) -> Result<Arc<Vec<AppKey<E>>>, SdkError> {
        self.app_keys.get_or_try(|| {
            let (circuit, stations) = thread::scope(|scope| {
                // Drivers take long to open a device.
                let stations = scope.spawn(|| guard(Stage::OpenDevice, || self.stations()));
                let circuit = self.app_circuit();
                (circuit, stations.join().expect("panics are errors"))
            });
            let (circuit, stations) = (circuit?, stations??);
            let keys = AppKey::on_all(&stations, &circuit, self.fit_segments, self.order)?;
            let on_device = self.traces_on_device;
            let keys = keys.into_iter();
            Ok(keys
                .map(|key| key.with_traces_on_device(on_device))
                .collect())
        })
    }

    pub(crate) fn generic_aggregation_keys(&self) -> Result<Arc<AggregationKeys<E>>, SdkError> {
        Ok(self.all_aggregation_keys()?[0].clone())
    }

    /// The circuits of the aggregation. No device is needed for them.
    pub(crate) fn tree_circuits(&self) -> Result<Arc<TreeCircuits>, SdkError> {
        self.tree_circuits.get_or_try(|| {
            let app_vk = self.app_vm_vk()?;
            let hook = self.deferrals.as_ref().map(|d| d.hook_cached_commit());
            let circuits = match &self.agg_source {
                AggSource::Params(params) => {
                    let config = AggregationConfig {
                        params: AggregationSystemParams::clone(params),
                    };
                    TreeCircuits::generate(app_vk, &config, self.order, hook)
                }
                AggSource::Key(key) => {
                    let key = AggProvingKey::clone(key);
                    TreeCircuits::load(app_vk, key, self.order, hook)
                }
            }?;
            let what = "the aggregation keys";
            require(what, circuits.security_bits(), self.min_security_bits)?;
            Ok(circuits)
        })
    }

    /// The aggregation keys on each device.
    pub(crate) fn all_aggregation_keys(
        &self,
    ) -> Result<Arc<Vec<Arc<AggregationKeys<E>>>>, SdkError> {
        self.check_deferral()?;
        self.agg_keys.get_or_try(|| {
            let circuits = self.tree_circuits()?;
            let stations = self.stations()?;
            let first = AggregationKeys::new(&stations[0], circuits.as_ref().clone())?;
            let first = Arc::new(first);
            on_each(stations.len(), |i| match i {
                0 => Ok(first.clone()),
                _ => Ok(Arc::new(first.on(&stations[i])?)),
            })
        })
    }

    pub(crate) fn baseline_of(
        &self,
        prover: &AppProver<E>,
    ) -> Result<VerificationBaseline, SdkError> {
        let keys = self.generic_aggregation_keys()?;
        let deferral = self.deferral_keys()?;
        let system = &self.app_config.app_vm_config.system.config;
        Ok(VerificationBaseline {
            app_exe_commit: prover.generic_exe_commit()?,
            memory_dimensions: system.memory_config.memory_dimensions(),
            num_user_pvs: system.num_public_values,
            app_vk_commit: keys.app_vk_commit(),
            leaf_vk_commit: keys.leaf_vk_commit(),
            internal_for_leaf_vk_commit: keys.internal_for_leaf_vk_commit(),
            internal_recursive_vk_commit: keys.internal_recursive_vk_commit(),
            expected_def_hook_commit: deferral.map(|keys| keys.hook_commit()),
        })
    }
}
