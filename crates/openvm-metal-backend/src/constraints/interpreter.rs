//! Evaluation of programs on the device: the encoded instructions are interpreted there.

use openvm_metal_common::{CommandStream, Execution, Grid, MetalBuffer, MetalError, MetalSlice};

use super::generated::{RuleBuffers, RuleLaunch, SectionTables};
use crate::{
    gkr::FracLayer,
    jobs::{DeviceJobs, DispatchJobs, JobTable},
    kernels,
    params::{ConstraintEvalJob, ConstraintEvalParams, ConstraintInstruction, ConstraintLeaf},
    prelude::{D_EF, EF, F},
};

/// Threadgroup memory of an evaluation, in bytes: half of what Apple GPUs have, for occupancy.
const REGISTER_BYTES: u32 = 16 << 10;
/// Points that a thread of a GPU evaluates at a time, over the base field and the extension field:
/// `CONSTRAINT_BASE_POINTS` and `CONSTRAINT_EXT_POINTS` of `metal/constraints/evaluate.h`.
const POINTS: [u32; 2] = [4, 2];
/// Threads of a threadgroup at most, log2.
const LOG_THREADS: u32 = 7;

/// The field that the variables of a pass are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalField {
    /// Round 0 and the leaves.
    Base,
    /// The rounds over the hypercube: values in four planes.
    Extension,
}

impl EvalField {
    /// Words of a value.
    fn words(self) -> u32 {
        match self {
            Self::Base => 1,
            Self::Extension => D_EF as u32,
        }
    }

    fn points_of_thread(self, execution: Execution) -> u32 {
        match execution {
            Execution::MultiCore => 1,
            Execution::ManyCore => POINTS[usize::from(self == Self::Extension)],
        }
    }
}

/// What the programs of a pass need.
#[derive(Clone, Copy, Debug, Default)]
pub struct Resources {
    pub registers: u32,
    pub spills: u32,
}

impl Resources {
    /// Enough for both.
    pub fn max(self, other: Self) -> Self {
        Self {
            registers: self.registers.max(other.registers),
            spills: self.spills.max(other.spills),
        }
    }
}

/// The jobs of one pass.
#[derive(Clone, Default)]
pub struct EvalPass {
    pub jobs: Vec<ConstraintEvalJob>,
    pub resources: Resources,
    /// What kernels of rules evaluate instead.
    pub rules: Vec<RuleLaunch>,
}

struct EvalDispatch {
    jobs: DispatchJobs,
    /// Points of a threadgroup, and its threads.
    block: u32,
    threads: u32,
    resources: Resources,
    /// No job has a second accumulator.
    single: bool,
    /// Instructions times points.
    steps: u64,
    rules: Vec<RuleLaunch>,
}

/// The uploaded jobs of several passes, with memory for spilled values.
pub struct EvalPlan {
    field: EvalField,
    passes: Vec<EvalDispatch>,
    jobs: DeviceJobs<ConstraintEvalJob>,
    use_ranges: MetalBuffer<u32>,
    spill_words: usize,
}

/// One pass, ready to be launched.
struct Launch<'a> {
    grid: Grid,
    jobs: MetalSlice<'a, ConstraintEvalJob>,
    starts: MetalSlice<'a, u32>,
    params: ConstraintEvalParams,
    spills: MetalBuffer<F>,
    registers: u32,
    single: bool,
    steps: u64,
}

impl EvalPlan {
    /// Uploads the jobs of all passes.
    pub fn new(
        s: &CommandStream,
        passes: Vec<EvalPass>,
        field: EvalField,
        tables: &SectionTables,
    ) -> Result<Self, MetalError> {
        let mut table = JobTable::default();
        let mut plan = Vec::with_capacity(passes.len());
        let mut spill_words = 0;
        let words = field.words();
        let per_thread = field.points_of_thread(s.context().device_profile().execution);
        for pass in passes {
            let value_bytes = 4 * words * pass.resources.registers.max(1);
            let most = LOG_THREADS + per_thread.ilog2();
            let block = 1 << (REGISTER_BYTES / value_bytes).ilog2().clamp(5, most);
            let single = pass.jobs.iter().all(|job| job.accumulators < 2);
            let steps = pass.jobs.iter().map(|job| {
                u64::from(job.points) * u64::from(job.code_end.saturating_sub(job.code_begin))
            });
            let steps = steps.sum();
            let jobs = pass.jobs.into_iter();
            let dispatch = EvalDispatch {
                jobs: table.dispatch(jobs.map(|job| (job, job.points.div_ceil(block)))),
                block,
                threads: (block / per_thread).max(32),
                resources: pass.resources,
                single,
                steps,
                rules: pass.rules,
            };
            let slots = (pass.resources.spills * words * block) as usize;
            spill_words = spill_words.max(slots * dispatch.jobs.groups as usize);
            plan.push(dispatch);
        }
        Ok(Self {
            field,
            passes: plan,
            jobs: table.upload(s)?,
            use_ranges: tables.upload(s)?,
            spill_words,
        })
    }

    /// None for a pass without jobs.
    fn launch(&self, s: &CommandStream, pass: usize) -> Result<Option<Launch<'_>>, MetalError> {
        let dispatch = &self.passes[pass];
        if dispatch.jobs.groups == 0 {
            return Ok(None);
        }
        let (jobs, starts) = self.jobs.of(&dispatch.jobs);
        let values = dispatch.resources.registers.max(1) * dispatch.block;
        Ok(Some(Launch {
            grid: dispatch.jobs.grid(dispatch.threads),
            jobs,
            starts,
            params: ConstraintEvalParams {
                block: dispatch.block,
                spill_slots: dispatch.resources.spills,
            },
            spills: MetalBuffer::uninit(s.context(), self.spill_words.max(1))?,
            registers: values * self.field.words(),
            single: dispatch.single,
            steps: dispatch.steps,
        }))
    }
}

/// Runs the encoded programs of a proof: one register file per point in threadgroup memory. Passes may have launches
/// of kernels of rules beside them.
pub struct Interpreter {
    pub code: MetalBuffer<ConstraintInstruction>,
    pub uniforms: MetalBuffer<F>,
    /// Rows of the rules that have kernels.
    pub operands: MetalBuffer<u32>,
}

impl Interpreter {
    /// Evaluates constraints and interactions: the weighted sums of each job, as `metal/constraints/params.h` lays them
    /// out in `partials`.
    pub fn evaluate(
        &self,
        s: &CommandStream,
        plan: &EvalPlan,
        pass: usize,
        coefficients: &MetalBuffer<EF>,
        arena: &MetalBuffer<F>,
        partials: &mut MetalBuffer<F>,
    ) -> Result<(), MetalError> {
        let buffers = RuleBuffers {
            coefficients,
            uniforms: &self.uniforms,
            use_ranges: &plan.use_ranges,
            operands: &self.operands,
        };
        for launch in &plan.passes[pass].rules {
            launch.encode(s, &buffers, arena, partials)?;
        }
        let Some(mut l) = plan.launch(s, pass)? else {
            return Ok(());
        };
        macro_rules! launch {
            ($kernel:ident) => {
                kernels::$kernel(
                    s,
                    l.grid,
                    l.jobs,
                    l.starts,
                    &self.code,
                    coefficients,
                    &self.uniforms,
                    arena,
                    &mut l.spills,
                    partials,
                    &l.params,
                    l.registers,
                    l.steps,
                )
            };
        }
        // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job.
        // A program's operands lie below the registers and spills of its pass, for which there is room at every point,
        // and in the uniforms, coefficients and arena columns that it was encoded for; the plan of the jobs gave their
        // results room.
        unsafe {
            match (plan.field, l.single) {
                (EvalField::Base, true) => launch!(constraint_eval_base_single),
                (EvalField::Base, false) => launch!(constraint_eval_base),
                (EvalField::Extension, true) => launch!(constraint_eval_ext_single),
                (EvalField::Extension, false) => launch!(constraint_eval_ext),
            }
        }
    }

    /// Evaluates interactions into the GKR leaves.
    #[allow(clippy::too_many_arguments)]
    pub fn leaves(
        &self,
        s: &CommandStream,
        plan: &EvalPlan,
        pass: usize,
        coefficients: &MetalBuffer<EF>,
        arena: &MetalBuffer<F>,
        leaves: &MetalBuffer<ConstraintLeaf>,
        layer: &mut FracLayer,
    ) -> Result<(), MetalError> {
        let Some(mut l) = plan.launch(s, pass)? else {
            return Ok(());
        };
        let (numerators, denominators) = layer.parts_mut();
        // SAFETY: as in `evaluate`; the layer has a leaf for every interaction at every row.
        unsafe {
            kernels::constraint_eval_leaves(
                s,
                l.grid,
                l.jobs,
                l.starts,
                &self.code,
                coefficients,
                &self.uniforms,
                arena,
                &mut l.spills,
                leaves,
                numerators,
                denominators,
                &l.params,
                l.registers,
                l.steps,
            )
        }
    }
}
