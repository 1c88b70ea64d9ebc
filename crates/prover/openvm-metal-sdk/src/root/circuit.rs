//! `RootCircuit`: the circuit of root proofs, its key, and OpenVM's maker of its traces.

use std::sync::Arc;

use openvm_circuit::{arch::SystemConfig, system::memory::dimensions::MemoryDimensions};
use openvm_continuations::{prover::RootCpuProver, CommitBytes};
use openvm_cpu_backend::CpuBackend;
use openvm_metal_common::MetalContext;
use openvm_sdk::keygen::RootProvingKey;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, prover::ProvingContext, SystemParams,
};
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::BabyBearBn254Poseidon2CpuEngine;
use openvm_verify_stark_host::VmStarkProof;

use super::RootKeys;
use crate::{
    aggregation::{sort_rows, AggregationKeys},
    engine::MetalEngine,
    error::{guard, SdkError, Stage},
    prelude::{Digest, RootSC, SC},
    row_order::RowOrder,
    verifying_key::check_root_key,
};

/// Traces of the root circuit on the host, row major, in the order of the AIRs.
pub(crate) type RootTraces = ProvingContext<CpuBackend<RootSC>>;

/// Source of the root key.
pub(crate) enum RootSource {
    Params(Box<SystemParams>),
    Key(Arc<RootProvingKey>),
}

/// The root circuit above proofs of an internal-recursive key and a shape of the machine's memory.
pub(crate) struct RootCircuit {
    child: Child,
    /// The order of rows where constraints leave it open.
    order: RowOrder,
    pub(super) prover: RootCpuProver,
}

/// Facts that the circuit is made of.
#[derive(Clone)]
struct Child {
    vk: Arc<MultiStarkVerifyingKey<SC>>,
    commit: CommitBytes,
    memory: MemoryDimensions,
    public_values: usize,
    /// The hook of deferral circuits.
    hook: Option<CommitBytes>,
}

impl Child {
    /// The circuit, its key made anew, and a maker of traces of these heights, or of any.
    fn prover(
        &self,
        params: &SystemParams,
        heights: Option<Vec<usize>>,
    ) -> Result<RootCpuProver, SdkError> {
        guard(Stage::RootKeygen, || {
            RootCpuProver::new::<BabyBearBn254Poseidon2CpuEngine>(
                self.vk.clone(),
                self.commit,
                params.clone(),
                self.memory,
                self.public_values,
                self.hook,
                heights,
            )
        })
    }
}

impl Child {
    /// A maker of traces of these heights, or of any, with the key of another.
    fn prover_of(
        &self,
        other: &RootCpuProver,
        heights: Option<Vec<usize>>,
    ) -> Result<RootCpuProver, SdkError> {
        guard(Stage::RootKeygen, || {
            RootCpuProver::from_pk::<BabyBearBn254Poseidon2CpuEngine>(
                self.vk.clone(),
                self.commit,
                other.get_pk(),
                self.memory,
                self.public_values,
                self.hook,
                heights,
            )
        })
    }
}

impl RootCircuit {
    /// The circuit above the proofs of aggregation keys, which may have used the deferral circuits of a hook. A key that is given is made once more, and
    /// compared.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] for a key of another circuit.
    pub fn new(
        keys: &AggregationKeys<MetalEngine>,
        hook: Option<Digest>,
        system: &SystemConfig,
        source: &RootSource,
        order: RowOrder,
    ) -> Result<Self, SdkError> {
        let child = Child {
            vk: keys.verifying_key().clone(),
            commit: keys.internal_recursive_vk_commit().cached_commit.into(),
            memory: system.memory_config.memory_dimensions(),
            public_values: system.num_public_values,
            hook: hook.map(Into::into),
        };
        let (params, heights) = match source {
            RootSource::Params(params) => (params.as_ref(), None),
            RootSource::Key(key) => (&key.root_pk.params, Some(key.trace_heights.clone())),
        };
        let prover = child.prover(params, heights.clone())?;
        if let (RootSource::Key(key), Some(heights)) = (source, heights) {
            let own = prover.get_vk();
            if own.pre_hash != key.root_pk.vk_pre_hash || own.inner.per_air.len() != heights.len() {
                return Err(SdkError::ForeignKey {
                    what: "the root key",
                    reason: "it was made for other aggregation or deferral circuits, another memory or another number of public values"
                        .into(),
                });
            }
        }
        Ok(Self {
            order,
            prover,
            child,
        })
    }

    /// Compares the bits of security of the key with the least that is accepted.
    ///
    /// # Errors
    /// [`SdkError::Insecure`].
    pub fn check_security(&self, min_security_bits: f64) -> Result<(), SdkError> {
        let vk = self.prover.get_vk();
        check_root_key("the root key", &vk, min_security_bits).map(drop)
    }

    /// True if the heights of the traces are not known.
    pub fn needs_heights(&self) -> bool {
        self.prover.get_trace_heights().is_none()
    }

    /// The same circuit with traces of these heights.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new).
    pub fn with_heights(self, heights: Vec<usize>) -> Result<Self, SdkError> {
        let prover = self.child.prover_of(&self.prover, Some(heights))?;
        Ok(Self { prover, ..self })
    }

    /// Compares a key with the one whose proofs the circuit verifies.
    ///
    /// # Errors
    /// [`SdkError::ForeignKey`] if it is another one.
    pub fn check_child(&self, vk: &MultiStarkVerifyingKey<SC>) -> Result<(), SdkError> {
        match vk.pre_hash == self.child.vk.pre_hash {
            true => Ok(()),
            false => Err(SdkError::ForeignKey {
                what: "the internal-recursive key",
                reason: "it depends on the application, which no root circuit allows".into(),
            }),
        }
    }

    /// The heights of the traces over an aggregated proof, in the order of the AIRs.
    ///
    /// # Errors
    /// A proof that the circuit does not verify.
    pub fn heights(&self, proof: &VmStarkProof) -> Result<Vec<usize>, SdkError> {
        let traces = self.traces(proof)?.ok_or_else(|| SdkError::Panicked {
            stage: Stage::RootKeygen,
            device: None,
            message: "no traces although no heights are asked for".into(),
        })?;
        let heights = traces.per_trace.iter().map(|(_, air)| air.height());
        Ok(heights.collect())
    }

    /// The traces over an aggregated proof. Nothing if it needs more rows than the heights that are asked for.
    ///
    /// # Errors
    /// A proof that the circuit does not verify.
    pub fn traces(&self, proof: &VmStarkProof) -> Result<Option<RootTraces>, SdkError> {
        guard(Stage::Root, || {
            let (inner, values) = (proof.inner.clone(), &proof.user_pvs_proof);
            let paths = proof.deferral_merkle_proofs.as_ref();
            let mut traces = self.prover.generate_proving_ctx::<CpuBackend<RootSC>, _>(
                inner,
                values,
                paths,
                &(),
            )?;
            if self.order == RowOrder::Sorted {
                let airs = &self.prover.get_pk().per_air;
                for ((_, trace), air) in traces.per_trace.iter_mut().zip(airs) {
                    sort_rows(&air.air_name, &mut trace.common_main);
                }
            }
            Some(traces)
        })
    }

    /// The AIRs that need more rows over an aggregated proof than they have: `NAME 2048 of 1024`.
    ///
    /// # Errors
    /// A proof that the circuit does not verify.
    pub fn lacking(&self, proof: &VmStarkProof) -> Result<Vec<String>, SdkError> {
        let any = Self {
            prover: self.child.prover_of(&self.prover, None)?,
            child: self.child.clone(),
            order: self.order,
        };
        let needed = any.heights(proof)?;
        let allowed = self.prover.get_trace_heights().unwrap_or_default();
        let airs = self.prover.get_pk();
        let airs = airs.per_air.iter().zip(needed.into_iter().zip(allowed));
        let lacking = airs.filter(|(_, (needed, allowed))| needed > allowed);
        Ok(lacking
            .map(|(air, (needed, allowed))| format!("{} {needed} of {allowed}", air.air_name))
            .collect())
    }

    /// The circuit with its key on a device.
    ///
    /// # Errors
    /// Refusals of the device.
    pub fn on(self, context: &MetalContext) -> Result<RootKeys, SdkError> {
        guard(Stage::RootKeygen, || RootKeys::new(self, context))
    }
}
