//! Sizes of a proof that memory depends on.

use std::{cmp::Reverse, collections::BTreeMap};

use openvm_stark_backend::{
    calculate_n_logup,
    prover::{DeviceMultiStarkProvingKey, ProvingContext},
};

use super::{BASE, DIGEST};
use crate::{
    backend::MetalBackend,
    commit::{copied_cells, TraceShape},
};

/// Sizes of a proof that memory depends on.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProofShape {
    pub l_skip: usize,
    pub log_height: usize,
    pub log_blowup: usize,
    pub k_whir: usize,
    /// Cells of all traces that are not views of a stacked matrix.
    pub trace_cells: u64,
    /// Cells of the stacked common main matrix.
    pub common_cells: u64,
    /// Cells of the common main traces that the commitment copies.
    pub copied_cells: u64,
    /// Cells of the stacked matrices that were committed before the proof.
    pub committed_cells: u64,
    /// Cells of all trace parts after the first fold by `2^l_skip`, rotations counted again.
    pub folded_cells: u64,
    /// Fractions of the GKR input layer.
    pub fractions: u64,
    /// Rows over all distinct trace heights.
    pub distinct_rows: u64,
}

impl ProofShape {
    /// The shape of a checked input.
    pub fn new(
        mpk: &DeviceMultiStarkProvingKey<MetalBackend>,
        ctx: &ProvingContext<MetalBackend>,
    ) -> Self {
        let params = &mpk.params;
        let l_skip = params.l_skip;
        let mut shape = Self {
            l_skip,
            log_height: params.log_stacked_height(),
            log_blowup: params.log_blowup,
            k_whir: params.k_whir(),
            ..Self::default()
        };
        let mut heights = BTreeMap::new();
        let mut interactions = 0;
        let mut common = Vec::with_capacity(ctx.per_trace.len());
        for (air_id, air) in &ctx.per_trace {
            let pk = &mpk.per_air[*air_id];
            let log_height = air.common_main.height().max(1).ilog2() as usize;
            let lifted = log_height.max(l_skip);
            let mut columns = air.common_main.width();
            common.push(TraceShape {
                log_height,
                width: columns,
            });
            shape.trace_cells += air.common_main.num_cells() as u64;
            for part in pk.preprocessed_data.iter().chain(&air.cached_mains) {
                columns += part.trace.width();
                shape.committed_cells += part.data.num_cells();
                if log_height < l_skip {
                    shape.trace_cells += part.trace.num_cells() as u64;
                }
            }
            let openings = 1 + u64::from(pk.vk.params.need_rot);
            shape.folded_cells += openings * ((columns as u64) << (lifted - l_skip));
            interactions += (pk.vk.num_interactions() as u64) << lifted;
            heights.insert(log_height, 1u64 << lifted);
        }
        shape.distinct_rows = heights.values().sum();
        if interactions > 0 {
            shape.fractions = 1 << (l_skip + calculate_n_logup(l_skip, interactions));
        }
        common.sort_by_key(|shape| Reverse(shape.log_height));
        let cells: u64 = common.iter().map(|shape| shape.stacked_cells(l_skip)).sum();
        shape.common_cells = cells.next_multiple_of(1 << shape.log_height);
        shape.copied_cells = copied_cells(&common, l_skip, shape.common_cells);
        shape
    }

    /// Codewords and digests of stacked matrices of this many cells.
    pub fn code_bytes(&self, cells: u64) -> u64 {
        let leaves = (1u64 << (self.log_height + self.log_blowup)) >> self.k_whir;
        (cells << self.log_blowup) * BASE + 2 * leaves * DIGEST
    }
}
