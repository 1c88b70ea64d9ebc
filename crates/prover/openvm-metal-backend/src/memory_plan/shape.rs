//! Sizes of a proof that memory depends on.

use std::{cmp::Reverse, collections::BTreeMap};

use openvm_metal_common::DeviceProfile;
use openvm_stark_backend::{
    calculate_n_logup,
    prover::{DeviceMultiStarkProvingKey, ProvingContext},
};

use super::{kept_codewords, plannable};
use crate::{
    backend::MetalBackend,
    commit::{copied_cells, overlap_bytes, scratch_columns, CommitParams, TraceShape},
    config::ConstraintKernels,
    constraints::{target_points, worth_a_launch, AirDataMetal, EvalField, PlannedSections},
    device::MetalDevice,
    error::MetalProverError,
    hash::{absorbed_bytes, digests_below_leaves, HashScheme},
    kept_codewords::KeptCodewords,
    memory::{MemoryEstimate, BASE, DIGEST},
    programs::{SumProgram, Variable},
};

/// Sizes of a sum's program that need memory.
#[derive(Clone, Debug)]
pub(super) struct SumShape {
    /// Cosets on which it is evaluated in round 0.
    pub cosets: u64,
    /// Points of X at which it is evaluated in a round over the hypercube.
    pub degree: u64,
    pub accumulators: u64,
    /// Most sections that it can be cut into.
    pub blocks: u64,
    /// The instructions.
    pub instructions: u64,
    /// Values that it has no registers for.
    pub spills: u64,
    /// Sections of the kernels that are written for it, by field.
    pub kernels: [PlannedSections; 2],
}

/// Sizes of an AIR's programs that need memory.
#[derive(Clone, Debug)]
pub(super) struct TracePrograms {
    /// Variables of the hypercube after the skip.
    pub n_lift: usize,
    /// Columns (of this row or the next) and selectors that the programs read.
    pub variables: u64,
    /// Variables that interactions read.
    pub logup_variables: u64,
    /// Columns of the folded arena: the variables and all others.
    pub folded_columns: u64,
    /// Constraints and interactions, by degree.
    pub sums: Vec<SumShape>,
    /// Most sections that the program of the leaves can be cut into, and values that it has no registers for.
    pub leaf_blocks: u64,
    pub leaf_spills: u64,
    /// There are interactions.
    pub interacts: bool,
}

impl TracePrograms {
    fn new(air_data: &AirDataMetal, n_lift: usize) -> Self {
        let programs = air_data.programs();
        let local = |v: &&Variable| matches!(v, Variable::Column { next: false, .. });
        let variables = programs.variables.len() as u64;
        let read = programs.variables.iter().filter(local).count() as u64;
        let columns: u64 = programs.part_widths.iter().map(|&width| width as u64).sum();
        let sum = |(sum, kernels): (&SumProgram, [PlannedSections; 2])| SumShape {
            cosets: sum.cosets() as u64,
            degree: sum.degree as u64,
            accumulators: u64::from(sum.accumulators),
            blocks: (sum.program.blocks.len() as u64).max(1),
            instructions: sum.program.code.len() as u64,
            spills: u64::from(sum.program.spills),
            kernels,
        };
        let sums = programs.sums.iter().zip(air_data.planned_sections());
        Self {
            n_lift,
            variables: variables.max(1),
            logup_variables: (programs.logup_variables as u64).max(1),
            folded_columns: variables + columns.saturating_sub(read),
            sums: sums.map(sum).collect(),
            leaf_blocks: (programs.leaves.blocks.len() as u64).max(1),
            leaf_spills: u64::from(programs.leaves.spills),
            interacts: !programs.interactions.is_empty(),
        }
    }
}

/// Sizes of a proof that memory depends on.
#[derive(Clone, Debug)]
pub(super) struct ProofShape {
    pub l_skip: usize,
    pub log_height: usize,
    pub log_blowup: usize,
    pub k_whir: usize,
    pub whir_rounds: usize,
    /// Over all AIRs of the key.
    pub degree: u64,
    pub profile: DeviceProfile,
    /// Bytes that the proof can be planned with.
    pub budget: u64,
    /// Kernels of rules run wherever they can.
    pub kernels_always: bool,
    /// Cells of all traces that are not views of a stacked matrix.
    pub trace_cells: u64,
    /// Cells of the stacked common main matrix.
    pub common_cells: u64,
    /// Cells of the common main traces that the commitment copies.
    pub copied_cells: u64,
    /// Cells of the stacked matrices that were committed before the proof, and their number.
    pub committed_cells: u64,
    pub committed_parts: u64,
    /// Codewords of the commitment that are kept.
    pub kept: KeptCodewords,
    /// Columns that a permutation of the hash absorbs.
    pub rate: usize,
    /// Fractions of the GKR input layer.
    pub fractions: u64,
    pub traces: Vec<TracePrograms>,
    /// Bytes of programs and column tables.
    pub tables: u64,
    /// Columns of the trace parts of each height, by its logarithm.
    pub heights: BTreeMap<usize, Vec<u64>>,
}

impl ProofShape {
    /// The shape of a checked input.
    pub fn new<SC: HashScheme>(
        device: &MetalDevice<SC>,
        mpk: &DeviceMultiStarkProvingKey<MetalBackend<SC>>,
        ctx: &ProvingContext<MetalBackend<SC>>,
    ) -> Result<Self, MetalProverError> {
        let params = &mpk.params;
        let l_skip = params.l_skip;
        let s = device.stream()?;
        let mut shape = Self {
            l_skip,
            log_height: params.log_stacked_height(),
            log_blowup: params.log_blowup,
            k_whir: params.k_whir(),
            whir_rounds: params.num_whir_rounds(),
            degree: mpk.max_constraint_degree as u64,
            profile: s.context().device_profile().clone(),
            budget: plannable(device.prover_config(), s.context().device_profile()),
            kernels_always: device.prover_config().constraint_kernels.resolved()?
                == ConstraintKernels::Generated,
            trace_cells: 0,
            common_cells: 0,
            copied_cells: 0,
            committed_cells: 0,
            committed_parts: 0,
            kept: KeptCodewords::All,
            rate: SC::RATE,
            fractions: 0,
            traces: Vec::with_capacity(ctx.per_trace.len()),
            tables: 0,
            heights: BTreeMap::new(),
        };
        let mut interactions = 0;
        let mut common = Vec::with_capacity(ctx.per_trace.len());
        for (air_id, air) in &ctx.per_trace {
            let pk = &mpk.per_air[*air_id];
            let log_height = air.common_main.height().max(1).ilog2() as usize;
            let width = air.common_main.width();
            common.push(TraceShape { log_height, width });
            shape.trace_cells += air.common_main.num_cells() as u64;
            let parts = shape.heights.entry(log_height).or_default();
            parts.push(width as u64);
            for part in pk.preprocessed_data.iter().chain(&air.cached_mains) {
                parts.push(part.trace.width() as u64);
                shape.committed_parts += 1;
                shape.committed_cells += part.data.num_cells();
                if log_height < l_skip {
                    shape.trace_cells += part.trace.num_cells() as u64;
                }
            }
            let air_data = pk.other_data.checked()?;
            let programs = air_data.programs();
            let trace = TracePrograms::new(air_data, log_height.saturating_sub(l_skip));
            let code: usize = programs.all().map(|program| program.code.len()).sum();
            // Weights of interactions: a place and a weight for each, terms of 12 bytes.
            let terms: usize = programs.logup_coefficients.iter().map(Vec::len).sum();
            let places = programs.interactions.len();
            shape.tables += 16 * code as u64 + 64 * (trace.variables + trace.folded_columns);
            shape.tables += 12 * (terms + places) as u64 + 28 * places as u64;
            shape.traces.push(trace);
            interactions += (pk.vk.num_interactions() as u64) << log_height.max(l_skip);
        }
        if interactions > 0 {
            shape.fractions = 1 << (l_skip + calculate_n_logup(l_skip, interactions));
        }
        common.sort_by_key(|shape| Reverse(shape.log_height));
        let cells: u64 = common.iter().map(|shape| shape.stacked_cells(l_skip)).sum();
        shape.common_cells = cells.next_multiple_of(1 << shape.log_height);
        shape.copied_cells = copied_cells(&common, l_skip, shape.common_cells);

        let traces: Vec<_> = ctx.common_main_traces().map(|(_, trace)| trace).collect();
        shape.kept = kept_codewords(
            device.prover_config(),
            &shape.profile,
            CommitParams::from(params),
            &traces,
        );
        Ok(shape)
    }

    /// Columns of the stacked common main matrix.
    pub fn width(&self) -> usize {
        (self.common_cells >> self.log_height) as usize
    }

    /// Bytes of codewords that are dropped from the commitment to the queries.
    pub fn dropped_bytes(&self) -> u64 {
        let dropped = self.width() - self.kept.columns(self.width(), self.rate).len();
        dropped as u64 * self.column_bytes()
    }

    /// Bytes of the codewords that exist at once of those that never exist together.
    pub fn window_bytes(&self) -> u64 {
        self.kept.widest_window(self.width(), self.rate) as u64 * self.column_bytes()
    }

    /// The sponges of all rows.
    pub fn row_sponges(&self) -> u64 {
        absorbed_bytes(1 << (self.log_height + self.log_blowup))
    }

    /// Bytes of a codeword column.
    pub fn column_bytes(&self) -> u64 {
        BASE << (self.log_height + self.log_blowup)
    }

    /// Codewords of stacked matrices of this many cells, and the digests of their trees.
    pub fn code_bytes(&self, cells: u64, trees: u64) -> u64 {
        let leaves = (1u64 << (self.log_height + self.log_blowup)) >> self.k_whir;
        (cells << self.log_blowup) * BASE + trees * 2 * leaves * DIGEST
    }

    /// Digests of the commitment's tree.
    pub fn tree_digests(&self) -> u64 {
        2u64 << (self.log_height + self.log_blowup).saturating_sub(self.k_whir)
    }

    /// Digests below the leaves of the commitment's tree.
    pub fn row_digests(&self) -> u64 {
        let log_code = self.log_height + self.log_blowup;
        let log_rows = self.k_whir.min(log_code);
        digests_below_leaves(&self.profile, log_rows as u32, (log_code - log_rows) as u32)
    }

    /// Bytes that encoding stacked columns takes besides the codewords. Without a cache, windows and kept codewords are scratch memory for each other.
    pub fn encode_scratch(&self) -> u64 {
        let column = self.column_bytes();
        let kept = self.kept.columns(self.width(), self.rate);
        match self.profile.cache {
            0 if matches!(self.kept, KeptCodewords::Last(_)) && !kept.is_empty() => 0,
            0 => {
                let log_rows = self.log_height + self.log_blowup;
                let columns = scratch_columns(&self.profile, log_rows, self.k_whir, self.width());
                columns as u64 * column
            }
            cache => {
                let all = (self.common_cells * BASE) << self.log_blowup;
                cache.max(column).min(all)
            }
        }
    }

    /// Bytes that hashing the codewords while they are encoded takes, if it fits beside `others`.
    pub fn overlap(&self, others: u64) -> u64 {
        if let KeptCodewords::Last(_) = self.kept {
            return 0;
        }
        let (log_rows, width) = (self.log_height + self.log_blowup, self.width() as u64);
        let bytes = overlap_bytes(&self.profile, log_rows, width);
        match MemoryEstimate::rounded(others.saturating_add(bytes)) <= self.budget {
            true => bytes,
            false => 0,
        }
    }

    /// Sections of the kernels of a sum at `points` points of each of its cosets, or of each X; 0 where it is interpreted.
    pub fn kernel_sections(&self, sum: &SumShape, field: EvalField, points: u64) -> u64 {
        let evaluations = match field {
            EvalField::Base => sum.cosets,
            EvalField::Extension => sum.degree,
        };
        if self.kernels_always || worth_a_launch(sum.instructions, points, evaluations) {
            sum.kernels[field as usize].most(&self.profile, points, evaluations)
        } else {
            0
        }
    }

    /// Into how many sections programs are cut at most when `points` points are to be evaluated.
    pub fn sections(&self, points: u64) -> u64 {
        let (target, most) = target_points(&self.profile);
        (target as u64)
            .div_ceil(points.max(1))
            .clamp(1, most as u64)
    }
}
