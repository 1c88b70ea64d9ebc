//! The folded traces and the rounds over the hypercube: fold, evaluation and sums of all AIRs are one
//! dispatch each, and a round waits once.

use std::iter;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer};

use super::{
    columns::{upload, ColumnKernel, ColumnPass, ColumnPlan},
    evaluator::{EvalPass, EvalPlan, RuleEvaluator},
    next_openings::NextOpenings,
    plan::{Opening, Plan, Which},
    round0::Coefficients,
    sums::{EqTables, SumPlan, Sums},
};
use crate::{
    error::MetalProverError,
    kernels,
    params::{
        ConstraintColumnJob, ConstraintEvalJob, ConstraintLerpJob, ConstraintLerpParams,
        ConstraintPick, ConstraintSumJob,
    },
    prelude::{EF, F},
};

const BLOCK: u32 = 256;

/// The sums of one trace in one round, each at `X = 1..=degree`, or a single value without weight for a
/// trace whose last variable was folded in the round before; empty afterwards.
#[derive(Clone, Debug, Default)]
pub struct RoundSums {
    pub zerocheck: Vec<EF>,
    /// Before the norm factor.
    pub numerator: Vec<EF>,
    /// Without the constant terms.
    pub denominator: Vec<EF>,
}

struct Fold {
    jobs: std::ops::Range<usize>,
    groups: std::ops::Range<usize>,
    /// Threads of all jobs.
    rows: u64,
}

/// The extension-field arena of all traces and the uploaded jobs of all rounds.
///
/// Row `r` of trace `t` is four planes of `2^n` words (`n` its hypercube variables) from word
/// `fold_base + 4 r 2^n` on, rows in bit-reversed order, folded in place.
pub struct MleRounds {
    arena: MetalBuffer<F>,
    partials: MetalBuffer<F>,
    evals: EvalPlan,
    sums: Sums,
    /// Per round and trace: slots of zerocheck, numerators, denominators.
    slots: Vec<Vec<[std::ops::Range<usize>; 3]>>,
    num_slots: Vec<usize>,
    folds: Vec<Fold>,
    fold_jobs: MetalBuffer<ConstraintLerpJob>,
    fold_groups: MetalBuffer<u32>,
}

impl MleRounds {
    /// Folds the traces by the first challenge (`weights`: L_z(r_0) for z on the skip domain) and
    /// prepares all rounds.
    pub fn new(
        s: &CommandStream,
        plan: &Plan<'_>,
        eq: &EqTables,
        coefficients: &[Coefficients],
        weights: &[EF],
    ) -> Result<Self, MetalProverError> {
        let l_skip = plan.input.l_skip;
        let mut arena = MetalBuffer::uninit(s.context(), plan.fold_words as usize)?;
        let mut pass = ColumnPass::default();
        for trace in &plan.traces {
            let job = ConstraintColumnJob {
                dst: trace.fold_base,
                log_points: trace.n_lift as u32,
                height_mask: (1u32 << trace.log_height) - 1,
                row_stride: 1 << trace.n_lift,
                ..Default::default()
            };
            pass.push(&trace.fold_set, job);
        }
        let weights = upload(s, weights)?;
        let (sources, columns) = (&plan.sources, &plan.columns);
        let fold = ColumnKernel::Fold(&weights);
        ColumnPlan::new(s, vec![pass])?.run(s, 0, fold, l_skip, sources, columns, &mut arena)?;

        let degree = plan.input.max_constraint_degree;
        let n_max = plan
            .traces
            .iter()
            .map(|trace| trace.n_lift)
            .max()
            .unwrap_or(0);
        let (mut passes, mut sums, mut slots) = (Vec::new(), SumPlan::default(), Vec::new());
        let (mut folds, mut fold_jobs, mut fold_groups) = (Vec::new(), Vec::new(), Vec::new());
        let (mut num_slots, mut partial_words) = (Vec::new(), 0u64);
        for round in 1..=n_max {
            let mut pass = EvalPass::default();
            let (mut partials, mut used, mut round_slots) = (0u64, 0, Vec::new());
            let (first_job, first_group) = (fold_jobs.len(), fold_groups.len());
            let points_of = |n: usize| degree << n.saturating_sub(round);
            let total: usize = plan
                .traces
                .iter()
                .filter(|trace| trace.n_lift + 1 >= round)
                .map(|trace| points_of(trace.n_lift))
                .max()
                .unwrap_or(1);
            for (t, trace) in plan.traces.iter().enumerate() {
                let mut trace_slots = [0..0, 0..0, 0..0];
                let n = trace.n_lift;
                if n + 1 >= round {
                    let steps = if n >= round { 1..=degree } else { 0..=0 };
                    let log_points = n.saturating_sub(round);
                    let weights = if n >= round {
                        eq.level(n, round)
                    } else {
                        eq.one(n)
                    };
                    for (which, accumulators) in [(Which::Zerocheck, 1u32), (Which::Logup, 2)] {
                        if plan.program(t, which).is_empty() {
                            continue;
                        }
                        let first = used;
                        let count = steps.clone().count();
                        for (k, step) in steps.clone().enumerate() {
                            let points = 1u32 << log_points;
                            let coefficients = match which {
                                Which::Zerocheck => coefficients[t].zerocheck,
                                _ => coefficients[t].logup,
                            };
                            let job = ConstraintEvalJob {
                                arena: trace.fold_base,
                                partials,
                                points,
                                row_stride: 1 << n,
                                plane_stride: points,
                                coefficients,
                                accumulators,
                                step: step as u32,
                                half_rows: points,
                                ..Default::default()
                            };
                            let jobs = plan.split(t, which, plan.parts(total), job);
                            let (runs, run_stride) = (jobs.len() as u32, 4 * accumulators * points);
                            for accumulator in 0..accumulators as usize {
                                let sum = ConstraintSumJob {
                                    partials: partials
                                        + 4 * (accumulator as u64) * u64::from(points),
                                    plane_stride: points,
                                    length: points,
                                    runs,
                                    run_stride,
                                    weights,
                                    unused: 0,
                                };
                                sums.push(first + accumulator * count + k, sum);
                            }
                            partials += u64::from(runs) * u64::from(run_stride);
                            pass.jobs.extend(jobs);
                        }
                        pass.resources = pass.resources.max(plan.resources(t, which));
                        used += count * accumulators as usize;
                        match which {
                            Which::Zerocheck => trace_slots[0] = first..used,
                            _ => {
                                trace_slots[2] = first..first + count;
                                trace_slots[1] = first + count..used;
                            }
                        }
                    }
                }
                if n >= round {
                    let log_half = n - round;
                    let threads = trace.fold_rows << log_half;
                    let index = (fold_jobs.len() - first_job) as u32;
                    let before = (fold_groups.len() - first_group) as u32;
                    let groups = threads.div_ceil(BLOCK) as usize;
                    fold_groups.extend(std::iter::repeat_n(index, groups));
                    fold_jobs.push(ConstraintLerpJob {
                        arena: trace.fold_base,
                        first_group: before,
                        threads,
                        log_half: log_half as u32,
                        plane_stride: 1 << n,
                    });
                }
                round_slots.push(trace_slots);
            }
            sums.end_pass();
            partial_words = partial_words.max(partials);
            passes.push(pass);
            slots.push(round_slots);
            num_slots.push(used);
            let jobs: &[ConstraintLerpJob] = &fold_jobs[first_job..];
            let rows = jobs.iter().map(|job| u64::from(job.threads)).sum();
            folds.push(Fold {
                jobs: first_job..fold_jobs.len(),
                groups: first_group..fold_groups.len(),
                rows,
            });
        }
        Ok(Self {
            arena,
            partials: MetalBuffer::uninit(s.context(), (partial_words as usize).max(1))?,
            evals: EvalPlan::new(s, passes, 4)?,
            sums: sums.upload(s)?,
            slots,
            num_slots,
            folds,
            fold_jobs: upload(s, &fold_jobs)?,
            fold_groups: upload(s, &fold_groups)?,
        })
    }

    /// Evaluates round `round` (from 1): two dispatches and a wait.
    pub fn evaluate(
        &mut self,
        s: &CommandStream,
        evaluator: &dyn RuleEvaluator,
        eq: &EqTables,
        coefficients: &MetalBuffer<EF>,
        round: usize,
    ) -> Result<Vec<RoundSums>, MetalProverError> {
        let pass = round - 1;
        evaluator.ext(
            s,
            &self.evals,
            pass,
            coefficients,
            &self.arena,
            &mut self.partials,
        )?;
        self.sums.run(s, pass, &self.partials, eq)?;
        let mut values = vec![EF::default(); self.num_slots[pass]];
        self.sums.read(s, pass..pass + 1, &mut values)?;
        let take = |range: &std::ops::Range<usize>| values[range.clone()].to_vec();
        Ok(self.slots[pass]
            .iter()
            .map(|[zerocheck, numerator, denominator]| RoundSums {
                zerocheck: take(zerocheck),
                numerator: take(numerator),
                denominator: take(denominator),
            })
            .collect())
    }

    /// Folds by the challenge of round `round`: one dispatch, no wait.
    pub fn fold(&mut self, s: &CommandStream, round: usize, r: EF) -> Result<(), MetalProverError> {
        let Fold { jobs, groups, rows } = &self.folds[round - 1];
        let grid = Grid::groups(groups.len() as u32, BLOCK);
        let params = ConstraintLerpParams {
            r,
            block: BLOCK,
            unused: [0; 3],
        };
        let (jobs, groups) = (
            self.fold_jobs.slice(jobs.clone()),
            self.fold_groups.slice(groups.clone()),
        );
        // SAFETY: `groups` has a share of a job for each threadgroup, and the jobs fold rows of the arena.
        unsafe {
            kernels::constraint_fold_mle(s, grid, jobs, groups, &mut self.arena, &params, *rows)?;
        }
        Ok(())
    }

    /// The value of every opened column (and rotation) of every part, in the order of the proof; `next`
    /// holds those that are not rows of the arena.
    pub fn openings(
        self,
        s: &CommandStream,
        plan: &Plan<'_>,
        next: &NextOpenings,
    ) -> Result<Vec<Vec<Vec<EF>>>, MetalProverError> {
        let mut picks = Vec::new();
        for trace in &plan.traces {
            let plane_stride = 1u32 << trace.n_lift;
            let rows = trace.openings.iter().flatten();
            picks.extend(rows.filter_map(|&opening| match opening {
                Opening::Row(row) => Some(ConstraintPick {
                    arena: trace.fold_base + 4 * u64::from(row) * u64::from(plane_stride),
                    plane_stride,
                    unused: 0,
                }),
                Opening::Next(_) => None,
            }));
        }
        let count = picks.len() as u32;
        let picks = upload(s, &picks)?;
        let mut out = MetalBuffer::uninit(s.context(), (count as usize).max(1))?;
        if count > 0 {
            let grid = Grid::threads(count as usize);
            // SAFETY: the picks are first elements of rows of the arena.
            unsafe { kernels::constraint_pick(s, grid, &picks, &self.arena, &mut out, &count)? };
        }
        let slices: Vec<_> = iter::once(out.as_slice()).chain(next.sums()).collect();
        let mut read = s.read_many(&slices)?.into_iter();
        let mut values = read.next().unwrap_or_default().into_iter();
        let next = next.values(plan, &read.next().unwrap_or_default());
        Ok(plan
            .traces
            .iter()
            .zip(&next)
            .map(|(trace, next)| {
                let mut value = |opening: &Opening| match *opening {
                    Opening::Row(_) => values.next().expect("a value for every row"),
                    Opening::Next(position) => next[position as usize],
                };
                let part = |openings: &Vec<Opening>| openings.iter().map(&mut value).collect();
                trace.openings.iter().map(part).collect()
            })
            .collect())
    }
}
