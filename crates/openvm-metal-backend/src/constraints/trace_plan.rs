//! One trace of a plan: where its programs, columns and openings lie in the tables that all traces share.

use std::{collections::HashMap, ops::Range};

use super::{
    column_set::ColumnSet,
    generated::ReadyKernel,
    input::{Sources, TraceInput, NO_COLUMN},
};
use crate::{
    config::ConstraintKernels,
    params::{ConstraintColumn, ConstraintInstruction},
    prelude::F,
    programs::Variable,
};

/// Where the opening of a column is found.
#[derive(Clone, Copy, Debug)]
pub enum Opening {
    /// Column of the folded arena.
    Folded(u32),
    /// Position among the columns opened one row ahead.
    Next(u32),
}

/// Variables that round 0 extends to the same number of cosets.
pub struct CosetColumns {
    pub cosets: usize,
    pub columns: ColumnSet,
}

/// One trace.
pub struct TracePlan {
    pub log_height: usize,
    /// Variables of the hypercube after the skip.
    pub n_lift: usize,
    /// First instruction of each sum's program, and of the leaves'.
    pub(super) code: Vec<u32>,
    /// First uniform.
    pub uniforms: u32,
    /// Variables that interactions use, and the others, by the cosets that they are read on.
    pub logup_sets: Vec<CosetColumns>,
    pub zerocheck_sets: Vec<CosetColumns>,
    /// Everything, to columns of the folded arena.
    pub fold_set: ColumnSet,
    /// Columns to open one row ahead that no program reads there, and the position of each entry.
    pub next_set: ColumnSet,
    pub next_order: Vec<u32>,
    /// Columns of the folded arena: the variables, then all others.
    pub folded_columns: u32,
    /// Word of column 0 of the folded arena.
    pub fold_base: u64,
    /// Kernels of each sum, if they are ready.
    pub(super) rules: Vec<Option<ReadyRules>>,
    /// Each opened column: common main, preprocessed, cached, (local, next) if rotated.
    pub openings: Vec<Vec<Opening>>,
}

/// A program whose kernels are ready.
pub(super) struct ReadyRules {
    pub kernels: Vec<ReadyKernel>,
    /// First word of its operands.
    pub operands: u32,
}

/// The tables of all traces.
#[derive(Default)]
pub(super) struct Tables {
    pub sources: Sources,
    pub columns: Vec<ConstraintColumn>,
    pub code: Vec<ConstraintInstruction>,
    pub uniforms: Vec<F>,
    pub operands: Vec<u32>,
    /// Words of the folded arena.
    pub fold_words: u64,
}

/// Entries of the column table with their groups of sources.
type Entries = Vec<(usize, ConstraintColumn)>;

/// The columns of a trace that are opened.
struct Opened {
    openings: Vec<Vec<Opening>>,
    /// To columns of the folded arena.
    fold: Entries,
    /// One row ahead, where no program reads them.
    next: Entries,
    folded_columns: u32,
}

impl Tables {
    /// Adds a trace. `mode` says whether kernels of its rules are used.
    pub fn add(
        &mut self,
        trace: &TraceInput<'_>,
        l_skip: usize,
        mode: ConstraintKernels,
    ) -> TracePlan {
        let programs = trace.air_data.programs();
        let mut next = self.code.len() as u32;
        self.code.extend_from_slice(trace.air_data.code());
        let code = programs.all().map(|program| {
            next += program.code.len() as u32;
            next - program.code.len() as u32
        });
        let code = code.collect();
        let uniforms = self.uniforms.len() as u32;
        let values = programs.uniform_values(trace.public_values);
        self.uniforms.extend(values);
        let logup_sets = self.sets(trace, 0..programs.logup_variables);
        let others = programs.logup_variables..programs.variables.len();
        let zerocheck_sets = self.sets(trace, others);
        let opened = self.opened(trace);
        let next_set = ColumnSet::new(&mut self.columns, opened.next);
        let next_order = next_set
            .ranges()
            .flat_map(|(_, entries)| entries)
            .map(|entry| self.columns[entry as usize].column)
            .collect();
        let n_lift = trace.n_lift(l_skip);
        let fold_base = self.fold_words;
        self.fold_words += (4 * u64::from(opened.folded_columns)) << n_lift;
        TracePlan {
            rules: (0..programs.sums.len())
                .map(|k| self.ready(trace, k, mode))
                .collect(),
            log_height: trace.log_height,
            n_lift,
            code,
            uniforms,
            logup_sets,
            zerocheck_sets,
            next_set,
            next_order,
            fold_set: ColumnSet::new(&mut self.columns, opened.fold),
            folded_columns: opened.folded_columns,
            fold_base,
            openings: opened.openings,
        }
    }

    /// A range of an AIR's variables by the cosets that they are read on.
    fn sets(&mut self, trace: &TraceInput<'_>, range: Range<usize>) -> Vec<CosetColumns> {
        let programs = trace.air_data.programs();
        let mut first = range.start;
        let same = programs.variable_cosets[range].chunk_by(|a, b| a == b);
        same.map(|same| {
            let variables = &programs.variables[first..first + same.len()];
            let (columns, sources) = (&mut self.columns, &mut self.sources);
            let columns = ColumnSet::of_variables(columns, sources, trace, variables, first);
            first += same.len();
            CosetColumns {
                cosets: same[0],
                columns,
            }
        })
        .collect()
    }

    /// Gives each opened column its place. The folded arena begins with the variables of the programs.
    fn opened(&mut self, trace: &TraceInput<'_>) -> Opened {
        let programs = trace.air_data.programs();
        let mut folded_columns = programs.variables.len() as u32;
        let mut column_of: HashMap<Variable, u32> =
            programs.variables.iter().copied().zip(0..).collect();
        let (mut fold, mut next) = (Entries::new(), Entries::new());
        for &v in &programs.variables {
            if !matches!(v, Variable::Column { .. }) {
                fold.push(self.sources.column(trace, v, column_of[&v]));
            }
        }
        let mut openings = Vec::new();
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
                let of_next = column_of.get(&ahead).copied();
                let (group, mut entry) = self.sources.column(trace, here, local);
                entry.next_column = of_next.unwrap_or(NO_COLUMN);
                fold.push((group, entry));
                opened.push(Opening::Folded(local));
                if programs.need_rot {
                    opened.push(of_next.map_or_else(
                        || {
                            let position = next.len() as u32;
                            next.push(self.sources.column(trace, ahead, position));
                            Opening::Next(position)
                        },
                        Opening::Folded,
                    ));
                }
            }
            openings.push(opened);
        }
        openings.rotate_right(1); // common main comes first
        Opened {
            openings,
            fold,
            next,
            folded_columns,
        }
    }

    /// The kernels of sum `k`, if there are any and they are ready; their operands are added.
    fn ready(
        &mut self,
        trace: &TraceInput<'_>,
        k: usize,
        mode: ConstraintKernels,
    ) -> Option<ReadyRules> {
        let kernels = trace.air_data.kernels()[k].as_ref();
        let kernels = kernels.filter(|_| mode != ConstraintKernels::Interpreted)?;
        let kernels = kernels.ready(mode == ConstraintKernels::Generated)?;
        let operands = self.operands.len() as u32;
        let of_rules = &trace.air_data.programs().sums[k].rules.operands;
        self.operands.extend_from_slice(of_rules);
        Some(ReadyRules { kernels, operands })
    }
}
