//! `Child`: the verifying key that the proofs below a node belong to, committed on the device.

use std::sync::Arc;

use openvm_cpu_backend::CpuBackend;
use openvm_recursion_circuit::batch_constraint::commit_child_vk;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey, prover::CommittedTraceData, StarkEngine, SystemParams,
};
use openvm_verify_stark_host::pvs::VkCommit;

use crate::{
    engine::{CpuEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::{F, SC},
};

/// A child's verifying key. Its constraints are the cached trace of a node.
pub(super) struct Child<E: SdkEngine> {
    pub vk: Arc<MultiStarkVerifyingKey<SC>>,
    pub trace: CommittedTraceData<E::PB>,
    /// The same trace with a commitment of its own, for OpenVM's trace generation, which passes it through.
    pub host: CommittedTraceData<CpuBackend<SC>>,
}

impl<E: SdkEngine> Child<E> {
    pub fn new(engine: &E, vk: Arc<MultiStarkVerifyingKey<SC>>) -> Result<Self, SdkError> {
        let stage = Stage::AggregationKeygen;
        // The library gives the trace only together with a commitment and panics if that fails. So the
        // host commits with the cheapest parameters, and the device commits with its own below.
        let host = guard(stage.clone(), || {
            let engine = CpuEngine::new(cheapest_params(&vk));
            commit_child_vk(&engine, &vk, true)
        })?;
        let trace = E::upload(engine.device(), host.trace.clone());
        let (commitment, data) = engine.commit(&trace).map_err(SdkError::engine(stage))?;
        Ok(Self {
            vk,
            trace: CommittedTraceData {
                commitment,
                trace,
                data: Arc::new(data),
            },
            host,
        })
    }

    pub fn vk_commit(&self) -> VkCommit<F> {
        VkCommit {
            cached_commit: self.trace.commitment,
            vk_pre_hash: self.vk.pre_hash,
        }
    }
}

/// Parameters under which the trace of a verifying key fills one stacked matrix of its own height.
fn cheapest_params(vk: &MultiStarkVerifyingKey<SC>) -> SystemParams {
    let rows: usize = vk
        .inner
        .per_air
        .iter()
        .map(|air| {
            let dag = &air.symbolic_constraints;
            let messages: usize = dag.interactions.iter().map(|i| i.message.len() + 2).sum();
            dag.constraints.nodes.len() + messages + air.unused_variables.len()
        })
        .sum();
    let log_height = rows.next_power_of_two().ilog2() as usize;
    let mut params = vk.inner.params.clone();
    params.l_skip = params.l_skip.min(log_height);
    params.n_stack = log_height - params.l_skip;
    params.log_blowup = 1;
    params.w_stack = usize::MAX;
    params
}
