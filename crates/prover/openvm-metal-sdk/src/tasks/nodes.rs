//! Nodes of the aggregation, and the proof that they end in.

use std::sync::Arc;

use openvm_circuit::system::memory::{merkle::public_values::UserPublicValuesProof, CHUNK};
use openvm_stark_backend::proof::Proof;
use openvm_verify_stark_host::VmStarkProof;

use super::{Plan, Task, TaskVerifier};
use crate::{
    aggregation::prove_node,
    devices::Fleet,
    engine::SdkEngine,
    error::{guard, SdkError, Stage},
    own_thread::on_own_thread,
    prelude::{F, SC},
    sdk::{MetalSdk, Sdk},
    verification::check_proof,
};

impl MetalSdk {
    /// Proves node `index` of `level`, from 1 on, over the proofs of its children, which are in order.
    ///
    /// # Errors
    /// What the device refuses; [`SdkError::Plan`] if the plan has no such node or it has another number of children.
    pub fn prove_node(
        &self,
        plan: &Plan,
        level: usize,
        index: usize,
        below: &[Proof<SC>],
    ) -> Result<Proof<SC>, SdkError> {
        self.generic_prove_node(plan, level, index, below)
    }
}

impl<E: SdkEngine> Sdk<E> {
    /// [`prove_node`](Self::prove_node) for any engine.
    ///
    /// # Errors
    /// Errors of [`prove_node`](Self::prove_node).
    pub fn generic_prove_node(
        &self,
        plan: &Plan,
        level: usize,
        index: usize,
        below: &[Proof<SC>],
    ) -> Result<Proof<SC>, SdkError> {
        self.check_tasks()?;
        let children = plan.below(level, index)?.len();
        if below.len() != children {
            return Err(SdkError::Plan(format!(
                "{} has {children} children, not {}",
                Task::Node { level, index },
                below.len()
            )));
        }
        let keys = self.all_aggregation_keys()?;
        let keys: Vec<_> = keys.iter().map(Arc::as_ref).collect();
        let stations = self.stations()?;
        let names = stations.iter().map(|station| station.name().to_owned());
        let capacities = keys.iter().map(|keys| keys.capacity());
        let fleet = Fleet::new(names.zip(capacities), self.turns());
        on_own_thread(|| {
            let proved = guard(Stage::Pipeline, || {
                prove_node(&keys, &fleet, (level, index), below, None)
            })??;
            Ok(proved.proof)
        })
    }
}

impl<E: SdkEngine> TaskVerifier<E> {
    /// Makes the proof of the whole execution from the last node and the public values. OpenVM's verifier has accepted it when
    /// this returns.
    ///
    /// # Errors
    /// [`SdkError::Rejected`].
    pub fn assemble(
        &self,
        last: Proof<SC>,
        values: UserPublicValuesProof<CHUNK, F>,
    ) -> Result<VmStarkProof, SdkError> {
        let proof = VmStarkProof {
            inner: last,
            user_pvs_proof: values,
            deferral_merkle_proofs: None,
        };
        check_proof(self.verifying_key(), self.baseline(), &proof)?;
        Ok(proof)
    }
}
