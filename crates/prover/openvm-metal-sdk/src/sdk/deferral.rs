//! Deferral circuits of an SDK.

use std::sync::Arc;

use openvm_circuit::arch::instructions::{exe::VmExe, DEFERRAL_AS};
use openvm_sdk::{keygen::AggProvingKey, DeferralInput, StdIn};
use openvm_stark_backend::{
    p3_field::{PrimeCharacteristicRing, PrimeField32},
    SystemParams,
};
use openvm_stark_sdk::config::internal_params_with_100_bits_security;
use openvm_verify_stark_host::deferral::DeferralMerkleProofs;

use super::{MetalSdk, Sdk};
use crate::{
    aggregation::{
        folds_of, Aggregated, AggregationKeys, DeferralKeys, DeferredJob, Verifies, VerifyStark,
        FOLDS_CELLS,
    },
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    options::ProveOptions,
    prelude::{Digest, F},
    progress::Event,
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
    /// Refuses programs with deferral circuits that are not given: only aggregation with the circuits proves what they computed.
    ///
    /// # Errors
    /// [`SdkError::Unsupported`].
    pub fn check_deferral(&self) -> Result<(), SdkError> {
        match (&self.app_config.app_vm_config.deferral, &self.deferrals) {
            (Some(_), None) => Err(SdkError::Unsupported(
                "programs with deferral circuits that are not given: only aggregation with the circuits proves what they computed; a Rust \
                 program gives them by `SdkBuilder::deferrals`, the command and Python cannot"
                    .into(),
            )),
            _ => Ok(()),
        }
    }

    /// Compares the circuits that an executable was built for with those of its virtual machine: their commitments are in its initial memory. A
    /// program that calls none of them need not have been built for any.
    ///
    /// # Errors
    /// [`SdkError::Executable`].
    fn check_circuits_of(&self, exe: &VmExe<F>) -> Result<(), SdkError> {
        let Some(config) = &self.app_config.app_vm_config.deferral else {
            return Ok(());
        };
        let commits = config.to_extension().def_circuit_commits;
        for (index, commit) in commits.iter().enumerate() {
            let start = (FOLDS_CELLS * size_of::<F>() * index) as u32;
            let mut bytes = commit.iter().zip(start..);
            let is_same = bytes
                .all(|(byte, at)| exe.init_memory.get(&(DEFERRAL_AS, at)).unwrap_or(&0) == byte);
            if !is_same {
                return Err(SdkError::Executable(format!(
                    "it was built for another deferral circuit {index}: build it again with the configuration of this virtual machine"
                )));
            }
        }
        Ok(())
    }

    /// Refuses single tasks of programs with deferral circuits: their proofs end otherwise.
    ///
    /// # Errors
    /// [`SdkError::Unsupported`].
    pub(crate) fn check_tasks(&self) -> Result<(), SdkError> {
        self.check_deferral()?;
        match self.deferrals {
            None => Ok(()),
            Some(_) => Err(SdkError::Unsupported(
                "single tasks of a proof with deferral circuits".into(),
            )),
        }
    }

    /// Checks the inputs of deferral circuits, that there are results for the guest, and that it was built for these circuits.
    ///
    /// # Errors
    /// [`SdkError::Deferral`], which names circuit and call, and errors of [`check_circuits_of`](Self::check_circuits_of).
    pub(crate) fn check_inputs(
        &self,
        exe: &VmExe<F>,
        input: &StdIn,
        deferred: &[DeferralInput],
        options: &ProveOptions<'_>,
    ) -> Result<(), SdkError> {
        let Some(deferrals) = &self.deferrals else {
            return match deferred {
                [] => Ok(()),
                _ => Err(SdkError::Deferral(
                    "inputs were given, and there are no circuits: `SdkBuilder::deferrals` takes them".into(),
                )),
            };
        };
        let circuits = deferrals.circuits().len();
        if !deferred.is_empty() && deferred.len() != circuits {
            return Err(SdkError::Deferral(format!(
                "inputs of {} circuits were given, and there are {circuits}: each has its place, also if it is not called",
                deferred.len()
            )));
        }
        if !is_given(deferred) {
            return Ok(());
        }
        self.check_circuits_of(exe)?;
        options.progress.event(Event::Preparing {
            work: "deferred inputs",
        });
        if input.deferrals.len() != circuits {
            return Err(SdkError::Deferral(format!(
                "results of {} circuits were given for the guest, and there are {circuits}: `StdIn::deferrals` has the state of each",
                input.deferrals.len()
            )));
        }
        for (index, (circuit, inputs)) in deferrals.circuits().zip(deferred).enumerate() {
            for (call, input) in inputs.byte_vec.iter().enumerate() {
                options.check_cancelled()?;
                let checked = guard(Stage::Verify, || circuit.check(input));
                let checked = checked.unwrap_or_else(|error| Err(error.to_string()));
                checked.map_err(|reason| {
                    SdkError::Deferral(format!(
                        "circuit {index} does not verify the input of call {call}: {reason}"
                    ))
                })?;
            }
        }
        Ok(())
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
    /// [`SdkError::Deferral`] if the inputs are not those of the guest's calls; errors of the circuits, and refusals of the device.
    pub(crate) fn join_deferred(
        &self,
        job: &DeferredJob<'_>,
        keys: &[&AggregationKeys<E>],
        execution: Aggregated,
        memory: (&VmExe<F>, Option<SpaceDigests>),
        deferred: &[DeferralInput],
    ) -> Result<(Aggregated, Option<DeferralMerkleProofs<F>>), SdkError> {
        let Some(deferral) = self.deferral_keys()? else {
            return Ok((execution, None));
        };
        let (exe, end) = memory;
        let deferred = if is_given(deferred) { deferred } else { &[] };
        let config = &self.app_config.app_vm_config.system.config.memory_config;
        let start = MemoryTree::from_initial_memory(config, &exe.init_memory)
            .map_err(|error| SdkError::Executable(error.to_string()))?
            .space_digests(DEFERRAL_AS);
        let (Some(start), Some(end)) = (start, end) else {
            return Err(SdkError::Config(
                "the memory has no address space of deferral circuits".into(),
            ));
        };
        match (!deferred.is_empty(), start.root != end.root) {
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
        // Digests of the memory that a tree of this depth folds.
        let folds = |digests: &SpaceDigests, depth: usize| -> Option<Digest> {
            digests.path.get(depth.checked_sub(1)?).copied()
        };
        let joined = deferral.join(job, keys, execution, deferred, |proved| {
            let depth = proved.depth.as_canonical_u32() as usize;
            let same = folds(&start, depth) == Some(proved.initial_acc_hash)
                && folds(&end, depth) == Some(proved.final_acc_hash);
            match same {
                true => Ok(()),
                false => Err(SdkError::Deferral(
                    "the inputs are not those of the guest's calls: each call needs one, in the order of the calls of its circuit".into(),
                )),
            }
        })?;
        let depth = folds_of(&joined.proof)?.depth.as_canonical_u32() as usize;
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

/// True if there is an input of any circuit.
fn is_given(deferred: &[DeferralInput]) -> bool {
    deferred.iter().any(|input| !input.is_empty())
}
