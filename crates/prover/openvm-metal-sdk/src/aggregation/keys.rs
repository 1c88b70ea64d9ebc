//! `AggregationKeys`: the three layers above one application key.

use std::{sync::Arc, thread};

use openvm_recursion_circuit::system::check_param_compatibility;
use openvm_sdk::{
    config::{
        AggregationConfig, AggregationSystemParams, MAX_NUM_CHILDREN_INTERNAL,
        MAX_NUM_CHILDREN_LEAF,
    },
    keygen::{AggPrefixProvingKey, AggProvingKey},
};
use openvm_stark_backend::keygen::types::MultiStarkVerifyingKey;
use openvm_verify_stark_host::pvs::VkCommit;

use super::{
    circuit::{Below, KeySource, Kind, NodeCircuit},
    commits::hash_of_commits,
    layer::Layer,
};
use crate::{
    devices::{Capacity, Station},
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::{Digest, F, SC},
    row_order::RowOrder,
    verifying_key::security_bits,
};

/// The aggregation circuits above the proofs of one application key, with their keys on a device.
pub struct AggregationKeys<E: SdkEngine> {
    pub(super) station: Station<E>,
    pub(super) leaf: Layer<E, MAX_NUM_CHILDREN_LEAF>,
    pub(super) internal_for_leaf: Layer<E, MAX_NUM_CHILDREN_INTERNAL>,
    pub(super) internal_recursive: Layer<E, MAX_NUM_CHILDREN_INTERNAL>,
}

/// The circuits of the three layers above one application key, for which no device is needed.
#[derive(Clone)]
pub(crate) struct TreeCircuits {
    leaf: Arc<NodeCircuit<MAX_NUM_CHILDREN_LEAF>>,
    internal_for_leaf: Arc<NodeCircuit<MAX_NUM_CHILDREN_INTERNAL>>,
    internal_recursive: Arc<NodeCircuit<MAX_NUM_CHILDREN_INTERNAL>>,
}

impl TreeCircuits {
    /// Generates the keys. `order` is that of the rows of nodes' traces, `hook` is [`Deferrals::hook_cached_commit`](crate::Deferrals) of the
    /// deferral circuits whose computations nodes may join with an execution.
    ///
    /// # Errors
    /// [`SdkError::Config`] for parameters that do not go together.
    pub fn generate(
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        config: &AggregationConfig,
        order: RowOrder,
        hook: Option<Digest>,
    ) -> Result<Self, SdkError> {
        let params = &config.params;
        let sources = [&params.leaf, &params.internal, &params.internal];
        let sources = sources.map(|params| KeySource::Params(params.clone()));
        Self::new(app_vk, sources, order, hook)
    }

    /// Takes keys that were made together before. `order` and `hook` are those of [`generate`](Self::generate). The leaves' key alone is made once more, to
    /// compare it: it is that which depends on the application. Keys of other layers that were made for another hook are refused when a proof is verified.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] if they belong to another application.
    pub fn load(
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        key: AggProvingKey,
        order: RowOrder,
        hook: Option<Digest>,
    ) -> Result<Self, SdkError> {
        let sources = [
            KeySource::Key(key.prefix.leaf),
            KeySource::Above(key.prefix.internal_for_leaf),
            KeySource::Above(key.internal_recursive),
        ];
        Self::new(app_vk, sources, order, hook)
    }

    fn new(
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        [leaf, internal_for_leaf, internal_recursive]: [KeySource; 3],
        order: RowOrder,
        hook: Option<Digest>,
    ) -> Result<Self, SdkError> {
        let kind = Kind::Tree { hook };
        let (app, l, i) = (&app_vk.inner.params, &leaf, &internal_for_leaf);
        guard(Stage::AggregationKeygen, || {
            check_param_compatibility(app, l.params(), i.params())
        })
        .map_err(|_| {
            SdkError::Config(
                "the parameters of application, leaf and internal circuits do not go together: \
                 proof-of-work bits must be zero in all or in none, and leaf and internal circuits \
                 need the same number of WHIR rounds"
                    .into(),
            )
        })?;
        // Each circuit verifies proofs of the one before.
        let name = "the leaf key";
        let leaf = Arc::new(NodeCircuit::new(name, app_vk, leaf, false, order, kind)?);
        let name = "the internal-for-leaf key";
        let below = leaf.vk.clone();
        let circuit = NodeCircuit::new(name, below, internal_for_leaf, false, order, kind)?;
        let internal_for_leaf = Arc::new(circuit);
        let name = "the internal-recursive key";
        let below = internal_for_leaf.vk.clone();
        let circuit = NodeCircuit::new(name, below, internal_recursive, true, order, kind)?;
        Ok(Self {
            leaf,
            internal_for_leaf,
            internal_recursive: Arc::new(circuit),
        })
    }

    /// Bits of security of the weakest of the three layers.
    pub fn security_bits(&self) -> f64 {
        let circuits = [
            &self.leaf.vk,
            &self.internal_for_leaf.vk,
            &self.internal_recursive.vk,
        ];
        circuits
            .map(|vk| security_bits(vk))
            .into_iter()
            .fold(f64::INFINITY, f64::min)
    }
}

impl<E: SdkEngine> AggregationKeys<E> {
    /// Brings the circuits to a device, all at the same time.
    ///
    /// # Errors
    /// Refusals of the device.
    pub(crate) fn new(station: &Station<E>, circuits: TreeCircuits) -> Result<Self, SdkError> {
        let TreeCircuits {
            leaf,
            internal_for_leaf,
            internal_recursive,
        } = circuits;
        thread::scope(|scope| {
            let leaf = Layer::spawn(scope, station, leaf);
            let internal_for_leaf = Layer::spawn(scope, station, internal_for_leaf);
            let internal_recursive = Layer::spawn(scope, station, internal_recursive);
            Ok(Self {
                station: station.clone(),
                leaf: leaf.join().expect("panics are errors")?,
                internal_for_leaf: internal_for_leaf.join().expect("panics are errors")?,
                internal_recursive: internal_recursive.join().expect("panics are errors")?,
            })
        })
    }

    /// Work that fits on the device at the same time. No room for traces of segments is counted: whoever proves those has a key
    /// of their own.
    pub(crate) fn capacity(&self) -> Capacity {
        Capacity::of(&self.station, &self.leaf.engine, 0)
    }

    /// The same keys on another device. Circuits and keys of the host are shared.
    ///
    /// # Errors
    /// What that device refuses, or [`SdkError::Disagreement`].
    pub fn on(&self, station: &Station<E>) -> Result<Self, SdkError> {
        Ok(Self {
            station: station.clone(),
            leaf: self.leaf.on(station)?,
            internal_for_leaf: self.internal_for_leaf.on(station)?,
            internal_recursive: self.internal_recursive.on(station)?,
        })
    }

    /// The keys in cargo-openvm's form.
    pub fn proving_key(&self) -> AggProvingKey {
        AggProvingKey {
            prefix: AggPrefixProvingKey {
                leaf: self.leaf.circuit.key.clone(),
                internal_for_leaf: self.internal_for_leaf.circuit.key.clone(),
            },
            internal_recursive: self.internal_recursive.circuit.key.clone(),
        }
    }

    /// Parameters of the circuits.
    pub(crate) fn params(&self) -> AggregationSystemParams {
        AggregationSystemParams {
            leaf: self.leaf.circuit.key.params.clone(),
            internal: self.internal_recursive.circuit.key.params.clone(),
        }
    }

    /// The circuits on the host.
    fn circuits(&self) -> TreeCircuits {
        TreeCircuits {
            leaf: self.leaf.circuit.clone(),
            internal_for_leaf: self.internal_for_leaf.circuit.clone(),
            internal_recursive: self.internal_recursive.circuit.clone(),
        }
    }

    /// Bits of security of the weakest of the three layers.
    pub fn security_bits(&self) -> f64 {
        self.circuits().security_bits()
    }

    /// Verifying key of an aggregated proof.
    pub fn verifying_key(&self) -> &Arc<MultiStarkVerifyingKey<SC>> {
        &self.internal_recursive.circuit.vk
    }

    /// The commitment to the verifying key of the application.
    pub fn app_vk_commit(&self) -> VkCommit<F> {
        self.leaf.vk_commit(Below::App)
    }

    /// The commitment to the verifying key of the leaves.
    pub fn leaf_vk_commit(&self) -> VkCommit<F> {
        self.internal_for_leaf.vk_commit(Below::Layer)
    }

    /// The commitment to the verifying key of the internal-for-leaf nodes.
    pub fn internal_for_leaf_vk_commit(&self) -> VkCommit<F> {
        self.internal_recursive.vk_commit(Below::Layer)
    }

    /// The hash of the commitments to the keys below the internal-recursive nodes: it names a virtual machine, or the hook of deferral circuits.
    pub(crate) fn commit_below(&self) -> Digest {
        hash_of_commits([
            self.app_vk_commit(),
            self.leaf_vk_commit(),
            self.internal_for_leaf_vk_commit(),
        ])
    }

    /// The commitment to the verifying key of the internal-recursive nodes.
    pub fn internal_recursive_vk_commit(&self) -> VkCommit<F> {
        self.internal_recursive.vk_commit(Below::Own)
    }
}
