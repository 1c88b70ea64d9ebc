//! `AggregationKeys`: the three layers above one application key.

use std::sync::Arc;

use openvm_recursion_circuit::{system::check_param_compatibility, utils::poseidon2_hash_slice};
use openvm_sdk::{
    config::{AggregationConfig, MAX_NUM_CHILDREN_INTERNAL, MAX_NUM_CHILDREN_LEAF},
    keygen::{AggPrefixProvingKey, AggProvingKey},
};
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, SystemParams};
use openvm_verify_stark_host::pvs::VkCommit;

use super::layer::{KeySource, Layer};
use crate::{
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    prelude::{Digest, F, SC},
};

/// The aggregation circuits above the proofs of one application key, with their keys on a device.
pub struct AggregationKeys<E: SdkEngine> {
    pub(super) leaf: Layer<E, MAX_NUM_CHILDREN_LEAF>,
    pub(super) internal_for_leaf: Layer<E, MAX_NUM_CHILDREN_INTERNAL>,
    pub(super) internal_recursive: Layer<E, MAX_NUM_CHILDREN_INTERNAL>,
}

impl<E: SdkEngine> AggregationKeys<E> {
    /// Generates the keys.
    ///
    /// # Errors
    /// If the parameters do not go together, or the device refuses.
    pub fn generate(
        device: &E::Device,
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        config: &AggregationConfig,
    ) -> Result<Self, SdkError> {
        let params = &config.params;
        Self::new(
            device,
            app_vk,
            KeySource::Params(params.leaf.clone()),
            KeySource::Params(params.internal.clone()),
            KeySource::Params(params.internal.clone()),
        )
    }

    /// Takes keys that were made before.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] if they belong to another application, or the device refuses.
    pub fn load(
        device: &E::Device,
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        key: AggProvingKey,
    ) -> Result<Self, SdkError> {
        Self::new(
            device,
            app_vk,
            KeySource::Key(key.prefix.leaf),
            KeySource::Key(key.prefix.internal_for_leaf),
            KeySource::Key(key.internal_recursive),
        )
    }

    fn new(
        device: &E::Device,
        app_vk: Arc<MultiStarkVerifyingKey<SC>>,
        leaf: KeySource,
        internal_for_leaf: KeySource,
        internal_recursive: KeySource,
    ) -> Result<Self, SdkError> {
        let (app, l, i) = (&app_vk.inner.params, &leaf, &internal_for_leaf);
        guard(Stage::AggregationKeygen, || {
            check_param_compatibility(app, params(l), params(i))
        })
        .map_err(|_| {
            SdkError::Config(
                "the parameters of application, leaf and internal circuits do not go together: \
                 proof-of-work bits must be zero in all or in none, and leaf and internal circuits \
                 need the same number of WHIR rounds"
                    .into(),
            )
        })?;
        let leaf = Layer::new(device, "the leaf key", app_vk, leaf, false)?;
        let internal_for_leaf = Layer::new(
            device,
            "the internal-for-leaf key",
            leaf.vk().clone(),
            internal_for_leaf,
            false,
        )?;
        let internal_recursive = Layer::new(
            device,
            "the internal-recursive key",
            internal_for_leaf.vk().clone(),
            internal_recursive,
            true,
        )?;
        Ok(Self {
            leaf,
            internal_for_leaf,
            internal_recursive,
        })
    }

    /// The keys in cargo-openvm's form.
    pub fn proving_key(&self) -> AggProvingKey {
        AggProvingKey {
            prefix: AggPrefixProvingKey {
                leaf: self.leaf.key().clone(),
                internal_for_leaf: self.internal_for_leaf.key().clone(),
            },
            internal_recursive: self.internal_recursive.key().clone(),
        }
    }

    /// What verifies an aggregated proof.
    pub fn verifying_key(&self) -> &Arc<MultiStarkVerifyingKey<SC>> {
        self.internal_recursive.vk()
    }

    /// The commitment to the verifying key of the application.
    pub fn app_vk_commit(&self) -> VkCommit<F> {
        self.leaf.child().vk_commit()
    }

    /// The commitment to the verifying key of the leaves.
    pub fn leaf_vk_commit(&self) -> VkCommit<F> {
        self.internal_for_leaf.child().vk_commit()
    }

    /// The commitment to the verifying key of the internal-for-leaf nodes.
    pub fn internal_for_leaf_vk_commit(&self) -> VkCommit<F> {
        self.internal_recursive.child().vk_commit()
    }

    /// The commitment to the verifying key of the internal-recursive nodes.
    ///
    /// # Panics
    /// Never: the internal-recursive layer is its own child.
    pub fn internal_recursive_vk_commit(&self) -> VkCommit<F> {
        let own = self.internal_recursive.own();
        own.expect("the internal-recursive layer is its own child")
            .vk_commit()
    }

    /// The commitment to the virtual machine: configuration of the application, the leaves and the
    /// internal-for-leaf nodes.
    pub fn app_vm_commit(&self) -> Digest {
        let commits = [
            self.app_vk_commit(),
            self.leaf_vk_commit(),
            self.internal_for_leaf_vk_commit(),
        ];
        let parts: Vec<F> = commits
            .iter()
            .flat_map(|c| c.cached_commit.into_iter().chain(c.vk_pre_hash))
            .collect();
        poseidon2_hash_slice(&parts).0
    }
}

fn params(source: &KeySource) -> &SystemParams {
    match source {
        KeySource::Params(params) => params,
        KeySource::Key(key) => &key.params,
    }
}
