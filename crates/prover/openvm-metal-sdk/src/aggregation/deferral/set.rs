//! `Deferrals`: the deferral circuits of a virtual machine, and the circuits above their proofs, on the host.

use std::sync::Arc;

use openvm_circuit::arch::instructions::DEFERRAL_AS;
use openvm_continuations::circuit::deferral::dummy::dummy_deferral_circuit_vk;
use openvm_metal_common::Device;
use openvm_sdk::{
    config::AggregationSystemParams,
    keygen::{AggPrefixProvingKey, AggProvingKey, DeferralCircuitProvingKey, DeferralProvingKey},
};
use openvm_sdk_config::{
    deferral::{DeferralCircuitConfig, DeferralConfig},
    SdkVmConfig,
};
use openvm_stark_backend::{keygen::types::MultiStarkVerifyingKey, SystemParams};
use openvm_stark_sdk::config::hook_params_with_100_bits_security;
use openvm_verify_stark_host::pvs::VkCommit;

use super::{
    super::{
        child::{Child, DeviceChild},
        circuit::{KeySource, Kind, NodeCircuit},
        commits::hash_of_commits,
    },
    DeferralCircuit, CALLS,
};
use crate::{
    cache::Cache,
    devices::Station,
    engine::{CpuEngine, MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::{Digest, F, SC},
    row_order::RowOrder,
};

/// Most deferral circuits of a virtual machine, by OpenVM's instructions.
const MOST_CIRCUITS: usize = 512;

/// Cells of memory that the calls of one circuit fold their inputs and outputs in.
pub(crate) const FOLDS_CELLS: usize = 16;

/// Name of the circuits in errors.
const WHAT: &str = "the deferral keys";

/// Settings of the circuits above the proofs of deferral circuits. What is not set is OpenVM's default.
#[derive(Clone, Debug)]
pub struct DeferralSettings {
    /// Parameters of the nodes: those of the SDK's aggregation.
    pub aggregation: AggregationSystemParams,
    /// Parameters of the hook.
    pub hook: SystemParams,
    /// The order of rows where constraints leave it open.
    pub order: RowOrder,
    /// The cache of commitments to keys.
    pub cache: Cache,
}

impl Default for DeferralSettings {
    fn default() -> Self {
        Self {
            aggregation: AggregationSystemParams::default(),
            hook: hook_params_with_100_bits_security(),
            order: RowOrder::default(),
            cache: Cache::of_user(),
        }
    }
}

/// The deferral circuits of a virtual machine, and the circuits above their proofs. An SDK gets them by
/// [`SdkBuilder::deferrals`](crate::SdkBuilder::deferrals), and brings them to its first device.
///
/// Programs see the circuits by their commitments, so that these are made first: [`config`](Self::config) is what the virtual machine's configuration
/// has to have.
pub struct Deferrals {
    pub(super) branches: Vec<Branch>,
    pub(super) internal_recursive: Arc<NodeCircuit<CALLS>>,
    pub(super) hook: Arc<NodeCircuit<1>>,
    hook_cached_commit: Digest,
    /// Source of the keys of the nodes above hooks.
    pub(super) nodes: NodeSource,
    pub(super) order: RowOrder,
}

/// A deferral circuit, and the layers that only its proofs have above them.
pub(super) struct Branch {
    pub circuit: DeferralCircuit,
    pub prefix: Prefix,
    /// The hash of the commitments to the circuit's key and to those of the layers.
    pub commit: Digest,
}

/// The first two layers above a deferral circuit.
pub(super) struct Prefix {
    pub leaf: Arc<NodeCircuit<CALLS>>,
    pub internal_for_leaf: Arc<NodeCircuit<CALLS>>,
}

/// Source of the keys of the nodes above hooks.
pub(super) enum NodeSource {
    Params(Box<AggregationSystemParams>),
    Key(AggProvingKey),
}

/// Sources of the keys of the circuits up to the hook.
struct Sources {
    prefixes: Vec<[KeySource; 2]>,
    internal_recursive: KeySource,
    hook: KeySource,
}

impl Sources {
    /// Keys to make, for so many circuits.
    fn params(settings: &DeferralSettings, circuits: usize) -> Self {
        let params = |params: &SystemParams| KeySource::Params(params.clone());
        let DeferralSettings {
            aggregation, hook, ..
        } = settings;
        let prefix = || [params(&aggregation.leaf), params(&aggregation.internal)];
        Self {
            prefixes: (0..circuits).map(|_| prefix()).collect(),
            internal_recursive: params(&aggregation.internal),
            hook: params(hook),
        }
    }

    /// Keys that were made before. Those that depend on a circuit, and the hook's, whose constraints name other keys, are made once more and
    /// compared.
    fn keys(keys: DeferralProvingKey) -> Self {
        let prefix = |circuit: DeferralCircuitProvingKey| {
            let AggPrefixProvingKey {
                leaf,
                internal_for_leaf,
            } = circuit.agg_prefix_pk;
            [KeySource::Key(leaf), KeySource::Above(internal_for_leaf)]
        };
        Self {
            prefixes: keys.circuits.into_iter().map(prefix).collect(),
            internal_recursive: KeySource::Above(keys.def_internal_recursive_pk),
            hook: KeySource::Key(keys.def_hook_pk),
        }
    }
}

impl Deferrals {
    /// Makes the keys above these circuits, whose numbers are their places in the list. Commitments are made on `device`.
    ///
    /// # Errors
    /// [`SdkError::Config`] for circuits that do not go together, and refusals of the device.
    pub fn new(
        device: &Device,
        circuits: Vec<DeferralCircuit>,
        settings: &DeferralSettings,
    ) -> Result<Self, SdkError> {
        check_places(&circuits)?;
        let sources = Sources::params(settings, circuits.len());
        Self::on_device(device, circuits, sources, params_of(settings), settings)
    }

    /// Makes the keys for programs that call no deferral circuit, with which proofs have the verifying key of proofs of programs that
    /// do. [`VerifyStark`](super::VerifyStark) verifies proofs of both with such a key. Each process makes them anew.
    ///
    /// # Errors
    /// Refusals of the device.
    pub fn aware(device: &Device, settings: &DeferralSettings) -> Result<Self, SdkError> {
        // The circuits from the internal-recursive one on do not depend on the circuit below. One of no rows is the cheapest.
        let sources = Sources::params(settings, 1);
        Self::on_device(device, vec![], sources, params_of(settings), settings)
    }

    /// Takes keys that were made before for the same circuits: [`proving_key`](Self::proving_key), and
    /// [`MetalSdk::deferral_agg_pk`](crate::MetalSdk::deferral_agg_pk). Of the settings, order and cache are used.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] if they belong to other circuits, and refusals of the device.
    pub fn load(
        device: &Device,
        circuits: Vec<DeferralCircuit>,
        keys: DeferralProvingKey,
        nodes: AggProvingKey,
        settings: &DeferralSettings,
    ) -> Result<Self, SdkError> {
        check_places(&circuits)?;
        let foreign = |reason: String| Err(SdkError::ForeignKey { what: WHAT, reason });
        if keys.circuits.len() != circuits.len() {
            return foreign(format!(
                "they are for {} deferral circuits, and {} are given",
                keys.circuits.len(),
                circuits.len()
            ));
        }
        for (index, (circuit, key)) in circuits.iter().zip(&keys.circuits).enumerate() {
            if circuit.vk()?.pre_hash != key.def_circuit_pk.base_pk.vk_pre_hash {
                return foreign(format!("circuit {index} is another one"));
            }
        }
        let sources = Sources::keys(keys);
        Self::on_device(device, circuits, sources, NodeSource::Key(nodes), settings)
    }

    /// Opens the device, and makes circuits and commitments.
    fn on_device(
        device: &Device,
        circuits: Vec<DeferralCircuit>,
        sources: Sources,
        nodes: NodeSource,
        settings: &DeferralSettings,
    ) -> Result<Self, SdkError> {
        let station = Station::<MetalEngine>::open(device)?.with_cache(settings.cache.clone());
        let maker = Maker {
            station: &station,
            order: settings.order,
        };
        maker.make(circuits, sources, nodes)
    }

    /// The section of the virtual machine's configuration for these circuits.
    pub fn config(&self) -> DeferralConfig {
        let circuits = self.branches.iter().map(|branch| DeferralCircuitConfig {
            def_type: branch.circuit.kind(),
            commit: branch.commit.into(),
        });
        DeferralConfig::new(circuits.collect())
    }

    /// The circuits, by their numbers.
    pub fn circuits(&self) -> impl ExactSizeIterator<Item = &DeferralCircuit> {
        self.branches.iter().map(|branch| &branch.circuit)
    }

    /// The commitment to the trace of the key below the hook, which the aggregation's circuits have in their constraints.
    pub fn hook_cached_commit(&self) -> Digest {
        self.hook_cached_commit
    }

    /// The keys up to the hook's in OpenVM's form.
    ///
    /// # Errors
    /// Errors of circuits that do not give their keys.
    pub fn proving_key(&self) -> Result<DeferralProvingKey, SdkError> {
        let circuits = self.branches.iter().map(|branch| {
            Ok(DeferralCircuitProvingKey {
                def_circuit_pk: branch.circuit.key()?,
                agg_prefix_pk: AggPrefixProvingKey {
                    leaf: branch.prefix.leaf.key.clone(),
                    internal_for_leaf: branch.prefix.internal_for_leaf.key.clone(),
                },
            })
        });
        Ok(DeferralProvingKey {
            circuits: circuits.collect::<Result<_, SdkError>>()?,
            def_internal_recursive_pk: self.internal_recursive.key.clone(),
            def_hook_pk: self.hook.key.clone(),
        })
    }

    /// Compares the circuits with those of a virtual machine's configuration, which may also have none.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] if they differ, [`SdkError::Config`] for a memory without their address space.
    pub(crate) fn check(&self, config: &SdkVmConfig) -> Result<(), SdkError> {
        let spaces = &config.system.config.memory_config.addr_spaces;
        let Some(space) = spaces.get(DEFERRAL_AS as usize) else {
            return Err(SdkError::Config(format!(
                "deferral circuits need address space {DEFERRAL_AS}, and the memory has {}",
                spaces.len()
            )));
        };
        let cells = FOLDS_CELLS * self.branches.len();
        if config.deferral.is_some() && space.num_cells < cells {
            return Err(SdkError::Config(format!(
                "{} deferral circuits need {cells} cells of address space {DEFERRAL_AS}, which has {}: \
                 give the configuration its circuits before it is optimized",
                self.branches.len(),
                space.num_cells
            )));
        }
        match &config.deferral {
            Some(given) if given.circuits != self.config().circuits => Err(SdkError::ForeignKey {
                what: WHAT,
                reason: "the virtual machine's configuration has other deferral circuits".into(),
            }),
            _ => Ok(()),
        }
    }
}

/// Compares the numbers of circuits with their places.
///
/// # Errors
/// [`SdkError::Config`].
fn check_places(circuits: &[DeferralCircuit]) -> Result<(), SdkError> {
    if circuits.is_empty() || circuits.len() > MOST_CIRCUITS {
        return Err(SdkError::Config(format!(
            "a virtual machine has 1 to {MOST_CIRCUITS} deferral circuits, not {}; \
             without any it takes `Deferrals::aware`",
            circuits.len()
        )));
    }
    for (place, circuit) in circuits.iter().enumerate() {
        let index = circuit.index()?;
        if index != place {
            return Err(SdkError::Config(format!(
                "the deferral circuit at place {place} is made for place {index}"
            )));
        }
    }
    Ok(())
}

fn params_of(settings: &DeferralSettings) -> NodeSource {
    NodeSource::Params(Box::new(settings.aggregation.clone()))
}

/// Makes circuits, and commits to keys on a device.
struct Maker<'a, E: SdkEngine> {
    station: &'a Station<E>,
    order: RowOrder,
}

impl<E: SdkEngine> Maker<'_, E> {
    fn make(
        &self,
        circuits: Vec<DeferralCircuit>,
        sources: Sources,
        nodes: NodeSource,
    ) -> Result<Deferrals, SdkError> {
        let keys: Vec<Arc<MultiStarkVerifyingKey<SC>>> = match circuits.is_empty() {
            true => {
                let params = sources.internal_recursive.params().clone();
                let stage = Stage::AggregationKeygen;
                vec![guard(stage, || {
                    dummy_deferral_circuit_vk::<CpuEngine>(params)
                })?]
            }
            false => circuits.iter().map(|c| c.vk()).collect::<Result<_, _>>()?,
        };
        let prefixes = keys.into_iter().zip(sources.prefixes);
        let prefixes: Vec<Prefix> = prefixes
            .map(|(vk, sources)| self.prefix(vk, sources))
            .collect::<Result<_, _>>()?;
        let below = prefixes[0].internal_for_leaf.vk.clone();
        for (place, prefix) in prefixes.iter().enumerate() {
            if prefix.internal_for_leaf.vk.pre_hash != below.pre_hash {
                return Err(SdkError::Config(format!(
                    "the deferral circuits 0 and {place} do not go together: the shapes of their keys differ, so that one circuit cannot \
                     verify the proofs above both"
                )));
            }
        }
        let internal_recursive: Arc<NodeCircuit<CALLS>> = self.layer(
            "the deferral internal-recursive key",
            below,
            sources.internal_recursive,
            true,
            Kind::Deferred,
        )?;
        let own = internal_recursive.own.as_ref();
        let own = own.map(|own| self.commit(&internal_recursive, own));
        let own = own.expect("the layer is its own child")?;
        let hook: Arc<NodeCircuit<1>> = self.layer(
            "the deferral hook key",
            internal_recursive.vk.clone(),
            sources.hook,
            false,
            Kind::Hook {
                own: own.cached_commit,
            },
        )?;
        let last = self.commit(&internal_recursive, &internal_recursive.child)?;
        let branches = circuits.into_iter().zip(prefixes).map(|(circuit, prefix)| {
            let Prefix {
                leaf,
                internal_for_leaf,
            } = &prefix;
            let commit = hash_of_commits([
                self.commit(leaf, &leaf.child)?,
                self.commit(internal_for_leaf, &internal_for_leaf.child)?,
                last,
            ]);
            Ok(Branch {
                circuit,
                commit,
                prefix,
            })
        });
        Ok(Deferrals {
            branches: branches.collect::<Result<_, SdkError>>()?,
            hook_cached_commit: self.commit(&hook, &hook.child)?.cached_commit,
            internal_recursive,
            hook,
            nodes,
            order: self.order,
        })
    }

    /// The first two layers above proofs of a deferral circuit.
    fn prefix(
        &self,
        vk: Arc<MultiStarkVerifyingKey<SC>>,
        [leaf, internal_for_leaf]: [KeySource; 2],
    ) -> Result<Prefix, SdkError> {
        let kind = Kind::Deferred;
        let leaf = self.layer("the deferral leaf key", vk, leaf, false, kind)?;
        let name = "the deferral internal-for-leaf key";
        let below = leaf.vk.clone();
        Ok(Prefix {
            internal_for_leaf: self.layer(name, below, internal_for_leaf, false, kind)?,
            leaf,
        })
    }

    fn layer<const N: usize>(
        &self,
        name: &'static str,
        below: Arc<MultiStarkVerifyingKey<SC>>,
        source: KeySource,
        recursive: bool,
        kind: Kind,
    ) -> Result<Arc<NodeCircuit<N>>, SdkError> {
        let circuit = NodeCircuit::new(name, below, source, recursive, self.order, kind)?;
        Ok(Arc::new(circuit))
    }

    /// The commitment to a key below a circuit.
    fn commit<const N: usize>(
        &self,
        circuit: &NodeCircuit<N>,
        child: &Child,
    ) -> Result<VkCommit<F>, SdkError> {
        let engine = self.station.engine(circuit.key.params.clone())?;
        let child = DeviceChild::new(self.station, &engine, child)
            .map_err(|error| error.on(self.station.name()))?;
        Ok(child.vk_commit)
    }
}
