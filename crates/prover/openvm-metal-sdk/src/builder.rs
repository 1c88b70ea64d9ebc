//! `SdkBuilder`: configuration, parameters and keys of an SDK.

use std::sync::Arc;

use openvm_sdk::{
    config::{
        AggregationSystemParams, AggregationTreeConfig, AppConfig, MAX_NUM_CHILDREN_INTERNAL,
        MAX_NUM_CHILDREN_LEAF,
    },
    keygen::{AggProvingKey, AppProvingKey, RootProvingKey},
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::SystemParams;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security, root_params_with_100_bits_security,
    MAX_APP_LOG_STACKED_HEIGHT,
};

use crate::{
    aggregation::Deferrals,
    cache::Cache,
    engine::SdkEngine,
    error::SdkError,
    executable::Traps,
    files::{config_from_text, ConfigText},
    memory_config, moduli,
    root::RootSource,
    row_order::RowOrder,
    table_sizes,
    verifying_key::MIN_SECURITY_BITS,
};

/// Source of the aggregation keys.
pub(crate) enum AggSource {
    Params(Box<AggregationSystemParams>),
    Key(Arc<AggProvingKey>),
}

/// Settings of an SDK, checked against each other.
pub(crate) struct Settings<E: SdkEngine> {
    pub devices: Vec<E::Device>,
    pub app_config: AppConfig<SdkVmConfig>,
    pub app_pk: Option<AppProvingKey<SdkVmConfig>>,
    pub agg_source: AggSource,
    pub root_source: RootSource,
    pub deferrals: Option<Arc<Deferrals>>,
    pub tree: AggregationTreeConfig,
    /// Cut segments so that they fit the device.
    pub fit_segments: bool,
    pub order: RowOrder,
    pub traces_on_device: Option<bool>,
    pub min_security_bits: f64,
    pub traps: Traps,
    pub cache: Cache,
}

/// Configures an [`Sdk`](crate::Sdk). What is not set is OpenVM's default: 100 bits of security, segments that need at
/// most 15 GiB, half of the device's memory if that is less, or 3/16 of a GPU's own memory if that is more.
pub struct SdkBuilder<E: SdkEngine> {
    devices: Vec<E::Device>,
    vm_config: Option<SdkVmConfig>,
    app_params: Option<SystemParams>,
    app_pk: Option<AppProvingKey<SdkVmConfig>>,
    agg_params: Option<AggregationSystemParams>,
    agg_pk: Option<AggProvingKey>,
    root_params: Option<SystemParams>,
    root_pk: Option<RootProvingKey>,
    deferrals: Option<Arc<Deferrals>>,
    tree: AggregationTreeConfig,
    segment_max_memory: Option<usize>,
    order: RowOrder,
    traces_on_device: Option<bool>,
    min_security_bits: f64,
    traps: Traps,
    cache: Option<Cache>,
}

impl<E: SdkEngine> SdkBuilder<E> {
    pub(crate) fn new(device: E::Device) -> Self {
        Self {
            devices: vec![device],
            vm_config: None,
            app_params: None,
            app_pk: None,
            agg_params: None,
            agg_pk: None,
            root_params: None,
            root_pk: None,
            deferrals: None,
            tree: AggregationTreeConfig::default(),
            segment_max_memory: None,
            order: RowOrder::default(),
            traces_on_device: None,
            min_security_bits: MIN_SECURITY_BITS,
            traps: Traps::default(),
            cache: None,
        }
    }

    /// The devices that prove one job together, in place of the one device. The bytes of proofs do not depend on
    /// them, but where segments are cut does unless [`segment_max_memory`](Self::segment_max_memory) is set: each has
    /// to fit the smallest device.
    pub fn devices(mut self, devices: impl IntoIterator<Item = E::Device>) -> Self {
        self.devices = devices.into_iter().collect();
        self
    }

    /// The order of rows where constraints leave it open.
    pub fn row_order(mut self, order: RowOrder) -> Self {
        self.order = order;
        self
    }

    /// Makes traces on the device where it has kernels for their chips, or all on the host. Unless it is set, GPUs make them. The bytes
    /// of proofs are the same.
    pub fn traces_on_device(mut self, on_device: bool) -> Self {
        self.traces_on_device = Some(on_device);
        self
    }

    /// The bits of security below which keys are refused, [`MIN_SECURITY_BITS`] unless it is set. With 0
    /// all parameters are taken, also those whose proofs can be forged.
    pub fn min_security_bits(mut self, bits: f64) -> Self {
        self.min_security_bits = bits;
        self
    }

    /// Sets the rule for the traps of ELFs: [`Traps::AsCargoOpenvm`] for the commitments of `cargo openvm`.
    pub fn traps(mut self, traps: Traps) -> Self {
        self.traps = traps;
        self
    }

    /// Sets the cache of commitments: [`Cache::of_user`] unless it is set, [`Cache::none`] to make all of them. A verifier makes those that it
    /// compares with: an SDK whose baseline or application commitment goes to verifiers has [`Cache::none`].
    pub fn cache(mut self, cache: Cache) -> Self {
        self.cache = Some(cache);
        self
    }

    /// The extensions of the virtual machine.
    pub fn vm_config(mut self, config: SdkVmConfig) -> Self {
        self.vm_config = Some(config);
        self
    }

    /// Extensions and parameters.
    pub fn app_config(mut self, config: AppConfig<SdkVmConfig>) -> Self {
        self.vm_config = Some(config.app_vm_config);
        self.app_params = Some(config.system_params);
        self
    }

    /// Extensions and, if it has them, parameters from the text of an `openvm.toml`.
    ///
    /// # Errors
    /// See [`config_from_text`].
    pub fn toml(self, text: &str) -> Result<Self, SdkError> {
        Ok(self.config_text(config_from_text(text)?))
    }

    /// Extensions and, if the text has them, parameters.
    pub fn config_text(self, text: ConfigText) -> Self {
        // A text without them leaves them to the key, or to the defaults.
        match text.has_params {
            true => self.app_config(text.config),
            false => self.vm_config(text.config.app_vm_config),
        }
    }

    /// Parameters of the application's circuit.
    pub fn app_params(mut self, params: SystemParams) -> Self {
        self.app_params = Some(params);
        self
    }

    /// The application's proving key, which carries extensions and parameters.
    pub fn app_pk(mut self, key: AppProvingKey<SdkVmConfig>) -> Self {
        self.app_pk = Some(key);
        self
    }

    /// Parameters of the aggregation circuits.
    pub fn agg_params(mut self, params: AggregationSystemParams) -> Self {
        self.agg_params = Some(params);
        self
    }

    /// The aggregation keys, which carry their parameters.
    pub fn agg_pk(mut self, key: AggProvingKey) -> Self {
        self.agg_pk = Some(key);
        self
    }

    /// Parameters of the root circuit.
    pub fn root_params(mut self, params: SystemParams) -> Self {
        self.root_params = Some(params);
        self
    }

    /// The root key, which carries its parameters and the heights of its traces.
    pub fn root_pk(mut self, key: RootProvingKey) -> Self {
        self.root_pk = Some(key);
        self
    }

    /// The deferral circuits. The configuration of the virtual machine has their [`config`](Deferrals::config); without that section the
    /// machine's programs call none of them, and their proofs have the verifying key of those that do. The parameters of aggregation are those of
    /// the circuits.
    pub fn deferrals(mut self, deferrals: Arc<Deferrals>) -> Self {
        self.deferrals = Some(deferrals);
        self
    }

    /// Sets the number of proofs that a node verifies.
    pub fn agg_tree_config(mut self, tree: AggregationTreeConfig) -> Self {
        self.tree = tree;
        self
    }

    /// Cut segments so that the proof of one is estimated to need at most this many bytes.
    pub fn segment_max_memory(mut self, bytes: usize) -> Self {
        self.segment_max_memory = Some(bytes);
        self
    }

    /// Checks what was set against each other and fills in the rest.
    pub(crate) fn settings(self) -> Result<Settings<E>, SdkError> {
        let config = |reason: &str| Err(SdkError::Config(reason.into()));
        if self.devices.is_empty() {
            return config("no device is named");
        }
        if let Some(reason) = E::refusal(&self.devices) {
            return config(&reason);
        }
        let mut app_config = match (&self.app_pk, self.vm_config) {
            (Some(key), given) => {
                let own = key.app_config();
                if given.is_some_and(|given| toml_of(&given) != toml_of(&own.app_vm_config)) {
                    return Err(SdkError::ForeignKey {
                        what: "the application's proving key",
                        reason: "its extensions or their settings are not those of openvm.toml"
                            .into(),
                    });
                }
                if self
                    .app_params
                    .is_some_and(|given| given != own.system_params)
                {
                    return Err(SdkError::ForeignKey {
                        what: "the application's proving key",
                        reason: "its parameters are not the given ones".into(),
                    });
                }
                own
            }
            (None, Some(vm_config)) => {
                let params = self.app_params.unwrap_or_else(|| {
                    app_params_with_100_bits_security(MAX_APP_LOG_STACKED_HEIGHT)
                });
                AppConfig::new(vm_config, params)
            }
            (None, None) => return config("neither extensions nor an application key are set"),
        };
        moduli::check(&app_config.app_vm_config)?;
        table_sizes::check(&app_config.app_vm_config)?;
        memory_config::check(&app_config.app_vm_config.system.config)?;
        if let Some(deferrals) = &self.deferrals {
            deferrals.check(&app_config.app_vm_config)?;
        }
        let agg_source = match (self.agg_pk, self.agg_params) {
            (Some(_), Some(_)) => {
                return config("aggregation keys carry their parameters: set one of both")
            }
            (Some(_), None) if self.app_pk.is_none() => {
                return config("aggregation keys need the application key they were made for")
            }
            (Some(key), None) => AggSource::Key(Arc::new(key)),
            (None, params) => AggSource::Params(Box::new(params.unwrap_or_default())),
        };
        let root_source = match (self.root_pk, self.root_params) {
            (Some(_), Some(_)) => {
                return config("a root key carries its parameters: set one of both")
            }
            (Some(key), None) => RootSource::Key(Arc::new(key)),
            (None, params) => {
                let params = params.unwrap_or_else(root_params_with_100_bits_security);
                RootSource::Params(Box::new(params))
            }
        };
        let tree = self.tree;
        let fits = |n: usize, most: usize| (1..=most).contains(&n);
        if !fits(tree.num_children_leaf, MAX_NUM_CHILDREN_LEAF)
            || !(2..=MAX_NUM_CHILDREN_INTERNAL).contains(&tree.num_children_internal)
        {
            return Err(SdkError::Config(format!(
                "a leaf verifies 1 to {MAX_NUM_CHILDREN_LEAF} proofs and an internal node 2 to \
                 {MAX_NUM_CHILDREN_INTERNAL}, not {} and {}",
                tree.num_children_leaf, tree.num_children_internal
            )));
        }
        if let Some(bytes) = self.segment_max_memory {
            app_config
                .app_vm_config
                .system
                .config
                .set_segmentation_max_memory(bytes);
        }
        Ok(Settings {
            devices: self.devices,
            app_config,
            app_pk: self.app_pk,
            agg_source,
            root_source,
            deferrals: self.deferrals,
            tree,
            fit_segments: self.segment_max_memory.is_none(),
            order: self.order,
            traces_on_device: self.traces_on_device,
            min_security_bits: self.min_security_bits,
            traps: self.traps,
            cache: self.cache.unwrap_or_else(Cache::of_user),
        })
    }
}

fn toml_of(config: &SdkVmConfig) -> Option<String> {
    config.to_toml().ok()
}
