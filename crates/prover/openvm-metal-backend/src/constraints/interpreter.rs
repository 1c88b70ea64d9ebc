//! Evaluation of programs on the device: the encoded instructions are interpreted there.

use openvm_metal_common::{CommandStream, Execution, Grid, MetalBuffer, MetalError, MetalSlice};

use super::{
    eval_field::EvalField,
    generated::{RuleBuffers, RuleLaunch, SectionTables},
};
use crate::{
    gkr::FracLayer,
    jobs::{DeviceJobs, DispatchJobs, JobTable},
    kernels,
    params::{ConstraintEvalJob, ConstraintEvalParams, ConstraintInstruction, ConstraintLeaf},
    prelude::{EF, F},
    programs::FREE_REGISTERS,
};

/// Threadgroup memory of an evaluation, in bytes: half of what Apple GPUs have, for occupancy.
const REGISTER_BYTES: u32 = 16 << 10;
/// Points that a thread of a GPU evaluates at a time, over the base field and the extension field:
/// `CONSTRAINT_BASE_POINTS` and `CONSTRAINT_EXT_POINTS` of `metal/constraints/evaluate.h`.
const POINTS: [u32; 2] = [4, 2];
/// Threads of a threadgroup at most, log2.
const LOG_THREADS: u32 = 7;

/// Points that a thread evaluates at a time.
fn points_of_thread(field: EvalField, execution: Execution) -> u32 {
    match execution {
        Execution::MultiCore => 1,
        Execution::ManyCore => POINTS[field as usize],
    }
}

/// Resources of the programs of a pass.
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
    /// With what the program of each needs.
    pub jobs: Vec<(Resources, ConstraintEvalJob)>,
    /// Launches of kernels of rules that take the interpreter's place.
    pub rules: Vec<RuleLaunch>,
}

/// Steps (instructions times points) from which on jobs whose programs need few registers are a dispatch of their own: all points
/// of a dispatch have as many registers as its greediest program.
const WORTH_A_DISPATCH: u64 = 1 << 20;

impl EvalPass {
    /// The jobs of each dispatch: on GPUs those that need up to 8 registers, up to 16, and the others, if they are worth it.
    fn dispatches(&self, execution: Execution) -> Vec<Vec<(Resources, ConstraintEvalJob)>> {
        let classes: &[u32] = match execution {
            Execution::MultiCore => &[u32::MAX],
            Execution::ManyCore => &[FREE_REGISTERS, 2 * FREE_REGISTERS, u32::MAX],
        };
        let mut dispatches: Vec<Vec<_>> = vec![Vec::new(); classes.len()];
        for &(resources, job) in &self.jobs {
            let class = classes.iter().position(|&most| resources.registers <= most);
            dispatches[class.unwrap_or(classes.len() - 1)].push((resources, job));
        }
        dispatches.retain(|jobs| !jobs.is_empty());
        for k in 1..dispatches.len() {
            let (lower, higher) = dispatches.split_at_mut(k);
            if lower[k - 1].iter().map(steps).sum::<u64>() < WORTH_A_DISPATCH {
                higher[0].append(&mut lower[k - 1]);
            }
        }
        dispatches.retain(|jobs| !jobs.is_empty());
        dispatches
    }
}

/// Instructions times points.
fn steps((_, job): &(Resources, ConstraintEvalJob)) -> u64 {
    u64::from(job.points) * u64::from(job.code_end.saturating_sub(job.code_begin))
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
}

/// The dispatches of one pass.
struct PassPlan {
    dispatches: Vec<EvalDispatch>,
    rules: Vec<RuleLaunch>,
}

/// The jobs of several passes, on the host.
pub struct EvalTables {
    field: EvalField,
    passes: Vec<PassPlan>,
    table: JobTable<ConstraintEvalJob>,
    sections: SectionTables,
}

/// The uploaded jobs of several passes, with memory for spilled values.
pub struct EvalPlan {
    field: EvalField,
    passes: Vec<PassPlan>,
    jobs: DeviceJobs<ConstraintEvalJob>,
    use_ranges: MetalBuffer<u32>,
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

impl EvalTables {
    /// Shares out the threadgroups of all passes. `sections` are those of the passes' rules.
    pub fn new(
        execution: Execution,
        passes: Vec<EvalPass>,
        field: EvalField,
        sections: SectionTables,
    ) -> Self {
        let mut table = JobTable::default();
        let passes = passes.into_iter().map(|pass| {
            let dispatches = pass.dispatches(execution).into_iter();
            let dispatches =
                dispatches.map(|jobs| plan_dispatch(jobs, field, execution, &mut table));
            PassPlan {
                dispatches: dispatches.collect(),
                rules: pass.rules,
            }
        });
        let passes = passes.collect();
        Self {
            field,
            passes,
            table,
            sections,
        }
    }

    /// Uploads the jobs of all passes: three copies.
    pub fn upload(self, s: &CommandStream) -> Result<EvalPlan, MetalError> {
        Ok(EvalPlan {
            field: self.field,
            passes: self.passes,
            jobs: self.table.upload(s)?,
            use_ranges: self.sections.upload(s)?,
        })
    }
}

impl EvalPlan {
    /// None for a dispatch without threadgroups.
    fn launch<'a>(
        &'a self,
        s: &CommandStream,
        dispatch: &EvalDispatch,
    ) -> Result<Option<Launch<'a>>, MetalError> {
        if dispatch.jobs.groups == 0 {
            return Ok(None);
        }
        let (jobs, starts) = self.jobs.of(&dispatch.jobs);
        let (words, Resources { registers, spills }) = (self.field.words(), dispatch.resources);
        let slots = (spills * words * dispatch.block) as usize;
        let spill_words = slots * dispatch.jobs.groups as usize;
        Ok(Some(Launch {
            grid: dispatch.jobs.grid(dispatch.threads),
            jobs,
            starts,
            params: ConstraintEvalParams {
                block: dispatch.block,
                spill_slots: spills,
            },
            spills: MetalBuffer::uninit(s.context(), spill_words.max(1))?,
            registers: registers.max(1) * dispatch.block * words,
            single: dispatch.single,
            steps: dispatch.steps,
        }))
    }
}

/// One dispatch, its jobs added to the table.
fn plan_dispatch(
    jobs: Vec<(Resources, ConstraintEvalJob)>,
    field: EvalField,
    execution: Execution,
    table: &mut JobTable<ConstraintEvalJob>,
) -> EvalDispatch {
    let resources = jobs.iter().map(|&(resources, _)| resources);
    let resources = resources.fold(Resources::default(), Resources::max);
    let per_thread = points_of_thread(field, execution);
    let value_bytes = 4 * field.words() * resources.registers.max(1);
    let most = LOG_THREADS + per_thread.ilog2();
    let block = 1 << (REGISTER_BYTES / value_bytes).ilog2().clamp(5, most);
    let single = jobs.iter().all(|(_, job)| job.accumulators < 2);
    let steps = jobs.iter().map(steps).sum();
    let jobs = jobs.into_iter();
    EvalDispatch {
        jobs: table.dispatch(jobs.map(|(_, job)| (job, job.points.div_ceil(block)))),
        block,
        threads: (block / per_thread).max(32),
        resources,
        single,
        steps,
    }
}

/// Runs the encoded programs of a proof: one register file per point in threadgroup memory. Passes may have launches
/// of kernels of rules beside them.
pub struct Interpreter {
    pub code: MetalBuffer<ConstraintInstruction>,
    pub uniforms: MetalBuffer<F>,
    /// Operands of the rules that have kernels.
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
        for dispatch in &plan.passes[pass].dispatches {
            let Some(mut l) = plan.launch(s, dispatch)? else {
                continue;
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
                        &mut *partials,
                        &l.params,
                        l.registers,
                        l.steps,
                    )
                };
            }
            // SAFETY: `jobs`, `starts` and the grid are of one dispatch of a `JobTable`, so each threadgroup finds its job.
            // A program's operands lie below the registers and spills of its dispatch, for which there is room at every
            // point, and in the uniforms, coefficients and arena columns that it was encoded for; the plan of the jobs
            // gave their results room.
            unsafe {
                match (plan.field, l.single) {
                    (EvalField::Base, true) => launch!(constraint_eval_base_single)?,
                    (EvalField::Base, false) => launch!(constraint_eval_base)?,
                    (EvalField::Extension, true) => launch!(constraint_eval_ext_single)?,
                    (EvalField::Extension, false) => launch!(constraint_eval_ext)?,
                }
            }
        }
        Ok(())
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
        for dispatch in &plan.passes[pass].dispatches {
            let Some(mut l) = plan.launch(s, dispatch)? else {
                continue;
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
                )?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs of few registers have a dispatch of their own, unless there is little to do for them.
    #[test]
    fn dispatches_by_registers() {
        let job = |registers: u32, points: u32| {
            let job = ConstraintEvalJob {
                points,
                code_end: 16,
                ..Default::default()
            };
            (
                Resources {
                    registers,
                    spills: 0,
                },
                job,
            )
        };
        let registers = |execution, jobs: &[(u32, u32)]| -> Vec<Vec<u32>> {
            let pass = EvalPass {
                jobs: jobs.iter().map(|&(r, points)| job(r, points)).collect(),
                rules: Vec::new(),
            };
            let of = |jobs: Vec<(Resources, ConstraintEvalJob)>| {
                let mut registers: Vec<u32> = jobs.iter().map(|(r, _)| r.registers).collect();
                registers.sort_unstable();
                registers
            };
            pass.dispatches(execution).into_iter().map(of).collect()
        };
        let (many, few) = (1 << 16, 1 << 8);
        let (gpu, cpu) = (Execution::ManyCore, Execution::MultiCore);
        let mixed = [(32, many), (8, many), (9, many), (0, many)];
        assert_eq!(registers(gpu, &mixed), [vec![0, 8], vec![9], vec![32]]);
        assert_eq!(registers(cpu, &mixed), [vec![0, 8, 9, 32]]);
        assert_eq!(registers(gpu, &[(32, many), (8, few)]), [vec![8, 32]]);
        assert_eq!(
            registers(gpu, &[(8, few), (9, few), (17, few)]),
            [vec![8, 9, 17]]
        );
        assert_eq!(registers(gpu, &[(8, few)]), [vec![8]]);
        assert!(registers(gpu, &[]).is_empty());
    }
}
