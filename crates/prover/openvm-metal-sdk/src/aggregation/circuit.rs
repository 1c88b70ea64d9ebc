//! `NodeCircuit`: the circuit of one kind of node, its keys, and how the host makes its nodes' traces.

use std::sync::Arc;

use openvm_continuations::{
    circuit::{
        deferral::{
            hook::{
                DeferralHookCircuit, DeferralHookPreCtx, DeferralHookTraceGen,
                DeferralHookTraceGenImpl, DeferralIoCommit,
            },
            inner::{
                DeferralInnerCircuit, DeferralInnerPreCtx, DeferralInnerTraceGen,
                DeferralInnerTraceGenImpl,
            },
        },
        inner::{InnerCircuit, InnerTraceGen, InnerTraceGenImpl, ProofsType},
        Circuit, SubCircuitTraceData,
    },
    VkCommitBytes,
};
use openvm_cpu_backend::CpuBackend;
use openvm_recursion_circuit::system::{AggregationSubCircuit, VerifierConfig, VerifierSubCircuit};
use openvm_stark_backend::{
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    proof::Proof,
    AirRef, StarkEngine, SystemParams,
};
use openvm_verify_stark_host::pvs::{DeferralPvs, VkCommit};

use super::{
    child::Child,
    rows,
    verifier::{External, HostTraces, Verifier},
};
use crate::{
    engine::CpuEngine,
    error::{guard, SdkError, Stage},
    files,
    poseidon2::State,
    prelude::{Digest, F, SC},
    row_order::RowOrder,
};

/// Kind of the proofs that a node verifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Below {
    /// Proofs of segments.
    App,
    /// Proofs of the layer below.
    Layer,
    /// Proofs of this layer itself.
    Own,
}

/// Kind of a circuit around the verifier.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    /// Nodes of a tree. With deferral circuits they know the commitment to the trace of the key below the hook.
    Tree { hook: Option<Digest> },
    /// Nodes over the proofs of one deferral circuit.
    Deferred,
    /// The hook over the last of those nodes: the commitment to the trace of their key under their own parameters.
    Hook { own: Digest },
}

/// Work of a node besides the verification of the proofs below it.
pub(super) enum Over {
    /// Joins executions, deferred computations, or both. In place of a missing proof there are the values of its circuits, and true if
    /// it is the left one.
    Tree {
        proofs: ProofsType,
        absent: Option<(DeferralPvs<F>, bool)>,
    },
    /// Joins the calls of one deferral circuit: the depth of the tree of calls below the proofs, unless there is one proof that is only
    /// verified.
    Deferred { depth: Option<usize> },
    /// Folds the commitments to inputs and outputs of all calls of a deferral circuit, which are in order.
    Hook(Vec<DeferralIoCommit<F>>),
}

impl Over {
    /// Joins a part of an execution.
    pub fn execution() -> Self {
        Self::tree(ProofsType::Vm)
    }

    /// Joins proofs of this type, of which none is missing.
    pub fn tree(proofs: ProofsType) -> Self {
        Self::Tree {
            proofs,
            absent: None,
        }
    }
}

/// Traces of the AIRs around the verifier, with their lookups in its tables.
struct Around {
    before: HostTraces,
    after: HostTraces,
    permuted: Vec<State>,
    compressed: Vec<State>,
    ranges: Vec<usize>,
    powers: Vec<usize>,
}

/// Source of a layer's key.
pub(super) enum KeySource {
    Params(SystemParams),
    /// Made before, for these circuits or for others: their key is made once more and compared.
    Key(Arc<MultiStarkProvingKey<SC>>),
    /// Made together with the key of the layer below, which was compared. The key below decides the circuits, so that it is enough
    /// that their AIRs go together.
    Above(Arc<MultiStarkProvingKey<SC>>),
}

impl KeySource {
    pub fn params(&self) -> &SystemParams {
        match self {
            Self::Params(params) => params,
            Self::Key(key) | Self::Above(key) => &key.params,
        }
    }
}

/// The circuit of a kind of node that verifies up to `N` proofs. Devices share it.
pub(super) struct NodeCircuit<const N: usize> {
    /// The nodes know a hook, and have traces for deferred computations.
    has_hook: bool,
    verifier: Verifier,
    /// Names of the AIRs, in their order.
    names: Vec<String>,
    order: RowOrder,
    pub key: Arc<MultiStarkProvingKey<SC>>,
    pub vk: Arc<MultiStarkVerifyingKey<SC>>,
    pub child: Child,
    /// This layer as its own child.
    pub own: Option<Child>,
}

impl<const N: usize> NodeCircuit<N> {
    /// The circuit above proofs of `child_vk`; `recursive` if it also verifies its own proofs.
    pub fn new(
        name: &'static str,
        child_vk: Arc<MultiStarkVerifyingKey<SC>>,
        source: KeySource,
        recursive: bool,
        order: RowOrder,
        kind: Kind,
    ) -> Result<Self, SdkError> {
        let stage = || Stage::AggregationKeygen;
        let (buses, airs) = guard(stage(), || {
            let config = VerifierConfig {
                continuations_enabled: true,
                ..VerifierConfig::default()
            };
            let verifier = VerifierSubCircuit::<N>::new_with_options(child_vk.clone(), config);
            let buses = verifier.bus_inventory().clone();
            (buses, airs_around(Arc::new(verifier), kind, &child_vk))
        })?;
        let key = || match source {
            KeySource::Params(params) => guard(stage(), || Arc::new(keygen(params, &airs).0)),
            KeySource::Key(key) => {
                check_key(name, &airs, &key)?;
                let (_, own) = guard(stage(), || keygen(key.params.clone(), &airs))?;
                check_constraints(name, &own, &key)?;
                Ok(key)
            }
            KeySource::Above(key) => {
                check_key(name, &airs, &key)?;
                Ok(key)
            }
        };
        let key = key()?;
        let names: Vec<String> = airs.iter().map(|air| air.name()).collect();
        if order == RowOrder::Sorted {
            for air in rows::SORTED {
                if names.iter().filter(|name| *name == air).count() != 1 {
                    return Err(SdkError::Unsupported(format!(
                        "sorting rows of a verifier circuit that has no AIR of the name {air}"
                    )));
                }
            }
        }
        let vk = Arc::new(key.get_vk());
        let verifier = guard(stage(), || Verifier::new(&child_vk, &buses, N))?;
        Ok(Self {
            verifier,
            has_hook: matches!(kind, Kind::Tree { hook: Some(_) }),
            names,
            order,
            key,
            child: Child::new(child_vk),
            own: recursive.then(|| Child::new(vk.clone())),
            vk,
        })
    }

    /// The child that a node's proofs belong to.
    fn below(&self, below: Below, stage: &Stage) -> Result<&Child, SdkError> {
        match below {
            Below::App | Below::Layer => Ok(&self.child),
            Below::Own => self.own.as_ref().ok_or_else(|| SdkError::Panicked {
                stage: stage.clone(),
                device: None,
                message: "a layer that is not recursive was given its own proofs".into(),
            }),
        }
    }

    /// The traces of a node, without the cached one, that verifies `proofs`, whose key has the commitment `vk_commit`. They do not depend on
    /// a device.
    pub fn traces(
        &self,
        proofs: &[Proof<SC>],
        below: Below,
        vk_commit: VkCommit<F>,
        over: &Over,
        stage: &Stage,
    ) -> Result<HostTraces, SdkError> {
        let child = self.below(below, stage)?;
        guard(stage.clone(), || {
            let mut traces = self.traces_as_made(proofs, below, child, vk_commit, over);
            if self.order == RowOrder::Sorted {
                for (name, trace) in self.names.iter().zip(&mut traces) {
                    rows::sort(name, &mut trace.common_main);
                }
            }
            traces
        })
    }

    fn traces_as_made(
        &self,
        proofs: &[Proof<SC>],
        below: Below,
        child: &Child,
        vk_commit: VkCommit<F>,
        over: &Over,
    ) -> HostTraces {
        let around = self.around(proofs, below, vk_commit, over);
        let external = External {
            permuted: &around.permuted,
            compressed: &around.compressed,
            ranges: &around.ranges,
            powers: &around.powers,
        };
        let sub = self.verifier.traces(&child.vk, proofs, &external);
        around
            .before
            .into_iter()
            .chain(sub)
            .chain(around.after)
            .collect()
    }

    /// The traces of the AIRs around the verifier.
    ///
    /// # Panics
    /// Proofs without the public values that the node expects.
    fn around(
        &self,
        proofs: &[Proof<SC>],
        below: Below,
        vk_commit: VkCommit<F>,
        over: &Over,
    ) -> Around {
        let is_app = below == Below::App;
        match over {
            Over::Tree {
                proofs: kind,
                absent,
            } => {
                let maker = InnerTraceGenImpl {
                    deferral_enabled: self.has_hook,
                };
                let made: SubCircuitTraceData<CpuBackend<SC>> = maker
                    .generate_pre_verifier_subcircuit_ctxs(
                        proofs,
                        *kind,
                        *absent,
                        is_app,
                        vk_commit,
                        &(),
                    );
                let after: HostTraces =
                    maker.generate_post_verifier_subcircuit_ctxs(proofs, *kind, is_app, &());
                Around {
                    before: made.air_proving_ctxs,
                    after,
                    permuted: made.poseidon2_permute_inputs,
                    compressed: made.poseidon2_compress_inputs,
                    ranges: made.range_check_inputs,
                    powers: vec![],
                }
            }
            Over::Deferred { depth } => {
                let made: DeferralInnerPreCtx<CpuBackend<SC>> = DeferralInnerTraceGenImpl
                    .pre_verifier_subcircuit_tracegen(proofs, !is_app, vk_commit, *depth, &());
                Around {
                    before: vec![made.verifier_pvs_ctx, made.def_pvs_ctx, made.input_ctx],
                    after: vec![],
                    permuted: made.poseidon2_permute_inputs,
                    compressed: made.poseidon2_compress_inputs,
                    ranges: made.range_check_inputs,
                    powers: vec![],
                }
            }
            Over::Hook(commits) => {
                let made: DeferralHookPreCtx<CpuBackend<SC>> = DeferralHookTraceGenImpl
                    .pre_verifier_subcircuit_tracegen(&proofs[0], commits.clone(), &());
                Around {
                    before: vec![made.verifier_pvs_ctx, made.decommit_ctx, made.onion_ctx],
                    after: vec![],
                    permuted: made.poseidon2_permute_inputs,
                    compressed: made.poseidon2_compress_inputs,
                    ranges: made.range_check_inputs,
                    powers: made.power_check_inputs,
                }
            }
        }
    }
}

/// The keys of a circuit. No device is needed for them.
fn keygen(
    params: SystemParams,
    airs: &[AirRef<SC>],
) -> (MultiStarkProvingKey<SC>, MultiStarkVerifyingKey<SC>) {
    CpuEngine::new(params).keygen(airs)
}

/// The AIRs of a circuit of this kind around a verifier of proofs of `child_vk`.
fn airs_around<const N: usize>(
    verifier: Arc<VerifierSubCircuit<N>>,
    kind: Kind,
    child_vk: &MultiStarkVerifyingKey<SC>,
) -> Vec<AirRef<SC>> {
    match kind {
        Kind::Tree { hook } => InnerCircuit::new(verifier, hook.map(Into::into)).airs(),
        Kind::Deferred => DeferralInnerCircuit::new(verifier).airs(),
        Kind::Hook { own } => {
            let commit = VkCommitBytes {
                cached_commit: own.into(),
                vk_pre_hash: child_vk.pre_hash.into(),
            };
            DeferralHookCircuit::new(verifier, commit).airs()
        }
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

/// Compares everything else of a circuit with what a key was made for: circuits above different applications may have the
/// same AIRs with other constraints.
fn check_constraints(
    what: &'static str,
    own: &MultiStarkVerifyingKey<SC>,
    key: &MultiStarkProvingKey<SC>,
) -> Result<(), SdkError> {
    let bytes = |vk| files::to_bytes("a verifying key", vk);
    if bytes(own)? != bytes(&key.get_vk())? {
        return Err(SdkError::ForeignKey {
            what,
            reason: "it was made above the proofs of another application, whose parameters or extensions are others".into(),
        });
    }
    Ok(())
}
