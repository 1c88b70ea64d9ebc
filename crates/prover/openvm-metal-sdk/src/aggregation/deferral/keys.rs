//! `DeferralKeys`: deferral circuits, and the circuits above them, with their keys on a device.

use std::sync::Arc;

use openvm_sdk::{config::AggregationConfig, keygen::AggProvingKey};

use super::{
    super::{
        circuit::{Below, NodeCircuit},
        layer::Layer,
        AggregationKeys, TreeCircuits,
    },
    set::{Branch, NodeSource},
    verify_stark::DeviceVerifier,
    DeferralCircuit, Deferrals, CALLS,
};
use crate::{
    devices::Station,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::Digest,
    verifying_key::security_bits,
};

/// Deferral circuits, and the circuits above them, on a device.
pub(crate) struct DeferralKeys<E: SdkEngine> {
    pub(super) set: Arc<Deferrals>,
    pub(super) branches: Vec<DeviceBranch<E>>,
    pub(super) internal_recursive: Layer<E, CALLS>,
    pub(super) hook: Layer<E, 1>,
    /// The nodes above hooks.
    pub(super) nodes: AggregationKeys<E>,
}

/// The part of one circuit.
pub(super) struct DeviceBranch<E: SdkEngine> {
    pub leaf: Layer<E, CALLS>,
    pub internal_for_leaf: Layer<E, CALLS>,
    /// The circuit itself, if the device proves it.
    pub verifier: Option<DeviceVerifier<E>>,
}

impl<E: SdkEngine> DeferralKeys<E> {
    /// Brings circuits to a device, and makes the keys of the nodes above hooks.
    ///
    /// # Errors
    /// Refusals of the device, [`SdkError::Disagreement`] if it commits otherwise than the device on which the circuits were made.
    pub fn new(station: &Station<E>, set: Arc<Deferrals>) -> Result<Self, SdkError> {
        let branches = set.branches.iter().map(|b| DeviceBranch::new(station, b));
        let branches = branches.collect::<Result<_, _>>()?;
        let hook = bring(station, &set.hook)?;
        let commit = hook.vk_commit(Below::Layer).cached_commit;
        if commit != set.hook_cached_commit() {
            return Err(SdkError::Disagreement {
                stage: Stage::AggregationKeygen,
                device: station.name().to_owned(),
            });
        }
        let vk = set.hook.vk.clone();
        let nodes = match &set.nodes {
            NodeSource::Params(params) => {
                let config = AggregationConfig {
                    params: params.as_ref().clone(),
                };
                TreeCircuits::generate(vk, &config, set.order, Some(commit))
            }
            NodeSource::Key(key) => TreeCircuits::load(vk, key.clone(), set.order, Some(commit)),
        }?;
        Ok(Self {
            branches,
            internal_recursive: bring(station, &set.internal_recursive)?,
            hook,
            nodes: AggregationKeys::new(station, nodes)?,
            set,
        })
    }

    /// The commitment to the hook and the nodes above it, which verifiers expect.
    pub fn hook_commit(&self) -> Digest {
        self.nodes.commit_below()
    }

    /// Number of deferral circuits.
    pub fn circuits(&self) -> usize {
        self.branches.len()
    }

    /// The keys of the nodes above hooks.
    pub fn nodes_key(&self) -> AggProvingKey {
        self.nodes.proving_key()
    }

    /// Compares the last nodes above hooks with those above an application: one node verifies both.
    ///
    /// # Errors
    /// [`SdkError::Config`] if they differ.
    pub fn check_against(&self, keys: &AggregationKeys<E>) -> Result<(), SdkError> {
        match self.nodes.verifying_key().pre_hash == keys.verifying_key().pre_hash {
            true => Ok(()),
            false => Err(SdkError::Config(
                "the aggregation of deferral circuits ends in another key than that of the application: both need the same parameters \
                 (`DeferralSettings::aggregation`, `SdkBuilder::agg_params`)"
                    .into(),
            )),
        }
    }

    /// Bits of security of the weakest circuit.
    pub fn security_bits(&self) -> f64 {
        let set = &self.set;
        let branches = set.branches.iter().flat_map(|branch| {
            let leaf = &branch.prefix.leaf;
            [
                &leaf.child.vk,
                &leaf.vk,
                &branch.prefix.internal_for_leaf.vk,
            ]
        });
        branches
            .chain([&set.internal_recursive.vk, &set.hook.vk])
            .map(|vk| security_bits(vk))
            .fold(self.nodes.security_bits(), f64::min)
    }
}

impl<E: SdkEngine> DeviceBranch<E> {
    fn new(station: &Station<E>, branch: &Branch) -> Result<Self, SdkError> {
        let verifier = match &branch.circuit {
            DeferralCircuit::VerifyStark(circuit) => Some(DeviceVerifier::new(station, circuit)?),
            DeferralCircuit::Other { .. } => None,
        };
        Ok(Self {
            leaf: bring(station, &branch.prefix.leaf)?,
            internal_for_leaf: bring(station, &branch.prefix.internal_for_leaf)?,
            verifier,
        })
    }
}

fn bring<E: SdkEngine, const N: usize>(
    station: &Station<E>,
    circuit: &Arc<NodeCircuit<N>>,
) -> Result<Layer<E, N>, SdkError> {
    let engine = station.engine(circuit.key.params.clone())?;
    let layer = || Layer::bring(station, engine, circuit.clone());
    guard(Stage::AggregationKeygen, layer).and_then(|layer| layer)
}
