//! `RootKeys`: the root circuit with its key on a device.

use std::sync::Arc;

use openvm_metal_backend::{
    BabyBearBn254Poseidon2MetalEngine, MetalBackend, MetalDevice, MetalProverError,
};
use openvm_metal_common::MetalContext;
use openvm_sdk::keygen::RootProvingKey;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey,
    proof::Proof,
    prover::{
        AirProvingContext, DeviceDataTransporter, DeviceMultiStarkProvingKey, ProvingContext,
    },
    StarkEngine,
};
use openvm_verify_stark_host::VmStarkProof;

use super::circuit::{RootCircuit, RootTraces};
use crate::{
    engine::EngineError,
    error::{guard, SdkError, Stage},
    prelude::RootSC,
};

/// The root circuit with its key on a device.
pub struct RootKeys {
    circuit: RootCircuit,
    engine: BabyBearBn254Poseidon2MetalEngine,
    device_key: DeviceMultiStarkProvingKey<MetalBackend<RootSC>>,
}

impl RootKeys {
    /// Brings a circuit to a device.
    pub(super) fn new(circuit: RootCircuit, context: &MetalContext) -> Self {
        let key = circuit.prover.get_pk();
        let config = RootSC::default_from_params(key.params.clone());
        let device = MetalDevice::on_context(config, context.clone());
        let engine = BabyBearBn254Poseidon2MetalEngine::from_device(device);
        Self {
            device_key: engine.device().transport_pk_to_device(&key),
            engine,
            circuit,
        }
    }

    /// The proving key in openvm-sdk's form.
    pub fn proving_key(&self) -> RootProvingKey {
        RootProvingKey {
            root_pk: self.circuit.prover.get_pk(),
            trace_heights: self.circuit.prover.get_trace_heights().unwrap_or_default(),
        }
    }

    /// Verifying key of root proofs.
    pub fn verifying_key(&self) -> Arc<MultiStarkVerifyingKey<RootSC>> {
        self.circuit.prover.get_vk()
    }

    /// The traces over an aggregated proof; see [`RootCircuit::traces`].
    pub(crate) fn traces(&self, proof: &VmStarkProof) -> Result<Option<RootTraces>, SdkError> {
        self.circuit.traces(proof)
    }

    /// The AIRs that need more rows over an aggregated proof; see [`RootCircuit::lacking`].
    pub(crate) fn lacking(&self, proof: &VmStarkProof) -> Result<Vec<String>, SdkError> {
        self.circuit.lacking(proof)
    }

    /// Brings traces to the device, and proves them.
    ///
    /// # Errors
    /// Refusals of the device.
    pub(crate) fn prove(&self, traces: RootTraces) -> Result<Proof<RootSC>, SdkError> {
        let proved = guard(Stage::Root, || {
            let device = self.engine.device();
            let uploaded = traces.per_trace.into_iter().map(|(index, air)| {
                let common = device.upload_row_major(&air.common_main)?;
                Ok((
                    index,
                    AirProvingContext::new(vec![], common, air.public_values),
                ))
            });
            let ctx = ProvingContext::new(uploaded.collect::<Result<_, MetalProverError>>()?);
            self.engine.prove(&self.device_key, ctx)
        })?;
        proved
            .map_err(EngineError::new)
            .map_err(SdkError::engine(Stage::Root))
    }
}
