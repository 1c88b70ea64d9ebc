//! The folded traces and the rounds over the hypercube: fold and sums of all AIRs are one dispatch each, evaluations a few and one for
//! each kernel of rules. Challenges come from the host's transcript, with a wait for each round, or from the device's, with one for all.

mod device_transcript;
mod host_transcript;
mod inputs;
mod sent;

use std::ops::Range;

use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use openvm_stark_backend::FiatShamirTranscript;

use self::device_transcript::MOST_DEGREE;
pub use self::{inputs::RoundInputs, sent::SentRounds};
use super::{
    column_layout::{ColumnLayout, Opening},
    columns::{ColumnKernel, ColumnPass, ColumnTables, POINTS},
    eval_field::EvalField,
    evaluations::{Evaluations, ProgramSums},
    generated::SectionTables,
    interpreter::{EvalPlan, EvalTables},
    pass::PassBuilder,
    plan::{Plan, Resident},
    sums::{SumPlan, Sums},
    trace_plan::TracePlan,
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    hash::HashScheme,
    jobs::{DeviceJobs, DispatchJobs, JobTable},
    kernels,
    params::{
        ConstraintColumnJob, ConstraintEvalJob, ConstraintFoldJob, ConstraintFoldParams,
        ConstraintOpening,
    },
    prelude::{EF, F},
    transcript::sponge_for_device,
};

/// Threads of a threadgroup.
const BLOCK: u32 = 256;

/// The fold of one round.
struct Fold {
    jobs: DispatchJobs,
    /// Threads of all jobs.
    rows: u64,
}

/// Slots of a sum in one round, for each accumulator.
type Slots = [Range<usize>; 2];

/// The extension-field arena of all traces and the uploaded jobs of all rounds.
///
/// Column `c` of trace `t` is four planes of `2^n` words (`n` its hypercube variables), `plane_stride` apart, from word
/// `fold_base + 4 c plane_stride` on, rows in bit-reversed order, folded in place.
pub struct MleRounds {
    arena: MetalBuffer<F>,
    partials: MetalBuffer<F>,
    evals: EvalPlan,
    sums: Sums,
    /// Slots of each sum, per round and trace.
    slots: Vec<Vec<Vec<Slots>>>,
    folds: Vec<Fold>,
    fold_jobs: DeviceJobs<ConstraintFoldJob>,
    /// Openings that are collected when all variables are bound.
    openings: MetalBuffer<ConstraintOpening>,
}

/// The fold of a round, its jobs added to those of all rounds.
fn plan_fold(plan: &Plan, round: usize, table: &mut JobTable<ConstraintFoldJob>) -> Fold {
    let traces = plan.traces.iter().filter(|trace| trace.n_lift >= round);
    let jobs = traces.map(|trace| {
        let log_half = trace.n_lift - round;
        ConstraintFoldJob {
            arena: trace.fold_base,
            threads: trace.folded_columns << log_half,
            log_half: log_half as u32,
            plane_stride: trace.plane_stride,
            ..Default::default()
        }
    });
    let jobs: Vec<_> = jobs.map(|job| (job, job.threads.div_ceil(BLOCK))).collect();
    Fold {
        rows: jobs.iter().map(|(job, _)| u64::from(job.threads)).sum(),
        jobs: table.dispatch(jobs),
    }
}

/// The evaluations of one round while they are planned.
struct RoundPlan<'a> {
    plan: &'a Plan,
    round: usize,
    sections: usize,
    evals: PassBuilder,
    tables: &'a mut SectionTables,
    num_slots: usize,
}

impl RoundPlan<'_> {
    /// Evaluates the sums of a trace at `X = 1..=degree`, each of its own degree, while the trace has variables.
    fn add_trace(&mut self, t: usize, trace: &TracePlan, sums: &mut SumPlan) -> Vec<Slots> {
        let (n, round) = (trace.n_lift, self.round);
        if n < round {
            return Vec::new();
        }
        let weights = self.plan.eq.level(n, round);
        let points = 1u32 << (n - round);
        let mut slots = Vec::new();
        for (k, sum) in self.plan.sums(t).iter().enumerate() {
            let evaluations = Evaluations {
                job: ConstraintEvalJob {
                    arena: trace.fold_base,
                    points,
                    column_stride: trace.plane_stride,
                    coefficients: trace.coefficients(sum.kind),
                    accumulators: sum.accumulators,
                    step: 1,
                    half_rows: points,
                    ..Default::default()
                },
                field: EvalField::Extension,
                count: sum.degree as u32,
                arena_stride: 0,
                step_stride: 1,
                sections: self.sections,
            };
            let tables = &mut *self.tables;
            let results = self.evals.evaluate(self.plan, t, k, evaluations, tables);
            slots.push([0, 1].map(|accumulator| {
                let first = self.num_slots;
                if accumulator < sum.accumulators {
                    self.num_slots += sum.degree;
                    for x in 0..sum.degree as u32 {
                        let of_x = results.sum(x, accumulator.into(), 0, points, weights);
                        sums.push(first + x as usize, of_x);
                    }
                }
                first..self.num_slots
            }));
        }
        slots
    }
}

/// The fold by the first challenge and all rounds, planned from the shapes.
pub struct MlePlan {
    columns: ColumnTables,
    evals: EvalTables,
    sums: SumPlan,
    slots: Vec<Vec<Vec<Slots>>>,
    folds: Vec<Fold>,
    fold_jobs: JobTable<ConstraintFoldJob>,
    partial_words: u64,
    openings: Vec<ConstraintOpening>,
}

impl MlePlan {
    /// Plans all rounds.
    pub fn new(plan: &Plan) -> Self {
        let mut columns = ColumnPass::default();
        for trace in &plan.traces {
            let job = ConstraintColumnJob {
                dst: trace.fold_base,
                log_points: trace.n_lift as u32,
                height_mask: (1u32 << trace.log_height) - 1,
                column_stride: trace.plane_stride,
                ..Default::default()
            };
            columns.push(&trace.fold_set, job);
        }
        let degree = plan.input.max_constraint_degree;
        let n_max = plan.traces.iter().map(|trace| trace.n_lift).max();
        let (mut passes, mut sums, mut slots) = (Vec::new(), SumPlan::default(), Vec::new());
        let (mut folds, mut fold_jobs) = (Vec::new(), JobTable::default());
        let (mut partial_words, mut tables) = (0u64, SectionTables::default());
        for round in 1..=n_max.unwrap_or(0) {
            let points_of = |trace: &TracePlan| degree << trace.n_lift.saturating_sub(round);
            let left = plan.traces.iter().filter(|trace| trace.n_lift >= round);
            let most_points = left.map(points_of).max().unwrap_or(1);
            let mut of_round = RoundPlan {
                plan,
                round,
                sections: plan.sections(most_points),
                evals: PassBuilder::default(),
                tables: &mut tables,
                num_slots: 0,
            };
            let traces = plan.traces.iter().enumerate();
            let round_slots = traces.map(|(t, trace)| of_round.add_trace(t, trace, &mut sums));
            slots.push(round_slots.collect());
            sums.end_pass();
            folds.push(plan_fold(plan, round, &mut fold_jobs));
            partial_words = partial_words.max(of_round.evals.partials);
            passes.push(of_round.evals.evals);
        }
        Self {
            columns: ColumnTables::new(vec![columns], POINTS),
            evals: EvalTables::new(plan.execution(), passes, EvalField::Extension, tables),
            sums,
            slots,
            folds,
            fold_jobs,
            partial_words,
            openings: collected(plan),
        }
    }

    /// Folds the traces by the first challenge (`lagrange`: L_z(r_0) for z on the skip domain) and uploads the jobs of all rounds.
    pub fn begin(
        self,
        s: &CommandStream,
        plan: &Plan,
        resident: &Resident,
        lagrange: &MetalBuffer<EF>,
    ) -> Result<MleRounds, MetalProverError> {
        let mut arena = MetalBuffer::uninit(s.context(), plan.fold_words() as usize)?;
        let fold = ColumnKernel::Fold(lagrange);
        let columns = self.columns.upload(s)?;
        columns.encode(s, plan, resident, 0, fold, &mut arena)?;
        let partial_words = (self.partial_words as usize).max(1);
        Ok(MleRounds {
            arena,
            partials: MetalBuffer::uninit(s.context(), partial_words)?,
            evals: self.evals.upload(s)?,
            sums: self.sums.upload(s)?,
            slots: self.slots,
            folds: self.folds,
            fold_jobs: self.fold_jobs.upload(s)?,
            openings: MetalBuffer::from_host(s, &self.openings)?,
        })
    }
}

impl MleRounds {
    /// All rounds, on the device's transcript if it can: then they are encoded, and not waited for.
    pub fn prove<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
        &mut self,
        s: &CommandStream,
        config: &MetalProverConfig,
        transcript: &mut TS,
        inputs: RoundInputs<'_>,
    ) -> Result<SentRounds, MetalProverError> {
        match sponge_for_device(s, config, transcript) {
            Some(sponge) if inputs.degree() <= MOST_DEGREE => {
                self.prove_on_device(s, sponge, &inputs)
            }
            _ => self.prove_on_host(s, transcript, inputs),
        }
    }

    /// Encodes the evaluations of round `round` (from 1), up to three dispatches and one for each kernel of rules, and their sums, one.
    fn evaluate(
        &mut self,
        s: &CommandStream,
        inputs: &RoundInputs<'_>,
        round: usize,
    ) -> Result<(), MetalProverError> {
        let pass = round - 1;
        let (arena, partials) = (&self.arena, &mut self.partials);
        let coefficients = &inputs.weights.coefficients;
        let interpreter = &inputs.resident.interpreter;
        interpreter.evaluate(s, &self.evals, pass, coefficients, arena, partials)?;
        self.sums.encode(s, pass, &self.partials, inputs.eq)?;
        Ok(())
    }

    /// Sums of round `round`.
    fn num_slots(&self, round: usize) -> usize {
        let used = self.slots[round - 1].iter().flatten().flatten();
        used.map(|range| range.end).max().unwrap_or(0)
    }

    /// Reads what `evaluate` left: a wait. For each trace the values of its sums; none if its variables are exhausted.
    fn read(
        &self,
        s: &CommandStream,
        round: usize,
    ) -> Result<Vec<Vec<ProgramSums>>, MetalProverError> {
        let pass = round - 1;
        let mut values = vec![EF::default(); self.num_slots(round)];
        self.sums.read(s, pass..pass + 1, &mut values)?;
        let take = |range: &Range<usize>| values[range.clone()].to_vec();
        let of_trace = |slots: &Vec<Slots>| -> Vec<ProgramSums> {
            let slots = slots.iter();
            slots.map(|slots| slots.each_ref().map(take)).collect()
        };
        Ok(self.slots[pass].iter().map(of_trace).collect())
    }

    /// Folds by the challenge of round `round`, element `at` of `challenges`: one dispatch, no wait.
    fn fold(
        &mut self,
        s: &CommandStream,
        round: usize,
        challenges: MetalSlice<'_, EF>,
        at: usize,
    ) -> Result<(), MetalProverError> {
        let Fold { jobs, rows } = &self.folds[round - 1];
        let grid = jobs.grid(BLOCK);
        let params = ConstraintFoldParams {
            r: at as u32,
            block: BLOCK,
        };
        let (jobs, starts) = self.fold_jobs.of(jobs);
        // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job.
        // The jobs' columns are the `folded_columns` from `fold_base` on, for which `fold_words` made room in the arena.
        unsafe {
            kernels::constraint_fold_mle(
                s,
                grid,
                jobs,
                starts,
                challenges,
                &mut self.arena,
                &params,
                *rows,
            )?;
        }
        Ok(())
    }

    /// Encodes the collection of the openings of all columns of the arena, if there are any.
    pub fn collect(&self, s: &CommandStream) -> Result<MetalBuffer<EF>, MetalProverError> {
        let count = self.openings.len();
        let mut out = MetalBuffer::uninit(s.context(), count)?;
        if count > 0 {
            let grid = Grid::threads(count);
            let (openings, arena, to) = (&self.openings, &self.arena, &mut out);
            // SAFETY: the openings are first elements of columns of the arena.
            unsafe {
                kernels::constraint_collect_openings(
                    s,
                    grid,
                    openings,
                    arena,
                    to,
                    &(count as u32),
                )?;
            }
        }
        Ok(out)
    }
}

/// Openings that are collected from the arena when all variables are bound, trace after trace.
fn collected(plan: &Plan) -> Vec<ConstraintOpening> {
    let mut collected = Vec::new();
    for (trace, input) in plan.traces.iter().zip(&plan.input.traces) {
        let plane_stride = trace.plane_stride;
        let columns = input.air_data.layout().openings.iter().flatten();
        collected.extend(columns.filter_map(|&opening| match opening {
            Opening::Folded(column) => Some(ConstraintOpening {
                arena: trace.fold_base + 4 * u64::from(column) * u64::from(plane_stride),
                plane_stride,
                unused: 0,
            }),
            Opening::Next(_) => None,
        }));
    }
    collected
}

/// The value of every opened column (and rotation) of every part, in the order of the proof, from what was [collected](MleRounds::collect)
/// and from the openings one row ahead of the others ([`NextPlan::values`](super::next_openings::NextPlan::values)).
pub fn openings(plan: &Plan, collected: Vec<EF>, next: &[Vec<EF>]) -> Vec<Vec<Vec<EF>>> {
    let mut collected = collected.into_iter();
    let layouts = plan.input.traces.iter().map(|t| t.air_data.layout());
    let of_trace = |(layout, next): (&ColumnLayout, &Vec<EF>)| {
        let mut value = |opening: &Opening| match *opening {
            Opening::Folded(_) => collected.next().expect("a value for every column"),
            Opening::Next(position) => next[position as usize],
        };
        let part = |openings: &Vec<Opening>| openings.iter().map(&mut value).collect();
        layout.openings.iter().map(part).collect()
    };
    layouts.zip(next).map(of_trace).collect()
}
