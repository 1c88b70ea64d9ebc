//! State that every step of the phase shares. All of it follows from shapes and public values, so it is planned before challenges are there.

use openvm_metal_common::{CommandStream, DeviceProfile, Execution, MetalBuffer};

use super::{
    evaluations::Evaluations,
    generated::{RuleEvaluation, RuleLaunch, SectionTables},
    input::{ConstraintInput, Sources},
    interpreter::{Interpreter, Resources},
    sums::EqLayout,
    trace_plan::{Tables, TracePlan},
};
use crate::{
    config::{ConstraintKernels, MetalProverConfig},
    error::MetalProverError,
    params::{ConstraintColumn, ConstraintEvalJob, RuleParams},
    programs::{Program, SumProgram},
};

/// A program of an AIR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramId {
    /// That of a sum.
    Sum(usize),
    /// Each interaction by itself, for the GKR input layer.
    Leaves,
}

/// The interpreter's steps (instructions times points) from which on a launch of its own is worth it.
const WORTH_A_LAUNCH: u64 = 1 << 24;

/// True if kernels are launched for `count` evaluations of a program of so many instructions at `points` points each, if nobody asks for
/// them wherever they can run.
pub(crate) fn worth_a_launch(instructions: u64, points: u64, count: u64) -> bool {
    instructions * points * count >= WORTH_A_LAUNCH
}

/// All traces, and the tables that they share, on the host.
pub struct Plan {
    pub input: ConstraintInput,
    pub traces: Vec<TracePlan>,
    tables: Tables,
    /// Layout of the eq tables of all traces' points.
    pub eq: EqLayout,
    /// Powers of lambda before the coefficients of LogUp programs.
    pub lambda_powers: usize,
    /// Points that keep the device busy; fewer are spread over several sections of a program.
    pub target_points: usize,
    /// Most sections of a program: each costs an accumulator per point.
    pub max_sections: usize,
    profile: DeviceProfile,
    /// Kernels run whatever there is to evaluate.
    always: bool,
}

/// Tables of the plan that kernels read.
pub struct Resident {
    pub columns: MetalBuffer<ConstraintColumn>,
    pub interpreter: Interpreter,
}

impl Plan {
    /// Lays out columns, programs and uniforms for a device.
    pub fn new(
        profile: &DeviceProfile,
        config: &MetalProverConfig,
        input: ConstraintInput,
    ) -> Result<Self, MetalProverError> {
        let mode = config.constraint_kernels.resolved()?;
        let always = mode == ConstraintKernels::Generated;
        let mut tables = Tables::default();
        let mut traces = Vec::with_capacity(input.traces.len());
        for trace in &input.traces {
            traces.push(tables.add(trace, input.l_skip, mode, profile.execution));
        }
        let programs = || input.traces.iter().map(|trace| trace.air_data.programs());
        let constraints = programs().map(|programs| programs.constraints);
        let lambda_powers = constraints.max().unwrap_or(0);
        let mut next = lambda_powers as u32;
        for (trace, of) in traces.iter_mut().zip(programs()) {
            trace.logup_coefficients = next;
            next += of.logup_coefficients.len() as u32;
        }
        let (target_points, max_sections) = target_points(profile);
        Ok(Self {
            input,
            eq: EqLayout::new(traces.iter().map(|trace| trace.n_lift)),
            traces,
            tables,
            lambda_powers,
            max_sections,
            target_points,
            profile: profile.clone(),
            always,
        })
    }

    /// Uploads the tables: four copies.
    pub fn upload(&self, s: &CommandStream) -> Result<Resident, MetalProverError> {
        Ok(Resident {
            interpreter: Interpreter {
                code: MetalBuffer::from_host(s, &self.tables.code)?,
                uniforms: MetalBuffer::from_host(s, &self.tables.uniforms)?,
                operands: MetalBuffer::from_host(s, &self.tables.operands)?,
            },
            columns: MetalBuffer::from_host(s, &self.tables.columns)?,
        })
    }

    /// The buffers that the traces lie in.
    pub fn sources(&self) -> &Sources {
        &self.tables.sources
    }

    /// Words of the folded arena.
    pub fn fold_words(&self) -> u64 {
        self.tables.fold_words
    }

    /// The way in which the device executes threads.
    pub fn execution(&self) -> Execution {
        self.profile.execution
    }

    /// The sums of trace `t`.
    pub fn sums(&self, t: usize) -> &[SumProgram] {
        &self.input.traces[t].air_data.programs().sums
    }

    /// A program of trace `t`.
    pub fn program(&self, t: usize, id: ProgramId) -> &Program {
        let programs = self.input.traces[t].air_data.programs();
        match id {
            ProgramId::Sum(k) => &programs.sums[k].program,
            ProgramId::Leaves => &programs.leaves,
        }
    }

    /// Launches of the kernels of sum `k`'s rules with results from word `partials` on, and their sections; `None` if
    /// it is interpreted.
    pub fn rules(
        &self,
        t: usize,
        k: usize,
        partials: u64,
        evaluations: &Evaluations,
        tables: &mut SectionTables,
    ) -> Option<(Vec<RuleLaunch>, u32)> {
        let ready = &self.traces[t].rules[k];
        let kernels = ready.over(evaluations.field)?;
        let SumProgram { rules, program, .. } = &self.sums(t)[k];
        let Evaluations { job, count, .. } = *evaluations;
        let instructions = program.code.len() as u64;
        let launched = self.always || worth_a_launch(instructions, job.points.into(), count.into());
        if !launched || job.accumulators != rules.accumulators {
            return None;
        }
        let evaluation = RuleEvaluation {
            params: RuleParams {
                arena: job.arena,
                arena_stride: evaluations.arena_stride,
                partials,
                column_stride: job.column_stride,
                jobs: count,
                operands: ready.operands,
                coefficients: job.coefficients,
                uniforms: self.traces[t].uniforms,
                ..Default::default()
            },
            field: evaluations.field,
            points: job.points,
            vectors: self.profile.vectors,
        };
        evaluation.launches(&self.profile, tables, rules, kernels)
    }

    /// Registers and spill slots of a program.
    pub fn resources(&self, t: usize, id: ProgramId) -> Resources {
        let program = self.program(t, id);
        Resources {
            registers: program.registers,
            spills: program.spills,
        }
    }

    /// The jobs of a program cut into at most `sections`. Each has its own results: section `k` writes
    /// `4 * accumulators` planes from `job.partials + k * section_words` on.
    pub fn jobs(
        &self,
        t: usize,
        id: ProgramId,
        sections: usize,
        job: ConstraintEvalJob,
    ) -> Vec<ConstraintEvalJob> {
        let code = &self.traces[t].code;
        let first = match id {
            ProgramId::Sum(k) => code[k],
            ProgramId::Leaves => code[code.len() - 1],
        };
        let section_words = 4 * u64::from(job.accumulators) * u64::from(job.plane_stride);
        let sections = self.program(t, id).sections(sections);
        let cut = |(k, section): (usize, std::ops::Range<u32>)| ConstraintEvalJob {
            code_begin: first + section.start,
            code_end: first + section.end,
            partials: job.partials + k as u64 * section_words,
            uniforms: self.traces[t].uniforms,
            ..job
        };
        sections.into_iter().enumerate().map(cut).collect()
    }

    /// Into how many sections to cut programs when `points` points are to be evaluated.
    pub fn sections(&self, points: usize) -> usize {
        self.target_points
            .div_ceil(points.max(1))
            .clamp(1, self.max_sections)
    }
}

/// Points that keep a device busy, and the most sections that a program is cut into to get there.
pub(crate) fn target_points(profile: &DeviceProfile) -> (usize, usize) {
    match profile.execution {
        Execution::MultiCore => (1 << 11, 64),
        Execution::ManyCore => (1 << profile.threads_in_flight().ilog2(), 512),
    }
}
