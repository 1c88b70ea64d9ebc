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

impl<E: SdkEngine> AggregationKeys<E> {
    /// Generates the keys. `order` is that of the rows of nodes' traces, `hook` is [`Deferrals::hook_cached_commit`](crate::Deferrals) of the
    /// deferral circuits whose computations nodes may join with an execution.
    ///
    /// # Errors
    /// If the parameters do not go together, or the device refuses.
    pub fn generate(
        station: &Station<E>,
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        config: &AggregationConfig,
        order: RowOrder,
        hook: Option<Digest>,
    ) -> Result<Self, SdkError> {
        let params = &config.params;
        let sources = [&params.leaf, &params.internal, &params.internal];
        let sources = sources.map(|params| KeySource::Params(params.clone()));
        Self::new(station, app_vk, sources, order, hook)
    }

    /// Takes keys that were made together before. `order` and `hook` are those of [`generate`](Self::generate). The leaves' key alone is made once more, to
    /// compare it: it is that which depends on the application. Keys of other layers that were made for another hook are refused when a proof is verified.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] if they belong to another application, or the device refuses.
    pub fn load(
        station: &Station<E>,
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
        Self::new(station, app_vk, sources, order, hook)
    }

    /// Work that fits on the device at the same time. No room for traces of segments is counted: whoever proves those has a key
    /// of their own.
    pub(crate) fn capacity(&self) -> Capacity {
        Capacity::of(&self.station, &self.leaf.engine, 0)
    }

    fn new(
        station: &Station<E>,
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
        // Each circuit verifies proofs of the one before. A device commits to the keys meanwhile.
        thread::scope(|scope| {
            let engine = station.engine(leaf.params().clone())?;
            let name = "the leaf key";
            let circuit = NodeCircuit::new(&engine, name, app_vk, leaf, false, order, kind)?;
            let circuit = Arc::new(circuit);
            let vk = circuit.vk.clone();
            let leaf = Layer::spawn(scope, station, engine, circuit);

            let engine = station.engine(internal_for_leaf.params().clone())?;
            let name = "the internal-for-leaf key";
            let circuit =
                NodeCircuit::new(&engine, name, vk, internal_for_leaf, false, order, kind)?;
            let circuit = Arc::new(circuit);
            let vk = circuit.vk.clone();
            let internal_for_leaf = Layer::spawn(scope, station, engine, circuit);

            let engine = station.engine(internal_recursive.params().clone())?;
            let name = "the internal-recursive key";
            let circuit =
                NodeCircuit::new(&engine, name, vk, internal_recursive, true, order, kind)?;
            let internal_recursive = Layer::spawn(scope, station, engine, Arc::new(circuit));
            Ok(Self {
                station: station.clone(),
                leaf: leaf.join().expect("panics are errors")?,
                internal_for_leaf: internal_for_leaf.join().expect("panics are errors")?,
                internal_recursive: internal_recursive.join().expect("panics are errors")?,
            })
        })
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

    /// Bits of security of the weakest of the three layers.
    pub fn security_bits(&self) -> f64 {
        let circuits = [
            &self.leaf.circuit.vk,
            &self.internal_for_leaf.circuit.vk,
            &self.internal_recursive.circuit.vk,
        ];
        circuits
            .map(|vk| security_bits(vk))
            .into_iter()
            .fold(f64::INFINITY, f64::min)
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
