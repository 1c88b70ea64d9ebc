//! Round 0: the sums of constraints and interactions over the hypercube, at the points of cosets of the
//! skip domain.

use openvm_metal_common::{CommandStream, MetalBuffer};

use super::{
    columns::{upload, ColumnKernel, ColumnPass, ColumnPlan},
    evaluator::{EvalPass, EvalPlan, RuleEvaluator},
    plan::{coset_tables, Plan, Which},
    sums::{EqTables, SumPlan},
};
use crate::{
    error::MetalProverError,
    params::{ConstraintColumnJob, ConstraintEvalJob, ConstraintSumJob},
    prelude::EF,
};

/// The sums of one trace: entry `z * cosets + c` belongs to point `g^(c+1) w^z`.
#[derive(Clone, Debug, Default)]
pub struct Round0Sums {
    /// `sum_x eq(xi, x) C(z, x)`; degree - 1 cosets.
    pub zerocheck: Vec<EF>,
    /// Numerators, before the norm factor; degree cosets.
    pub numerator: Vec<EF>,
    /// Denominators without their constant terms.
    pub denominator: Vec<EF>,
}

/// Where the coefficients of a trace's programs are in the coefficient table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Coefficients {
    /// `lambda^k`.
    pub zerocheck: u32,
    pub logup: u32,
}

/// Slots of trace `t`: zerocheck, numerators, denominators.
struct Slots {
    zerocheck: usize,
    numerator: usize,
    denominator: usize,
    cosets: [usize; 2],
}

/// Evaluates all traces in passes of at most `scratch_words` of extended columns: extension, evaluation
/// and sums of a pass are three dispatches (one more for every eight source buffers); one wait in all.
#[allow(clippy::too_many_arguments)]
pub fn round0_sums(
    s: &CommandStream,
    plan: &Plan<'_>,
    evaluator: &dyn RuleEvaluator,
    eq: &EqTables,
    coefficient_table: &MetalBuffer<EF>,
    coefficients: &[Coefficients],
    scratch_words: u64,
) -> Result<Vec<Round0Sums>, MetalProverError> {
    let l_skip = plan.input.l_skip;
    let mut passes: Vec<(ColumnPass, EvalPass)> = Vec::new();
    let (mut columns, mut evals) = (ColumnPass::default(), EvalPass::default());
    let mut sums = SumPlan::default();
    let (mut used, mut arena_words) = (0u64, 0u64);
    let (mut partials, mut partial_words) = (0u64, 0u64);
    let mut num_slots = 0;
    let mut slots = Vec::with_capacity(plan.traces.len());
    for (t, trace) in plan.traces.iter().enumerate() {
        let programs = plan.input.traces[t].air_data.programs();
        let degree = programs.degree;
        let zerocheck_cosets = if programs.zerocheck.is_empty() {
            0
        } else {
            degree.saturating_sub(1)
        };
        let logup_cosets = if programs.logup.is_empty() { 0 } else { degree };
        let mut take = |cosets: usize| {
            num_slots += cosets << l_skip;
            num_slots - (cosets << l_skip)
        };
        slots.push(Slots {
            zerocheck: take(zerocheck_cosets),
            numerator: take(logup_cosets),
            denominator: take(logup_cosets),
            cosets: [zerocheck_cosets, logup_cosets],
        });
        let cosets = zerocheck_cosets.max(logup_cosets);
        if cosets == 0 {
            continue;
        }
        let rows = programs.variables.len().max(1) as u64;
        let words = |log_chunk: usize| (rows * cosets as u64) << (l_skip + log_chunk);
        let mut log_chunk = trace.n_lift;
        while log_chunk > 4 && words(log_chunk) > scratch_words {
            log_chunk -= 1;
        }
        let points = 1u32 << (l_skip + log_chunk);
        let parts = plan.parts(cosets << (l_skip + log_chunk));
        for chunk in 0..1u32 << (trace.n_lift - log_chunk) {
            if used > 0 && used + words(log_chunk) > scratch_words {
                passes.push((std::mem::take(&mut columns), std::mem::take(&mut evals)));
                sums.end_pass();
                (used, partials) = (0, 0);
            }
            let first_point = chunk << log_chunk;
            let coset_stride = rows * u64::from(points);
            let job = ConstraintColumnJob {
                dst: used,
                coset_stride,
                log_points: log_chunk as u32,
                first_point,
                height_mask: (1u32 << trace.log_height) - 1,
                row_stride: points,
                ..Default::default()
            };
            for (set, cosets) in [
                (&trace.logup_set, cosets),
                (&trace.zerocheck_set, zerocheck_cosets),
            ] {
                if cosets > 0 {
                    columns.push(
                        set,
                        ConstraintColumnJob {
                            cosets: cosets as u32,
                            ..job
                        },
                    );
                }
            }
            let mut evaluate = |which: Which, c: usize, accumulators: u32, first: u32| {
                let job = ConstraintEvalJob {
                    arena: used + c as u64 * coset_stride,
                    partials,
                    points,
                    row_stride: points,
                    plane_stride: points,
                    coefficients: first,
                    accumulators,
                    ..Default::default()
                };
                let jobs = plan.split(t, which, parts, job);
                let run_stride = 4 * accumulators * points;
                let runs = jobs.len() as u32;
                for (accumulator, slot) in match which {
                    Which::Zerocheck => vec![(0, slots[t].zerocheck)],
                    _ => vec![(0, slots[t].denominator), (1, slots[t].numerator)],
                } {
                    let num_cosets = slots[t].cosets[usize::from(which == Which::Logup)];
                    for z in 0..1usize << l_skip {
                        let sum = ConstraintSumJob {
                            partials: partials
                                + 4 * accumulator * u64::from(points)
                                + ((z as u64) << log_chunk),
                            plane_stride: points,
                            length: 1 << log_chunk,
                            runs,
                            run_stride,
                            weights: eq.level(trace.n_lift, 0) + first_point,
                            unused: 0,
                        };
                        sums.push(slot + z * num_cosets + c, sum);
                    }
                }
                partials += u64::from(runs) * u64::from(run_stride);
                evals.jobs.extend(jobs);
                evals.resources = evals.resources.max(plan.resources(t, which));
            };
            for c in 0..zerocheck_cosets {
                evaluate(Which::Zerocheck, c, 1, coefficients[t].zerocheck);
            }
            for c in 0..logup_cosets {
                evaluate(Which::Logup, c, 2, coefficients[t].logup);
            }
            used += words(log_chunk);
            arena_words = arena_words.max(used);
            partial_words = partial_words.max(partials);
        }
    }
    passes.push((columns, evals));
    sums.end_pass();

    let max_cosets = slots
        .iter()
        .flat_map(|slots| slots.cosets)
        .max()
        .unwrap_or(0);
    let tables = upload(s, &coset_tables(l_skip, max_cosets))?;
    let (column_passes, eval_passes): (Vec<_>, Vec<_>) = passes.into_iter().unzip();
    let num_passes = eval_passes.len();
    let column_plan = ColumnPlan::new(s, column_passes)?;
    let eval_plan = EvalPlan::new(s, eval_passes, 1)?;
    let mut sums = sums.upload(s)?;
    let mut arena = MetalBuffer::uninit(s.context(), (arena_words as usize).max(1))?;
    let mut partials = MetalBuffer::uninit(s.context(), (partial_words as usize).max(1))?;
    for pass in 0..num_passes {
        let extend = ColumnKernel::Extend(&tables);
        column_plan.run(
            s,
            pass,
            extend,
            l_skip,
            &plan.sources,
            &plan.columns,
            &mut arena,
        )?;
        evaluator.base(
            s,
            &eval_plan,
            pass,
            coefficient_table,
            &arena,
            &mut partials,
        )?;
        sums.run(s, pass, &partials, eq)?;
    }
    let mut values = vec![EF::default(); num_slots];
    sums.read(s, 0..num_passes, &mut values)?;
    Ok(slots
        .iter()
        .map(|slots| {
            let [zerocheck, logup] = slots.cosets.map(|cosets| cosets << l_skip);
            let range = |first: usize, len: usize| values[first..first + len].to_vec();
            Round0Sums {
                zerocheck: range(slots.zerocheck, zerocheck),
                numerator: range(slots.numerator, logup),
                denominator: range(slots.denominator, logup),
            }
        })
        .collect())
}
