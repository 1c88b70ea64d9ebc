//! The GKR input layer: every interaction at every row, stacked, lifted and normalised.

use std::ops::Range;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalError};
use openvm_stark_backend::prover::stacked_pcs::StackedLayout;
use p3_field::{Field, PrimeCharacteristicRing};

use super::{
    columns::{ColumnKernel, ColumnPass, ColumnTables, CELLS},
    eval_field::EvalField,
    generated::SectionTables,
    interpreter::{EvalPass, EvalTables},
    plan::{Plan, ProgramId, Resident},
};
use crate::{
    error::MetalProverError,
    gkr::FracLayer,
    kernels,
    params::{ConstraintColumnJob, ConstraintEvalJob, ConstraintLeaf},
    prelude::{montgomery, EF, F},
};

/// Largest number of leaves filled by one dispatch.
const FILL: usize = 1 << 30;

/// `count * 2^-(l_skip - log_height)`: what lifting multiplies a trace's counts by.
pub fn norm_factor(l_skip: usize, log_height: usize) -> F {
    F::from_usize(1 << l_skip.saturating_sub(log_height)).inverse()
}

/// The leaves of all interactions, planned from the shapes.
pub struct LeavesPlan {
    /// For each interaction its first leaf, bus and length.
    slots: Vec<(usize, u32, u32)>,
    columns: ColumnTables,
    evals: EvalTables,
    passes: usize,
    arena_words: u64,
    /// Leaves of interactions; the others are padding.
    end: usize,
}

impl LeavesPlan {
    /// Plans as many passes as `scratch_words` requires.
    pub fn new(
        plan: &Plan,
        layout: &StackedLayout,
        scratch_words: u64,
    ) -> Result<Self, MetalProverError> {
        let l_skip = plan.input.l_skip;
        let (mut slots, mut column_passes, mut eval_passes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut columns, mut evals) = (ColumnPass::default(), EvalPass::default());
        let (mut used, mut arena_words) = (0u64, 0u64);
        for (t, trace) in plan.traces.iter().enumerate() {
            let programs = plan.input.traces[t].air_data.programs();
            if programs.interactions.is_empty() {
                continue;
            }
            let first_leaf = slots.len() as u32;
            for (i, &(bus, len)) in programs.interactions.iter().enumerate() {
                let slice = layout.get(t, i).ok_or_else(|| {
                    MetalProverError::internal(
                        "leaves",
                        format!("no slot for interaction {i} of {t}"),
                    )
                })?;
                slots.push((slice.row_idx, bus, len));
            }
            let log_rows = trace.log_height.max(l_skip);
            let variables = programs.logup_variables.max(1) as u64;
            let mut log_chunk = log_rows;
            while log_chunk > 6 && variables << log_chunk > scratch_words {
                log_chunk -= 1;
            }
            for chunk in 0..1u64 << (log_rows - log_chunk) {
                let words = variables << log_chunk;
                if used > 0 && used + words > scratch_words {
                    column_passes.push(std::mem::take(&mut columns));
                    eval_passes.push(std::mem::take(&mut evals));
                    used = 0;
                }
                let first_row = chunk << log_chunk;
                let rows = 1u32 << log_chunk;
                let copied = ConstraintColumnJob {
                    dst: used,
                    log_points: log_chunk as u32,
                    first_point: first_row as u32,
                    height_mask: (1u32 << trace.log_height) - 1,
                    column_stride: rows,
                    ..Default::default()
                };
                for set in &trace.logup_sets {
                    columns.push(&set.columns, copied);
                }
                let job = ConstraintEvalJob {
                    arena: used,
                    partials: first_row,
                    points: rows,
                    column_stride: rows,
                    leaves: first_leaf,
                    norm: montgomery(norm_factor(l_skip, trace.log_height)),
                    ..Default::default()
                };
                let resources = plan.resources(t, ProgramId::Leaves);
                let jobs = plan.jobs(t, ProgramId::Leaves, plan.sections(1 << log_rows), job);
                evals
                    .jobs
                    .extend(jobs.into_iter().map(|job| (resources, job)));
                used += words;
                arena_words = arena_words.max(used);
            }
        }
        column_passes.push(columns);
        eval_passes.push(evals);
        let last = layout.sorted_cols.last();
        Ok(Self {
            slots,
            passes: eval_passes.len(),
            columns: ColumnTables::new(column_passes, CELLS),
            evals: EvalTables::new(
                plan.execution(),
                eval_passes,
                EvalField::Base,
                SectionTables::default(),
            ),
            arena_words,
            end: last.map_or(0, |(_, _, slice)| slice.row_idx + slice.len(0)),
        })
    }

    /// Evaluates the `2^log_len` leaves: a copy of the columns and one evaluation for each pass. The host is to take over layers of
    /// `2^log_host` nodes or fewer.
    pub fn evaluate(
        self,
        s: &CommandStream,
        plan: &Plan,
        resident: &Resident,
        log_len: usize,
        (alpha, beta_powers): (EF, &[EF]),
        log_host: usize,
    ) -> Result<FracLayer, MetalProverError> {
        let leaf = |&(first, bus, len): &(usize, u32, u32)| ConstraintLeaf {
            constant_term: alpha + beta_powers[len as usize] * F::from_u32(bus + 1),
            first: first as u64,
            unused: 0,
        };
        let table: Vec<ConstraintLeaf> = self.slots.iter().map(leaf).collect();
        let mut layer = FracLayer::uninit(s.context(), log_len)?;
        let (columns, evals) = (self.columns.upload(s)?, self.evals.upload(s)?);
        let powers = MetalBuffer::from_host(s, beta_powers)?;
        let table = MetalBuffer::from_host(s, &table)?;
        let mut arena = MetalBuffer::uninit(s.context(), (self.arena_words as usize).max(1))?;
        for pass in 0..self.passes {
            columns.encode(s, plan, resident, pass, ColumnKernel::Gather, &mut arena)?;
            resident
                .interpreter
                .leaves(s, &evals, pass, &powers, &arena, &table, &mut layer)?;
        }
        let end = layer.pad(self.end, alpha, log_host);
        fill(s, &mut layer, self.end..end, alpha)?;
        Ok(layer)
    }
}

/// 0 / alpha in a range of leaves.
fn fill(
    s: &CommandStream,
    layer: &mut FracLayer,
    leaves: Range<usize>,
    alpha: EF,
) -> Result<(), MetalError> {
    let (p, q) = layer.parts_mut();
    let mut begin = leaves.start;
    while begin < leaves.end {
        let end = leaves.end.min(begin + FILL);
        let (count, grid) = ((end - begin) as u32, Grid::threads(end - begin));
        let (p, q) = (p.slice_mut(begin..end), q.slice_mut(begin..end));
        kernels::constraint_fill_leaves(s, grid, p, q, &alpha, &count)?;
        begin = end;
    }
    Ok(())
}
