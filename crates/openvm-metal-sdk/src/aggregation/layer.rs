//! `Layer`: the circuit of one kind of node, its key on the device, and its nodes' traces and proofs.

use std::sync::{Arc, Mutex, PoisonError};

use openvm_continuations::circuit::{
    inner::{InnerCircuit, InnerTraceGen, InnerTraceGenImpl, ProofsType},
    Circuit,
};
use openvm_cpu_backend::CpuBackend;
use openvm_recursion_circuit::system::{
    CachedTraceCtx, VerifierConfig, VerifierExternalData, VerifierSubCircuit, VerifierTraceGen,
};
use openvm_stark_backend::{
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    proof::Proof,
    prover::{AirProvingContext, DeviceMultiStarkProvingKey, ProvingContext},
    AirRef, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge_recorder;

use super::child::Child;
use crate::{
    app::transport_key,
    engine::{EngineError, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::SC,
    vm::Uploader,
};

/// Which proofs a node verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Proofs of segments.
    App,
    /// Proofs of the layer below.
    Layer,
    /// Proofs of this layer itself.
    Own,
}

/// A kind of node that verifies up to `N` proofs.
pub(super) struct Layer<E: SdkEngine, const N: usize> {
    engine: E,
    uploader: Uploader<E>,
    circuit: InnerCircuit<VerifierSubCircuit<N>>,
    tracegen: InnerTraceGenImpl,
    key: Arc<MultiStarkProvingKey<SC>>,
    device_key: DeviceMultiStarkProvingKey<E::PB>,
    child: Child<E>,
    /// This layer as its own child.
    own: Option<Child<E>>,
    vk: Arc<MultiStarkVerifyingKey<SC>>,
}

/// Where the key of a layer comes from.
pub(super) enum KeySource {
    Params(SystemParams),
    Key(Arc<MultiStarkProvingKey<SC>>),
}

impl<E: SdkEngine, const N: usize> Layer<E, N> {
    /// The layer above proofs of `child_vk`; `recursive` if it also verifies its own proofs.
    pub fn new(
        device: &E::Device,
        name: &'static str,
        child_vk: Arc<MultiStarkVerifyingKey<SC>>,
        source: KeySource,
        recursive: bool,
    ) -> Result<Self, SdkError> {
        let stage = || Stage::AggregationKeygen;
        let params = match &source {
            KeySource::Params(params) => params.clone(),
            KeySource::Key(key) => key.params.clone(),
        };
        let engine = E::open(params, device).map_err(SdkError::engine(Stage::OpenDevice))?;
        let circuit = guard(stage(), || {
            let config = VerifierConfig {
                continuations_enabled: true,
                ..VerifierConfig::default()
            };
            let verifier = VerifierSubCircuit::new_with_options(child_vk.clone(), config);
            InnerCircuit::new(Arc::new(verifier), None)
        })?;
        let airs: Vec<AirRef<SC>> = circuit.airs();
        let key = match source {
            KeySource::Params(_) => guard(stage(), || Arc::new(engine.keygen(&airs).0))?,
            KeySource::Key(key) => {
                check_key(name, &airs, &key)?;
                key
            }
        };
        let vk = Arc::new(key.get_vk());
        let child = Child::new(&engine, child_vk)?;
        let own = if recursive {
            Some(Child::new(&engine, vk.clone())?)
        } else {
            None
        };
        Ok(Self {
            uploader: Uploader::new(&engine),
            circuit,
            tracegen: InnerTraceGen::new(false),
            device_key: transport_key(&engine, &key),
            engine,
            key,
            child,
            own,
            vk,
        })
    }

    pub fn key(&self) -> &Arc<MultiStarkProvingKey<SC>> {
        &self.key
    }

    pub fn vk(&self) -> &Arc<MultiStarkVerifyingKey<SC>> {
        &self.vk
    }

    pub fn child(&self) -> &Child<E> {
        &self.child
    }

    pub fn own(&self) -> Option<&Child<E>> {
        self.own.as_ref()
    }

    /// The traces of a node that verifies `proofs`, on the device.
    fn traces(
        &self,
        proofs: &[Proof<SC>],
        below: Below,
        stage: &Stage,
    ) -> Result<ProvingContext<E::PB>, SdkError> {
        let child = match below {
            Below::Own => self.own.as_ref().ok_or_else(|| SdkError::Panicked {
                stage: stage.clone(),
                message: "a layer that is not recursive was given its own proofs".into(),
            })?,
            Below::App | Below::Layer => &self.child,
        };
        let host = guard(stage.clone(), || self.host_traces(proofs, below, child))?;
        let per_trace = host
            .into_iter()
            .map(|mut ctx| {
                let cached = std::mem::take(&mut ctx.cached_mains);
                let mut ctx = self.uploader.air(ctx);
                ctx.cached_mains = cached.iter().map(|_| child.trace.clone()).collect();
                ctx
            })
            .enumerate()
            .collect();
        Ok(ProvingContext { per_trace })
    }

    fn host_traces(
        &self,
        proofs: &[Proof<SC>],
        below: Below,
        child: &Child<E>,
    ) -> Vec<AirProvingContext<CpuBackend<SC>>> {
        let is_app = below == Below::App;
        let pre = self.tracegen.generate_pre_verifier_subcircuit_ctxs(
            proofs,
            ProofsType::Vm,
            None,
            is_app,
            child.vk_commit(),
            &(),
        );
        let mut external = VerifierExternalData {
            poseidon2_compress_inputs: &pre.poseidon2_compress_inputs,
            poseidon2_permute_inputs: &pre.poseidon2_permute_inputs,
            range_check_inputs: &pre.range_check_inputs,
            power_check_inputs: &vec![],
            required_heights: None,
            final_transcript_state: None,
        };
        let verifier = &*self.circuit.verifier_circuit;
        let sub = VerifierTraceGen::<CpuBackend<SC>, SC, ()>::generate_proving_ctxs(
            verifier,
            &child.vk,
            CachedTraceCtx::PcsData(child.host.clone()),
            proofs,
            &mut external,
            &(),
            default_duplex_sponge_recorder(),
        )
        .expect("no heights are required of a node");
        let post = self.tracegen.generate_post_verifier_subcircuit_ctxs(
            proofs,
            ProofsType::Vm,
            is_app,
            &(),
        );
        pre.air_proving_ctxs
            .into_iter()
            .chain(sub)
            .chain(post)
            .collect()
    }

    /// Proves a node that verifies `proofs`. `device` is held while the proof is made, not while its traces are.
    pub fn node(
        &self,
        proofs: &[Proof<SC>],
        below: Below,
        device: &Mutex<()>,
        stage: &Stage,
    ) -> Result<Proof<SC>, SdkError> {
        let ctx = self.traces(proofs, below, stage)?;
        let _held = device.lock().unwrap_or_else(PoisonError::into_inner);
        self.engine
            .prove(&self.device_key, ctx)
            .map_err(|error| SdkError::Engine {
                stage: stage.clone(),
                source: EngineError::new(error),
            })
    }
}

/// Compares the AIRs of a circuit with those that a key was made for, by name and width.
fn check_key(
    what: &'static str,
    airs: &[AirRef<SC>],
    key: &MultiStarkProvingKey<SC>,
) -> Result<(), SdkError> {
    let foreign = |reason| Err(SdkError::ForeignKey { what, reason });
    if airs.len() != key.per_air.len() {
        return foreign(format!(
            "it has {} AIRs, the configuration needs {}",
            key.per_air.len(),
            airs.len()
        ));
    }
    for (index, (air, key)) in airs.iter().zip(&key.per_air).enumerate() {
        let (name, width) = (air.name(), air.common_main_width());
        if name != key.air_name || width != key.vk.params.width.common_main {
            return foreign(format!(
                "AIR {index} is {} with {} columns, the configuration needs {name} with {width}",
                key.air_name, key.vk.params.width.common_main
            ));
        }
    }
    Ok(())
}
