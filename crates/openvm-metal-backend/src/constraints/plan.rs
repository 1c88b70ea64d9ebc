//! Tables of a proof that every step of the phase shares.

use std::collections::HashMap;

use openvm_metal_common::{CommandStream, DeviceKind, DeviceProfile, Execution, MetalBuffer};

use super::{
    column_set::ColumnSet,
    evaluations::Evaluations,
    generated::{ReadyPart, RuleLaunch, RulePoints, RunTables},
    input::{ConstraintInput, Sources, NO_COLUMN},
    interpreter::{Interpreter, Resources},
};
use crate::{
    config::{ConstraintKernels, MetalProverConfig},
    error::MetalProverError,
    params::{ConstraintColumn, ConstraintEvalJob, RuleParams},
    programs::{Program, Rules, Variable},
};

/// What a program of an AIR is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// The weighted sum of all constraints.
    Zerocheck,
    /// The weighted sums of the counts and the messages of all interactions.
    Logup,
    /// Each interaction by itself, for the GKR input layer.
    Leaves,
}

/// Where the opening of a column is found.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Column of the folded arena.
    Folded(u32),
    /// Position among the columns opened one row ahead.
    Next(u32),
}

/// One trace.
pub struct TracePlan {
    pub log_height: usize,
    /// Variables of the hypercube after the skip.
    pub n_lift: usize,
    /// First instruction of the AIR's programs, in the order of [`ProgramKind`].
    code: [u32; 3],
    /// First uniform.
    pub uniforms: u32,
    /// Variables that interactions use, and the others.
    pub logup_set: ColumnSet,
    pub zerocheck_set: ColumnSet,
    /// Everything, to columns of the folded arena.
    pub fold_set: ColumnSet,
    /// Columns to open one row ahead that no program reads there, and the position of each entry.
    pub next_set: ColumnSet,
    pub next_order: Vec<u32>,
    /// Columns of the folded arena: the variables, then all others.
    pub folded_columns: u32,
    /// Word of column 0 of the folded arena.
    pub fold_base: u64,
    /// Kernels of zerocheck and LogUp, if they are ready.
    rules: [Option<ReadyRules>; 2],
    /// Each opened column: common main, preprocessed, cached, (local, next) if rotated.
    pub openings: Vec<Vec<Opening>>,
}

/// A program whose kernels are ready.
struct ReadyRules {
    parts: Vec<ReadyPart>,
    /// First word of its rows.
    operands: u32,
}

/// The interpreter's steps (instructions times points) from which on a launch of its own is worth it.
const WORTH_A_LAUNCH: u64 = 1 << 24;

/// All traces and the shared tables.
pub struct Plan<'a> {
    pub input: &'a ConstraintInput<'a>,
    pub traces: Vec<TracePlan>,
    pub sources: Sources,
    pub columns: MetalBuffer<ConstraintColumn>,
    pub interpreter: Interpreter,
    /// Words of the folded arena.
    pub fold_words: u64,
    /// Points that keep the device busy; fewer are spread over several sections of a program.
    pub target_points: usize,
    /// Most sections of a program: each costs an accumulator per point.
    pub max_sections: usize,
    profile: DeviceProfile,
    /// Kernels run whatever there is to evaluate.
    always: bool,
    /// The device runs vectors of threads.
    vectors: bool,
}

impl<'a> Plan<'a> {
    /// Lays out columns, programs and uniforms, and uploads them: three copies.
    pub fn new(
        s: &CommandStream,
        config: &MetalProverConfig,
        input: &'a ConstraintInput<'a>,
    ) -> Result<Self, MetalProverError> {
        let mode = config.constraint_kernels.resolved()?;
        let always = mode == ConstraintKernels::Generated;
        let mut operands = Vec::new();
        let mut sources = Sources::default();
        let (mut columns, mut code, mut uniforms) = (Vec::new(), Vec::new(), Vec::new());
        let mut traces = Vec::with_capacity(input.traces.len());
        let mut fold_words = 0;
        for trace in &input.traces {
            let programs = trace.air_data.programs();
            let first = code.len() as u32;
            code.extend_from_slice(trace.air_data.code());
            let logup = first + programs.zerocheck.code.len() as u32;
            let leaves = logup + programs.logup.code.len() as u32;
            let first_uniform = uniforms.len() as u32;
            uniforms.extend(programs.uniform_values(trace.public_values));
            let (with, without) = programs.variables.split_at(programs.logup_variables);
            let mut set = |variables: &[Variable], first: usize| {
                ColumnSet::of_variables(&mut columns, &mut sources, trace, variables, first)
            };
            let (logup_set, zerocheck_set) = (set(with, 0), set(without, with.len()));

            // Columns of the folded arena.
            let mut folded_columns = programs.variables.len() as u32;
            let mut column_of: HashMap<Variable, u32> = programs
                .variables
                .iter()
                .enumerate()
                .map(|(i, &v)| (v, i as u32))
                .collect();
            let mut entries = Vec::new();
            for &v in &programs.variables {
                if !matches!(v, Variable::Column { .. }) {
                    entries.push(sources.column(trace, v, column_of[&v]));
                }
            }
            let (mut openings, mut next_entries) = (Vec::new(), Vec::new());
            for (part, &width) in programs.part_widths.iter().enumerate() {
                let mut opened = Vec::new();
                for column in 0..width as u32 {
                    let part = part as u32;
                    let [here, ahead] =
                        [false, true].map(|next| Variable::Column { part, column, next });
                    let local = *column_of.entry(here).or_insert_with(|| {
                        folded_columns += 1;
                        folded_columns - 1
                    });
                    let next = column_of.get(&ahead).copied();
                    let (group, mut entry) = sources.column(trace, here, local);
                    entry.next_column = next.unwrap_or(NO_COLUMN);
                    entries.push((group, entry));
                    opened.push(Opening::Folded(local));
                    if programs.need_rot {
                        opened.push(next.map_or_else(
                            || {
                                let position = next_entries.len() as u32;
                                next_entries.push(sources.column(trace, ahead, position));
                                Opening::Next(position)
                            },
                            Opening::Folded,
                        ));
                    }
                }
                openings.push(opened);
            }
            openings.rotate_right(1); // common main comes first
            let n_lift = trace.n_lift(input.l_skip);
            let next_set = ColumnSet::new(&mut columns, next_entries);
            let next_order = next_set
                .ranges()
                .flat_map(|(_, entries)| entries)
                .map(|entry| columns[entry as usize].column)
                .collect();
            let mut ready = |k: usize| {
                let kernels = trace.air_data.kernels()[k].as_ref();
                let kernels = kernels.filter(|_| mode != ConstraintKernels::Interpreted)?;
                let parts = kernels.ready(always)?;
                let first = operands.len() as u32;
                operands.extend_from_slice(&programs.rules()[k].operands);
                Some(ReadyRules {
                    parts,
                    operands: first,
                })
            };
            traces.push(TracePlan {
                rules: [ready(0), ready(1)],
                log_height: trace.log_height,
                n_lift,
                code: [first, logup, leaves],
                uniforms: first_uniform,
                logup_set,
                zerocheck_set,
                next_set,
                next_order,
                fold_set: ColumnSet::new(&mut columns, entries),
                folded_columns,
                fold_base: fold_words,
                openings,
            });
            fold_words += (4 * u64::from(folded_columns)) << n_lift;
        }
        let interpreter = Interpreter {
            code: MetalBuffer::from_host(s, &code)?,
            uniforms: MetalBuffer::from_host(s, &uniforms)?,
            operands: MetalBuffer::from_host(s, &operands)?,
        };
        let (target_points, max_sections) = target_points(s.context().device_profile());
        Ok(Self {
            input,
            traces,
            sources,
            columns: MetalBuffer::from_host(s, &columns)?,
            interpreter,
            fold_words,
            max_sections,
            target_points,
            profile: s.context().device_profile().clone(),
            always,
            vectors: s.context().info().kind == DeviceKind::Cpu,
        })
    }

    /// A program of trace `t`.
    pub fn program(&self, t: usize, kind: ProgramKind) -> &'a Program {
        let programs = self.input.traces[t].air_data.programs();
        match kind {
            ProgramKind::Zerocheck => &programs.zerocheck,
            ProgramKind::Logup => &programs.logup,
            ProgramKind::Leaves => &programs.leaves,
        }
    }

    /// Launches of the kernels of a program's rules with results from word `partials` on, and their sections; `None` if
    /// it is interpreted.
    pub fn rules(
        &self,
        t: usize,
        kind: ProgramKind,
        partials: u64,
        evaluations: &Evaluations,
        tables: &mut RunTables,
    ) -> Option<(Vec<RuleLaunch>, u32)> {
        let k = match kind {
            ProgramKind::Zerocheck => 0,
            ProgramKind::Logup => 1,
            ProgramKind::Leaves => return None,
        };
        let ready = self.traces[t].rules[k].as_ref()?;
        let rules: &Rules = self.input.traces[t].air_data.programs().rules()[k];
        let Evaluations { job, count, .. } = *evaluations;
        let steps = u64::from(job.points) * u64::from(count);
        let steps = steps * self.program(t, kind).code.len() as u64;
        if (!self.always && steps < WORTH_A_LAUNCH) || job.accumulators != rules.accumulators {
            return None;
        }
        let points = RulePoints {
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
            points: job.points,
            vectors: self.vectors,
        };
        points.launches(&self.profile, tables, rules, &ready.parts)
    }

    /// Registers and spill slots of a program.
    pub fn resources(&self, t: usize, kind: ProgramKind) -> Resources {
        let program = self.program(t, kind);
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
        kind: ProgramKind,
        sections: usize,
        job: ConstraintEvalJob,
    ) -> Vec<ConstraintEvalJob> {
        let first = self.traces[t].code[kind as usize];
        let section_words = 4 * u64::from(job.accumulators) * u64::from(job.plane_stride);
        let sections = self.program(t, kind).sections(sections);
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
