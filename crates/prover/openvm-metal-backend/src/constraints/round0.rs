//! Round 0: the sums of constraints and interactions over the hypercube, at the points of cosets of the
//! skip domain.

use itertools::iproduct;
use openvm_metal_common::{CommandStream, MetalBuffer, MetalSlice};

use super::{
    column_stride::column_stride,
    columns::{coset_tables, ColumnKernel, ColumnPass, ColumnPlan, ColumnTables, POINTS},
    eval_field::EvalField,
    evaluations::{Evaluations, ProgramSums},
    generated::SectionTables,
    interpreter::{EvalPass, EvalPlan, EvalTables},
    pass::PassBuilder,
    plan::{Plan, Resident},
    sums::{EqTables, JoinedSums, SumPlan, SumRuns, Sums},
    trace_plan::TracePlan,
};
use crate::{
    error::MetalProverError,
    params::{ConstraintColumnJob, ConstraintEvalJob},
    prelude::{EF, F},
    programs::SumProgram,
};

/// Slots of a sum: those of accumulator 1 follow those of accumulator 0.
struct Slots {
    first: usize,
    accumulators: usize,
    cosets: usize,
}

/// The passes over all traces while they are planned.
struct Round0<'a> {
    plan: &'a Plan,
    scratch_words: u64,
    passes: Vec<(ColumnPass, EvalPass)>,
    columns: ColumnPass,
    evals: PassBuilder,
    tables: SectionTables,
    sums: SumPlan,
    /// Words of extended columns of this pass, and of the largest.
    used: u64,
    arena_words: u64,
    partial_words: u64,
    num_slots: usize,
}

/// All passes, planned from the shapes.
pub struct Round0Plan {
    /// For each trace and program.
    slots: Vec<Vec<Slots>>,
    num_slots: usize,
    max_cosets: usize,
    passes: usize,
    columns: ColumnTables,
    evals: EvalTables,
    runs: SumRuns,
    sums: SumPlan,
    arena_words: u64,
    partial_words: u64,
}

impl Round0Plan {
    /// Passes of at most `scratch_words` of extended columns.
    pub fn new(plan: &Plan, scratch_words: u64) -> Self {
        let mut round = Round0 {
            plan,
            scratch_words,
            passes: Vec::new(),
            columns: ColumnPass::default(),
            evals: PassBuilder::default(),
            tables: SectionTables::default(),
            sums: SumPlan::default(),
            used: 0,
            arena_words: 0,
            partial_words: 0,
            num_slots: 0,
        };
        let mut slots = Vec::with_capacity(plan.traces.len());
        for (t, trace) in plan.traces.iter().enumerate() {
            let of_trace: Vec<Slots> = plan.sums(t).iter().map(|sum| round.slots(sum)).collect();
            round.add_trace(t, trace, &of_trace);
            slots.push(of_trace);
        }
        round.end_pass();
        let cosets = slots.iter().flatten().map(|slots| slots.cosets);
        let (columns, evals): (Vec<_>, Vec<_>) = round.passes.into_iter().unzip();
        Self {
            max_cosets: cosets.max().unwrap_or(0),
            slots,
            num_slots: round.num_slots,
            passes: evals.len(),
            columns: ColumnTables::new(columns, POINTS),
            evals: EvalTables::new(plan.execution(), evals, EvalField::Base, round.tables),
            runs: round.sums.runs(),
            sums: round.sums,
            arena_words: round.arena_words,
            partial_words: round.partial_words,
        }
    }

    /// Uploads the plan and encodes the first extension, which needs no challenge.
    pub fn begin<'a>(
        self,
        s: &'a CommandStream,
        plan: &'a Plan,
        resident: &'a Resident,
    ) -> Result<Round0Begun<'a>, MetalProverError> {
        let l_skip = plan.input.l_skip;
        let words = |words: u64| (words as usize).max(1);
        let mut begun = Round0Begun {
            s,
            plan,
            resident,
            cosets: MetalBuffer::from_host(s, &coset_tables(l_skip, self.max_cosets))?,
            columns: self.columns.upload(s)?,
            evals: self.evals.upload(s)?,
            runs: self.runs,
            sums: self.sums.upload(s)?,
            arena: MetalBuffer::uninit(s.context(), words(self.arena_words))?,
            partials: MetalBuffer::uninit(s.context(), words(self.partial_words))?,
            slots: self.slots,
            num_slots: self.num_slots,
            passes: self.passes,
        };
        begun.extend(0)?;
        Ok(begun)
    }
}

/// The round whose first columns are being extended.
pub struct Round0Begun<'a> {
    s: &'a CommandStream,
    plan: &'a Plan,
    resident: &'a Resident,
    cosets: MetalBuffer<F>,
    columns: ColumnPlan,
    evals: EvalPlan,
    runs: SumRuns,
    sums: Sums,
    arena: MetalBuffer<F>,
    partials: MetalBuffer<F>,
    slots: Vec<Vec<Slots>>,
    num_slots: usize,
    passes: usize,
}

/// The round when all traces are being evaluated.
pub struct Round0Sent<'a> {
    s: &'a CommandStream,
    l_skip: usize,
    slots: Vec<Vec<Slots>>,
    num_slots: usize,
    runs: SumRuns,
    sums: Sums,
    joined: Option<JoinedSums>,
}

impl<'a> Round0Begun<'a> {
    fn extend(&mut self, pass: usize) -> Result<(), MetalProverError> {
        let extend = ColumnKernel::Extend(&self.cosets);
        let arena = &mut self.arena;
        self.columns
            .encode(self.s, self.plan, self.resident, pass, extend, arena)?;
        Ok(())
    }

    /// Evaluates all traces: extension, evaluation and sums of a pass are three dispatches (one more for every eight source
    /// buffers), and one joins sums that were cut.
    pub fn evaluate(
        mut self,
        eq: &EqTables,
        coefficients: &MetalBuffer<EF>,
    ) -> Result<Round0Sent<'a>, MetalProverError> {
        let s = self.s;
        for pass in 0..self.passes {
            // `begin` has extended the columns of pass 0.
            if pass > 0 {
                self.extend(pass)?;
            }
            let interpreter = &self.resident.interpreter;
            let (arena, results) = (&self.arena, &mut self.partials);
            interpreter.evaluate(s, &self.evals, pass, coefficients, arena, results)?;
            self.sums.encode(s, pass, &self.partials, eq)?;
        }
        Ok(Round0Sent {
            s,
            l_skip: self.plan.input.l_skip,
            slots: self.slots,
            num_slots: self.num_slots,
            joined: self.sums.join(s, &self.runs)?,
            runs: self.runs,
            sums: self.sums,
        })
    }
}

impl Round0Sent<'_> {
    /// The sums of each trace's programs, in their order, and something else: one wait.
    pub fn read_with(
        self,
        other: MetalSlice<'_, EF>,
    ) -> Result<(Vec<Vec<ProgramSums>>, Vec<EF>), MetalProverError> {
        let l_skip = self.l_skip;
        let mut values = vec![EF::default(); self.num_slots];
        let (runs, joined) = (&self.runs, self.joined);
        let other = self
            .sums
            .read_joined(self.s, runs, joined, &mut values, other)?;
        let sums_of = |slots: &Slots| -> ProgramSums {
            let len = slots.cosets << l_skip;
            let of = |accumulator: usize| {
                let first = slots.first + accumulator * len;
                values[first..first + len].to_vec()
            };
            [
                of(0),
                if slots.accumulators > 1 {
                    of(1)
                } else {
                    vec![]
                },
            ]
        };
        let of_trace = |slots: &Vec<Slots>| slots.iter().map(sums_of).collect();
        Ok((self.slots.iter().map(of_trace).collect(), other))
    }
}

impl Round0<'_> {
    fn slots(&mut self, sum: &SumProgram) -> Slots {
        let (first, cosets) = (self.num_slots, sum.cosets());
        let accumulators = sum.accumulators as usize;
        self.num_slots += (accumulators * cosets) << self.plan.input.l_skip;
        Slots {
            first,
            accumulators,
            cosets,
        }
    }

    /// Makes one pass of all that was added so far.
    fn end_pass(&mut self) {
        let evals = std::mem::take(&mut self.evals).evals;
        self.passes.push((std::mem::take(&mut self.columns), evals));
        self.sums.end_pass();
        self.used = 0;
    }

    fn add_trace(&mut self, t: usize, trace: &TracePlan, slots: &[Slots]) {
        let l_skip = self.plan.input.l_skip;
        let cosets = slots.iter().map(|slots| slots.cosets).max().unwrap_or(0);
        if cosets == 0 {
            return;
        }
        let programs = self.plan.input.traces[t].air_data.programs();
        let columns = programs.variables.len().max(1) as u64;
        let execution = self.plan.execution();
        let stride = |log_chunk: usize| column_stride(execution, 1 << (l_skip + log_chunk));
        let words = |log_chunk: usize| columns * cosets as u64 * stride(log_chunk);
        let mut log_chunk = trace.n_lift;
        while log_chunk > 4 && words(log_chunk) > self.scratch_words {
            log_chunk -= 1;
        }
        for chunk in 0..1u32 << (trace.n_lift - log_chunk) {
            if self.used > 0 && self.used + words(log_chunk) > self.scratch_words {
                self.end_pass();
            }
            self.add_chunk(t, trace, slots, columns, log_chunk, chunk);
            self.used += words(log_chunk);
            self.arena_words = self.arena_words.max(self.used);
            self.partial_words = self.partial_words.max(self.evals.partials);
        }
    }

    /// Extends and evaluates `2^log_chunk` of the hypercube's points of a trace.
    fn add_chunk(
        &mut self,
        t: usize,
        trace: &TracePlan,
        slots: &[Slots],
        columns: u64,
        log_chunk: usize,
        chunk: u32,
    ) {
        let l_skip = self.plan.input.l_skip;
        let points = 1u32 << (l_skip + log_chunk);
        let first_point = chunk << log_chunk;
        let column_stride = column_stride(self.plan.execution(), points.into());
        let coset_stride = columns * column_stride;
        for set in trace.logup_sets.iter().chain(&trace.zerocheck_sets) {
            self.columns.push(
                &set.columns,
                ConstraintColumnJob {
                    dst: self.used,
                    coset_stride,
                    log_points: log_chunk as u32,
                    first_point,
                    height_mask: (1u32 << trace.log_height) - 1,
                    column_stride: column_stride as u32,
                    cosets: set.cosets as u32,
                    ..Default::default()
                },
            );
        }
        let weights = self.plan.eq.level(trace.n_lift, 0) + first_point;
        for (k, (sum, slots)) in self.plan.sums(t).iter().zip(slots).enumerate() {
            let cosets = slots.cosets;
            let evaluations = Evaluations {
                job: ConstraintEvalJob {
                    arena: self.used,
                    points,
                    column_stride: column_stride as u32,
                    coefficients: trace.coefficients(sum.kind),
                    accumulators: sum.accumulators,
                    ..Default::default()
                },
                field: EvalField::Base,
                count: cosets as u32,
                arena_stride: coset_stride,
                step_stride: 0,
                sections: self.plan.sections(cosets << (l_skip + log_chunk)),
            };
            let tables = &mut self.tables;
            let results = self.evals.evaluate(self.plan, t, k, evaluations, tables);
            for (c, accumulator) in iproduct!(0..cosets, 0..slots.accumulators) {
                let slot = slots.first + ((accumulator * cosets) << l_skip);
                for z in 0..1usize << l_skip {
                    let first = (z as u64) << log_chunk;
                    let (evaluation, accumulator) = (c as u32, accumulator as u64);
                    let sum = results.sum(evaluation, accumulator, first, 1 << log_chunk, weights);
                    self.sums.push(slot + z * cosets + c, sum);
                }
            }
        }
    }
}
