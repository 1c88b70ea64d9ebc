//! `Layer`: one kind of node on one device: its key there, and its nodes' traces brought there.

use std::{
    sync::Arc,
    thread::{Scope, ScopedJoinHandle},
};

use openvm_stark_backend::prover::{
    DeviceDataTransporter, DeviceMultiStarkProvingKey, ProvingContext,
};
use openvm_verify_stark_host::pvs::VkCommit;

use super::{
    child::DeviceChild,
    circuit::{Below, NodeCircuit},
    verifier::HostTraces,
};
use crate::{
    devices::Station,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::F,
    vm::Uploader,
};

/// A kind of node that verifies up to `N` proofs, on a device.
pub(super) struct Layer<E: SdkEngine, const N: usize> {
    pub circuit: Arc<NodeCircuit<N>>,
    pub engine: E,
    pub device_key: DeviceMultiStarkProvingKey<E::PB>,
    uploader: Uploader<E>,
    child: DeviceChild<E>,
    own: Option<DeviceChild<E>>,
}

impl<E: SdkEngine, const N: usize> Layer<E, N> {
    /// Brings a layer to a device on another thread.
    pub fn spawn<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        station: &'env Station<E>,
        circuit: Arc<NodeCircuit<N>>,
    ) -> ScopedJoinHandle<'scope, Result<Self, SdkError>> {
        scope.spawn(move || {
            let bring = || {
                let engine = station.engine(circuit.key.params.clone())?;
                Self::bring(station, engine, circuit)
            };
            guard(Stage::AggregationKeygen, bring).and_then(|layer| layer)
        })
    }

    /// The same layer on another device.
    ///
    /// # Errors
    /// What that device refuses, or [`SdkError::Disagreement`] if its commitment to the key is another one.
    pub fn on(&self, station: &Station<E>) -> Result<Self, SdkError> {
        let engine = station.engine(self.circuit.key.params.clone())?;
        let layer = Self::bring(station, engine, self.circuit.clone())?;
        let commit = |layer: &Self, below| layer.vk_commit(below).cached_commit;
        if [Below::Layer, Below::Own]
            .iter()
            .any(|&below| commit(self, below) != commit(&layer, below))
        {
            return Err(SdkError::Disagreement {
                stage: Stage::AggregationKeygen,
                device: station.name().to_owned(),
            });
        }
        Ok(layer)
    }

    /// Brings a layer to a device.
    ///
    /// # Errors
    /// Refusals of the device.
    pub fn bring(
        station: &Station<E>,
        engine: E,
        circuit: Arc<NodeCircuit<N>>,
    ) -> Result<Self, SdkError> {
        let child =
            |child| DeviceChild::new(station, &engine, child).map_err(|e| e.on(station.name()));
        Ok(Self {
            child: child(&circuit.child)?,
            own: circuit.own.as_ref().map(child).transpose()?,
            uploader: Uploader::new(&engine),
            device_key: engine.device().transport_pk_to_device(&circuit.key),
            engine,
            circuit,
        })
    }

    /// The commitment to the verifying key of what is below. A layer that is not recursive has one child.
    pub fn vk_commit(&self, below: Below) -> VkCommit<F> {
        self.child_of(below).vk_commit
    }

    fn child_of(&self, below: Below) -> &DeviceChild<E> {
        match (below, &self.own) {
            (Below::Own, Some(own)) => own,
            _ => &self.child,
        }
    }

    /// Brings the traces of a node to the device, where the cached one is.
    pub fn upload(&self, traces: HostTraces, below: Below) -> ProvingContext<E::PB> {
        let child = self.child_of(below);
        upload(&self.uploader, &self.device_key, traces, child)
    }
}

/// Brings the traces of a circuit above `child` to the device of a key.
pub(super) fn upload<E: SdkEngine>(
    uploader: &Uploader<E>,
    key: &DeviceMultiStarkProvingKey<E::PB>,
    traces: HostTraces,
    child: &DeviceChild<E>,
) -> ProvingContext<E::PB> {
    let per_trace = traces
        .into_iter()
        .zip(&key.per_air)
        .map(|(ctx, air)| {
            let mut ctx = uploader.air(ctx);
            let cached = air.vk.params.width.cached_mains.iter();
            ctx.cached_mains = cached.map(|_| child.trace.clone()).collect();
            ctx
        })
        .enumerate()
        .collect();
    ProvingContext { per_trace }
}
