//! `Child` and `DeviceChild`: the verifying key that the proofs below a node belong to, on the host and as a trace that is
//! committed on a device.

use std::sync::Arc;

use openvm_metal_common::{Device, MetalContext};
use openvm_recursion_circuit::batch_constraint::commit_child_vk;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey,
    p3_matrix::dense::RowMajorMatrix,
    prover::{CommittedTraceData, StridedColMajorMatrixView},
    StarkEngine, SystemParams,
};
use openvm_verify_stark_host::pvs::VkCommit;

use crate::{
    devices::Station,
    engine::{EngineError, MetalEngine, SdkEngine},
    error::{guard, SdkError, Stage},
    prelude::{F, SC},
    slot::Slot,
};

/// A child's verifying key. Its constraints are the cached trace of a node.
pub(super) struct Child {
    pub vk: Arc<MultiStarkVerifyingKey<SC>>,
    trace: Slot<RowMajorMatrix<F>>,
}

impl Child {
    /// A key whose trace is not made yet.
    pub fn new(vk: Arc<MultiStarkVerifyingKey<SC>>) -> Self {
        Self {
            vk,
            trace: Slot::new(None),
        }
    }

    /// The key as a trace, made at the first call, with the help of a GPU if there is one.
    fn trace(&self, gpu: Option<MetalContext>) -> Result<Arc<RowMajorMatrix<F>>, SdkError> {
        self.trace.get_or_try(|| Self::make_trace(&self.vk, gpu))
    }

    fn make_trace(
        vk: &MultiStarkVerifyingKey<SC>,
        gpu: Option<MetalContext>,
    ) -> Result<RowMajorMatrix<F>, SdkError> {
        // The library gives the trace only together with a commitment and panics if that fails. So it is committed
        // with the cheapest parameters, by our kernels, and by each device with the layer's.
        let stage = || Stage::AggregationKeygen;
        let context = gpu.map_or_else(|| MetalEngine::connect(&Device::Cpu, 0), Ok);
        let context = context.map_err(SdkError::engine(stage()))?;
        let params = cheapest_params(vk);
        let engine = MetalEngine::open(params, &context).map_err(SdkError::engine(stage()))?;
        let trace = guard(stage(), || commit_child_vk(&engine, vk, true).trace)?;
        let cells = engine.device().download(&trace).map_err(EngineError::new);
        let cells = cells.map_err(SdkError::engine(stage()))?;
        let columns = StridedColMajorMatrixView::new(&cells, trace.width(), 1);
        Ok(columns.to_row_major_matrix())
    }
}

/// The trace of a child's verifying key on a device.
pub(super) struct DeviceChild<E: SdkEngine> {
    pub trace: CommittedTraceData<E::PB>,
    pub vk_commit: VkCommit<F>,
}

impl<E: SdkEngine> DeviceChild<E> {
    pub fn new(station: &Station<E>, engine: &E, child: &Child) -> Result<Self, SdkError> {
        let trace = child.trace(engine.gpu())?;
        let trace = station
            .commit(engine, trace.as_ref().clone())
            .map_err(SdkError::engine(Stage::AggregationKeygen))?;
        Ok(Self {
            vk_commit: VkCommit {
                cached_commit: trace.commitment,
                vk_pre_hash: child.vk.pre_hash,
            },
            trace,
        })
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
