//! Deferral circuits of an SDK.

use std::{borrow::Borrow, sync::Arc};

use openvm_circuit::arch::instructions::{exe::VmExe, DEFERRAL_AS};
use openvm_sdk::{keygen::AggProvingKey, DeferralInput};
use openvm_stark_backend::{
    p3_field::{PrimeCharacteristicRing, PrimeField32},
    proof::Proof,
    SystemParams,
};
use openvm_stark_sdk::config::internal_params_with_100_bits_security;
use openvm_verify_stark_host::{
    deferral::DeferralMerkleProofs,
    pvs::{DeferralPvs, DEF_PVS_AIR_ID},
};

use super::{MetalSdk, Sdk};
use crate::{
    aggregation::{Aggregated, AggregationKeys, DeferralKeys, Verifies, VerifyStark},
    engine::SdkEngine,
    error::SdkError,
    options::ProveOptions,
    prelude::{Digest, F, SC},
    system::{MemoryTree, SpaceDigests},
    verifying_key::require,
};

/// Digests that stand for levels of the memory that the deferred computations' own tree has.
const BELOW: Digest = [F::ZERO; 8];

impl MetalSdk {
    /// Makes the deferral circuit that verifies this SDK's aggregated proofs, of any program, as number `index` of the circuits of another
    /// machine. Without `params` it has OpenVM's.
    ///
    /// A circuit above an SDK with [`Deferrals::aware`](crate::Deferrals::aware), whose settings are those of the other machine's circuits, also verifies
    /// proofs of that machine's own programs.
    ///
    /// # Errors
    /// Errors of keys.
    pub fn verify_stark(
        &self,
        params: Option<SystemParams>,
        index: usize,
    ) -> Result<VerifyStark, SdkError> {
        let params = params.unwrap_or_else(internal_params_with_100_bits_security);
        VerifyStark::make(self.verifies(index)?, params, self.order)
    }

    /// The aggregation keys above the deferral circuits in OpenVM's form, with which [`Deferrals::load`](crate::Deferrals::load) makes them no
    /// more. Nothing without deferral circuits.
    ///
    /// # Errors
    /// Errors of keys.
    pub fn deferral_agg_pk(&self) -> Result<Option<AggProvingKey>, SdkError> {
        Ok(self.deferral_keys()?.map(|keys| keys.nodes_key()))
    }

    /// The commitment to the hook of the deferral circuits, which is part of baselines. Nothing without deferral circuits.
    ///
    /// # Errors
    /// Errors of keys.
    pub fn hook_commit(&self) -> Result<Option<Digest>, SdkError> {
        Ok(self.deferral_keys()?.map(|keys| keys.hook_commit()))
    }

    fn verifies(&self, index: usize) -> Result<Verifies, SdkError> {
        let keys = self.aggregation_keys()?;
        let system = &self.app_config.app_vm_config.system.config;
        Ok(Verifies {
            vk: keys.verifying_key().clone(),
            cached_commit: keys.internal_recursive_vk_commit().cached_commit,
            memory: system.memory_config.memory_dimensions(),
            public_values: system.num_public_values,
            hook_commit: self.hook_commit()?,
            index,
        })
    }
}

impl<E: SdkEngine> Sdk<E> {
    /// Refuses programs with deferral circuits that are not given: they cannot be aggregated.
    ///
    /// # Errors
    /// [`SdkError::Unsupported`].
    pub(crate) fn check_deferral(&self) -> Result<(), SdkError> {
        match (&self.app_config.app_vm_config.deferral, &self.deferrals) {
            (Some(_), None) => Err(SdkError::Unsupported(
                "aggregation of programs with deferral circuits without these: set `SdkBuilder::deferrals`"
                    .into(),
            )),
            _ => Ok(()),
        }
    }

    /// Refuses single tasks of programs with deferral circuits: their proofs end otherwise.
    ///
    /// # Errors
    /// [`SdkError::Unsupported`].
    pub(crate) fn check_tasks(&self) -> Result<(), SdkError> {
        match self.deferrals {
            None => Ok(()),
            Some(_) => Err(SdkError::Unsupported(
                "single tasks of a proof with deferral circuits".into(),
            )),
        }
    }

    /// Compares the number of inputs with that of the circuits.
    ///
    /// # Errors
    /// [`SdkError::Deferral`].
    pub(crate) fn check_inputs(&self, deferred: &[DeferralInput]) -> Result<(), SdkError> {
        let circuits = self.deferrals.as_ref();
        let circuits = circuits.map_or(0, |deferrals| deferrals.circuits().len());
        match deferred.is_empty() || deferred.len() == circuits {
            true => Ok(()),
            false => Err(SdkError::Deferral(format!(
                "inputs of {} circuits were given, and there are {circuits}: each has its place, also if it is not called",
                deferred.len()
            ))),
        }
    }

    /// The deferral circuits on the first device, if there are any.
    pub(crate) fn deferral_keys(&self) -> Result<Option<Arc<DeferralKeys<E>>>, SdkError> {
        let Some(deferrals) = &self.deferrals else {
            return Ok(None);
        };
        let keys = self.deferral_keys.get_or_try(|| {
            let aggregation = self.generic_aggregation_keys()?;
            let keys = DeferralKeys::new(&self.stations()?[0], deferrals.clone())?;
            keys.check_against(&aggregation)?;
            let bits = keys.security_bits();
            require("the deferral keys", bits, self.min_security_bits)?;
            Ok(keys)
        })?;
        Ok(Some(keys))
    }

    /// Joins the last node over an execution with proofs of what it deferred. Gives paths in the memory too, from the folds of the guest's calls to
    /// the roots before and after the execution. `memory` is the executable and what is known of the memory at the end.
    ///
    /// # Errors
    /// [`SdkError::Deferral`] if there are inputs and no calls or calls and no inputs; those of the circuits, and refusals of the device.
    pub(crate) fn join_deferred(
        &self,
        keys: &AggregationKeys<E>,
        execution: Aggregated,
        memory: (&VmExe<F>, Option<SpaceDigests>),
        deferred: &[DeferralInput],
        options: &ProveOptions<'_>,
    ) -> Result<(Aggregated, Option<DeferralMerkleProofs<F>>), SdkError> {
        let Some(deferral) = self.deferral_keys()? else {
            return Ok((execution, None));
        };
        let (exe, end) = memory;
        let config = &self.app_config.app_vm_config.system.config.memory_config;
        let start = MemoryTree::from_initial_memory(config, &exe.init_memory)
            .map_err(|error| SdkError::Executable(error.to_string()))?
            .space_digests(DEFERRAL_AS);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(SdkError::Config(
                "the memory has no address space of deferral circuits".into(),
            ));
        };
        let is_given = deferred.iter().any(|input| !input.is_empty());
        match (is_given, start.root != end.root) {
            (true, false) => {
                return Err(SdkError::Deferral(
                    "inputs were given, and the guest called no circuit".into(),
                ))
            }
            (false, true) => {
                return Err(SdkError::Deferral(format!(
                    "the guest called some of the {} circuits, and no inputs of its calls were given: `prove_deferred` takes them",
                    deferral.circuits()
                )))
            }
            _ => {}
        }
        let joined = deferral.join(keys, execution, deferred, options)?;
        let depth = depth_of(&joined.proof)?;
        let path = |digests: SpaceDigests| {
            let levels = digests.beside.into_iter().enumerate();
            levels
                .map(|(level, digest)| if level < depth { BELOW } else { digest })
                .collect()
        };
        let paths = DeferralMerkleProofs {
            initial_merkle_proof: path(start),
            final_merkle_proof: path(end),
        };
        Ok((joined, Some(paths)))
    }
}

/// Number of levels of the memory that the deferred computations of a proof fold, 0 if there are none.
fn depth_of(proof: &Proof<SC>) -> Result<usize, SdkError> {
    let values = proof.public_values.get(DEF_PVS_AIR_ID);
    let values = values.filter(|values| values.len() == size_of::<DeferralPvs<u8>>());
    let values = values.ok_or_else(|| {
        SdkError::Deferral("the joined proof lacks the values of deferred computations".into())
    })?;
    let values: &DeferralPvs<F> = values.as_slice().borrow();
    Ok(values.depth.as_canonical_u32() as usize)
}
