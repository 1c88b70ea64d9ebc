//! Root keys and root proofs of an SDK.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use openvm_circuit::arch::instructions::{
    exe::VmExe, instruction::Instruction, program::Program, LocalOpcode, SystemOpcode,
};
use openvm_sdk::{
    config::AggregationSystemParams, keygen::RootProvingKey, types::AppExecutionCommit, StdIn,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, proof::Proof};
use openvm_stark_sdk::config::{app_params_with_100_bits_security, MAX_APP_LOG_STACKED_HEIGHT};
use openvm_verify_stark_host::{vk::VerificationBaseline, VmStarkProof};
use serde::Serialize;

use super::MetalSdk;
use crate::{
    aggregation::wrap_alone,
    cache::Cache,
    error::SdkError,
    options::ProveOptions,
    prelude::F,
    progress::Event,
    report::{seconds, Laps},
    root::{verify_root, RootCircuit, RootKeys, RootSC, RootTraces},
    verification::{app_vm_commit, Verified},
};

/// Number of proofs that make an aggregated proof smaller before the root proof, at most: that of openvm-sdk.
const MAX_WRAPS: usize = 8;

/// A root proof, which OpenVM's verifier has accepted.
pub struct ProvedRoot {
    pub proof: Proof<RootSC>,
    /// The statement of the proof.
    pub verified: Verified,
    /// Number of proofs that made the aggregated proof smaller before.
    pub wraps: usize,
    pub times: RootTimes,
}

/// Times of the stages of a root proof, which follow one another. JSON has seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct RootTimes {
    /// Making the root key and bringing it to the device, if it was not there.
    #[serde(serialize_with = "seconds")]
    pub keys: Duration,
    /// Making the traces, with the proofs that made the aggregated proof smaller.
    #[serde(serialize_with = "seconds")]
    pub traces: Duration,
    /// Bringing the traces to the device, and the proof.
    #[serde(serialize_with = "seconds")]
    pub prove: Duration,
    /// Verifying the aggregated proof and the root proof.
    #[serde(serialize_with = "seconds")]
    pub verify: Duration,
}

/// A program that ends at once.
fn smallest_program() -> VmExe<F> {
    let end = Instruction::from_isize(SystemOpcode::TERMINATE.global_opcode(), 0, 0, 0, 0, 0);
    VmExe::new(Program::from_instructions(&[end]))
}

impl MetalSdk {
    /// The root key on the first device, made at the first call unless it was given: with it, a proof of the smallest program is made, whose
    /// heights are those of every root proof.
    ///
    /// # Errors
    /// Errors of aggregation keys and of that proof, [`SdkError::ForeignKey`] for a key of other circuits.
    pub fn root_keys(&self) -> Result<Arc<RootKeys>, SdkError> {
        self.root_keys.get_or_try(|| {
            let keys = self.aggregation_keys()?;
            let system = &self.app_config.app_vm_config.system.config;
            let hook = self.deferral_keys()?.map(|keys| keys.hook_commit());
            let source = &self.root_source;
            let mut circuit = RootCircuit::new(&keys, hook, system, source, self.order)?;
            circuit.check_security(self.min_security_bits)?;
            if circuit.needs_heights() {
                let heights = self.smallest_heights(&circuit)?;
                circuit = circuit.with_heights(heights)?;
            }
            circuit.on(self.stations()?[0].context())
        })
    }

    /// The root key in openvm-sdk's form.
    ///
    /// # Errors
    /// See [`root_keys`](Self::root_keys).
    pub fn root_pk(&self) -> Result<RootProvingKey, SdkError> {
        Ok(self.root_keys()?.proving_key())
    }

    /// Verifying key of root proofs.
    ///
    /// # Errors
    /// See [`root_keys`](Self::root_keys).
    pub fn root_vk(&self) -> Result<Arc<MultiStarkVerifyingKey<RootSC>>, SdkError> {
        Ok(self.root_keys()?.verifying_key())
    }

    /// Proves an aggregated proof of this SDK's circuits by the root circuit, on the first device. OpenVM's verifier has accepted both when this
    /// returns.
    ///
    /// # Errors
    /// [`SdkError::Rejected`] for an aggregated proof that is not valid, errors of keys and of the device.
    pub fn prove_root(
        &self,
        baseline: &VerificationBaseline,
        proof: &VmStarkProof,
        options: &ProveOptions<'_>,
    ) -> Result<ProvedRoot, SdkError> {
        let mut times = RootTimes::default();
        let mut laps = Laps::since(Instant::now());
        self.verify(baseline, proof)?;
        times.verify = laps.end();
        options
            .progress
            .event(Event::Preparing { work: "root key" });
        let keys = self.root_keys()?;
        times.keys = laps.end();
        options.check_cancelled()?;
        options.progress.event(Event::Preparing {
            work: "root traces",
        });
        let (traces, wraps) = self.root_traces(&keys, proof, options)?;
        times.traces = laps.end();
        options.check_cancelled()?;
        options
            .progress
            .event(Event::Preparing { work: "root proof" });
        let stations = self.stations()?;
        let proof = keys
            .prove(traces)
            .map_err(|error| error.on(stations[0].name()))?;
        times.prove = laps.end();
        let commit = AppExecutionCommit {
            app_exe_commit: baseline.app_exe_commit.into(),
            app_vm_commit: app_vm_commit(baseline),
        };
        let vk = keys.verifying_key();
        let verified = verify_root(&vk, &proof, Some(&commit), self.min_security_bits)?;
        times.verify += laps.end();
        options.progress.event(Event::Verified);
        Ok(ProvedRoot {
            proof,
            verified,
            wraps,
            times,
        })
    }

    /// The root proof of a program that ends at once, on this SDK's machine. Every root proof has its heights, so that keys above root
    /// proofs can be made from it.
    ///
    /// # Errors
    /// Errors of [`prove`](Self::prove) and [`prove_root`](Self::prove_root).
    pub fn prove_smallest_root(&self, options: &ProveOptions<'_>) -> Result<ProvedRoot, SdkError> {
        let proved = self.prove(smallest_program(), StdIn::default(), options)?;
        self.prove_root(&proved.baseline, &proved.proof, options)
    }

    /// The traces over an aggregated proof, which is made smaller as often as it takes; how often.
    fn root_traces(
        &self,
        keys: &RootKeys,
        proof: &VmStarkProof,
        options: &ProveOptions<'_>,
    ) -> Result<(RootTraces, usize), SdkError> {
        let aggregation = self.aggregation_keys()?;
        let mut proof = proof.clone();
        for wraps in 0..=MAX_WRAPS {
            if let Some(traces) = keys.traces(&proof)? {
                return Ok((traces, wraps));
            }
            options.check_cancelled()?;
            proof.inner = wrap_alone(&aggregation, wraps, proof.inner)?;
        }
        Err(SdkError::RootRejected(format!(
            "the aggregated proof needs more rows than the root circuit has, also after {MAX_WRAPS} more proofs of it: {}",
            keys.lacking(&proof)?.join(", ")
        )))
    }

    /// The heights of the root circuit's traces for the proof of a program that ends at once. With OpenVM's parameters of aggregation they are
    /// OpenVM's, whatever the application is: those on a machine with the basic extensions.
    fn smallest_heights(&self, circuit: &RootCircuit) -> Result<Vec<usize>, SdkError> {
        let own = &self.app_config;
        let params = self.aggregation_keys()?.params();
        let (config, app_params) = match is_default(&params) {
            true => {
                let mut config = SdkVmConfig::riscv32();
                config.system.config = own.app_vm_config.system.config.clone();
                config.apply_optimizations();
                let params = app_params_with_100_bits_security(MAX_APP_LOG_STACKED_HEIGHT);
                (config, params)
            }
            false => (own.app_vm_config.clone(), own.system_params.clone()),
        };
        let mut smallest = Self::builder(self.devices[0])
            .vm_config(config)
            .app_params(app_params)
            .agg_params(params)
            .min_security_bits(0.0)
            .cache(Cache::none());
        if let Some(deferrals) = &self.deferrals {
            smallest = smallest.deferrals(deferrals.clone());
        }
        let smallest = smallest.build()?;
        let options = ProveOptions::default().with_progress(&()).with_output(&());
        let proved = smallest.prove(smallest_program(), StdIn::default(), &options)?;
        let keys = smallest.aggregation_keys()?;
        circuit.check_child(keys.verifying_key())?;
        // Proofs of the last circuit over one of its own get to one size, which OpenVM's parameters give at once.
        let mut proof = proved.proof;
        let mut heights = circuit.heights(&proof)?;
        for wraps in 0..MAX_WRAPS {
            proof.inner = wrap_alone(&keys, wraps, proof.inner)?;
            let above = circuit.heights(&proof)?;
            if above == heights {
                break;
            }
            heights = above;
        }
        Ok(heights)
    }
}

/// True for OpenVM's parameters of aggregation.
fn is_default(params: &AggregationSystemParams) -> bool {
    let default = AggregationSystemParams::default();
    params.leaf == default.leaf && params.internal == default.internal
}
