//! Tables of a proof that every step of the phase shares.

use openvm_metal_common::{CommandStream, DeviceProfile, Execution, MetalBuffer, MetalError};

use super::{
    columns::{upload, ColumnSet},
    evaluator::{EvalTables, Resources},
    input::{ConstraintInput, Sources, NO_ROW},
};
use crate::{
    params::{ConstraintColumn, ConstraintEvalJob},
    prelude::F,
    programs::{Program, Variable},
};

/// Which program of an AIR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    Zerocheck,
    Logup,
    Leaves,
}

/// Where the opening of a column is found.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Row of the folded arena.
    Row(u32),
    /// Position among the columns opened one row ahead.
    Next(u32),
}

/// One trace.
pub struct TracePlan {
    pub log_height: usize,
    /// Variables of the hypercube after the skip.
    pub n_lift: usize,
    /// First instruction of the AIR's programs, in the order of [`Which`].
    code: [u32; 3],
    /// First uniform.
    pub uniforms: u32,
    /// Variables that interactions use, and the others.
    pub logup_set: ColumnSet,
    pub zerocheck_set: ColumnSet,
    /// Everything, to rows of the folded arena.
    pub fold_set: ColumnSet,
    /// Columns to open one row ahead that no program reads there, and the position of each entry.
    pub next_set: ColumnSet,
    pub next_order: Vec<u32>,
    /// Rows of the folded arena: the variables, then all other columns.
    pub fold_rows: u32,
    /// Word of row 0 of the folded arena.
    pub fold_base: u64,
    /// Each opened column: common main, preprocessed, cached, (local, next) if rotated.
    pub openings: Vec<Vec<Opening>>,
}

/// All traces and the shared tables.
pub struct Plan<'a> {
    pub input: &'a ConstraintInput<'a>,
    pub traces: Vec<TracePlan>,
    pub sources: Sources,
    pub columns: MetalBuffer<ConstraintColumn>,
    pub tables: EvalTables,
    /// Words of the folded arena.
    pub fold_words: u64,
    /// Points that keep the device busy; fewer are spread over several runs of a program.
    pub target_points: usize,
    /// Most runs of a program: each costs an accumulator per point.
    pub max_parts: usize,
}

impl<'a> Plan<'a> {
    /// Lays out columns, programs and uniforms, and uploads them: three copies.
    pub fn new(s: &CommandStream, input: &'a ConstraintInput<'a>) -> Result<Self, MetalError> {
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
            let mut set = |variables: &[Variable], row: usize| {
                ColumnSet::of_variables(&mut columns, &mut sources, trace, variables, row)
            };
            let (logup_set, zerocheck_set) = (set(with, 0), set(without, with.len()));

            // Rows of the folded arena.
            let mut rows = programs.variables.len() as u32;
            let mut row_of: std::collections::HashMap<Variable, u32> = programs
                .variables
                .iter()
                .enumerate()
                .map(|(i, &v)| (v, i as u32))
                .collect();
            let mut entries = Vec::new();
            for &v in &programs.variables {
                if !matches!(v, Variable::Column { .. }) {
                    entries.push(sources.column(trace, v, row_of[&v]));
                }
            }
            let (mut openings, mut next_entries) = (Vec::new(), Vec::new());
            for (part, &width) in programs.part_widths.iter().enumerate() {
                let mut opened = Vec::new();
                for column in 0..width as u32 {
                    let part = part as u32;
                    let [here, ahead] =
                        [false, true].map(|next| Variable::Column { part, column, next });
                    let local = *row_of.entry(here).or_insert_with(|| {
                        rows += 1;
                        rows - 1
                    });
                    let next = row_of.get(&ahead).copied();
                    let (group, mut entry) = sources.column(trace, here, local);
                    entry.next_row = next.unwrap_or(NO_ROW);
                    entries.push((group, entry));
                    opened.push(Opening::Row(local));
                    if programs.need_rot {
                        opened.push(next.map_or_else(
                            || {
                                let position = next_entries.len() as u32;
                                next_entries.push(sources.column(trace, ahead, position));
                                Opening::Next(position)
                            },
                            Opening::Row,
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
                .map(|entry| columns[entry as usize].row)
                .collect();
            traces.push(TracePlan {
                log_height: trace.log_height,
                n_lift,
                code: [first, logup, leaves],
                uniforms: first_uniform,
                logup_set,
                zerocheck_set,
                next_set,
                next_order,
                fold_set: ColumnSet::new(&mut columns, entries),
                fold_rows: rows,
                fold_base: fold_words,
                openings,
            });
            fold_words += (4 * u64::from(rows)) << n_lift;
        }
        let tables = EvalTables {
            code: upload(s, &code)?,
            uniforms: upload(s, &uniforms)?,
        };
        let (target_points, max_parts) = target_points(s.context().device_profile());
        Ok(Self {
            input,
            traces,
            sources,
            columns: upload(s, &columns)?,
            tables,
            fold_words,
            max_parts,
            target_points,
        })
    }

    /// A program of trace `t`.
    pub fn program(&self, t: usize, which: Which) -> &'a Program {
        let programs = self.input.traces[t].air_data.programs();
        match which {
            Which::Zerocheck => &programs.zerocheck,
            Which::Logup => &programs.logup,
            Which::Leaves => &programs.leaves,
        }
    }

    /// Registers and spill slots of a program.
    pub fn resources(&self, t: usize, which: Which) -> Resources {
        let program = self.program(t, which);
        Resources {
            registers: program.registers,
            spills: program.spills,
        }
    }

    /// The jobs of a program cut into at most `parts` runs. Each run has its own results: run `k` writes
    /// `4 * accumulators` planes from `job.partials + k * run_words` on.
    pub fn split(
        &self,
        t: usize,
        which: Which,
        parts: usize,
        job: ConstraintEvalJob,
    ) -> Vec<ConstraintEvalJob> {
        let first = self.traces[t].code[which as usize];
        let run_words = 4 * u64::from(job.accumulators) * u64::from(job.plane_stride);
        let runs = self.program(t, which).split(parts);
        let cut = |(k, run): (usize, std::ops::Range<u32>)| ConstraintEvalJob {
            code_begin: first + run.start,
            code_end: first + run.end,
            partials: job.partials + k as u64 * run_words,
            uniforms: self.traces[t].uniforms,
            ..job
        };
        runs.into_iter().enumerate().map(cut).collect()
    }

    /// Into how many runs to cut programs when `points` points are to be evaluated.
    pub fn parts(&self, points: usize) -> usize {
        self.target_points
            .div_ceil(points.max(1))
            .clamp(1, self.max_parts)
    }
}

/// Points that keep a device busy, and the most runs that a program is cut into to get there.
pub(crate) fn target_points(profile: &DeviceProfile) -> (usize, usize) {
    match profile.execution {
        Execution::MultiCore => (1 << 11, 64),
        Execution::ManyCore => (1 << profile.threads_in_flight().ilog2(), 512),
    }
}

/// Field tables of the coset extension (`metal/constraints/coset.h`).
pub fn coset_tables(l_skip: usize, cosets: usize) -> Vec<F> {
    use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};
    let n = 1usize << l_skip;
    let root = F::two_adic_generator(l_skip);
    let mut tables: Vec<F> = root.inverse().powers().take(n / 2).collect();
    tables.extend(root.powers().take(n / 2));
    let scale = F::from_usize(n).inverse();
    for shift in F::GENERATOR.powers().skip(1).take(cosets) {
        let powers: Vec<F> = shift.powers().take(n).collect();
        tables.extend((0..n).map(|k| {
            let reversed = if l_skip == 0 {
                0
            } else {
                k.reverse_bits() >> (usize::BITS as usize - l_skip)
            };
            powers[reversed] * scale
        }));
    }
    tables
}
