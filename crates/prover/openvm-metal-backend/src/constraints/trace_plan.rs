//! One trace of a plan: where its programs, columns and openings lie in the tables that all traces share.

use std::ops::Range;

use openvm_metal_common::Execution;

use super::{
    column_set::ColumnSet,
    column_stride::column_stride,
    eval_field::EvalField,
    generated::ReadyKernel,
    input::{PartSources, Sources, TraceInput, NO_COLUMN},
};
use crate::{
    config::ConstraintKernels,
    params::{ConstraintColumn, ConstraintInstruction},
    prelude::F,
    programs::{AirPrograms, SumKind},
};

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
    /// Words between planes of the folded arena; a column has four.
    pub plane_stride: u32,
    /// First entry of the coefficients of its LogUp programs; those of zerocheck are the powers of lambda, from 0 on.
    pub logup_coefficients: u32,
    /// Kernels of each sum.
    pub(super) rules: Vec<ReadyRules>,
}

/// The kernels of a program that are ready.
#[derive(Default)]
pub(super) struct ReadyRules {
    /// By field.
    kernels: [Option<Vec<ReadyKernel>>; 2],
    /// First word of its operands.
    pub operands: u32,
}

impl ReadyRules {
    /// Kernels over a field, if they are ready.
    pub fn over(&self, field: EvalField) -> Option<&[ReadyKernel]> {
        self.kernels[field as usize].as_deref()
    }
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

impl TracePlan {
    /// First entry of the coefficients of a program of this kind.
    pub fn coefficients(&self, kind: SumKind) -> u32 {
        match kind {
            SumKind::Zerocheck => 0,
            SumKind::Logup => self.logup_coefficients,
        }
    }
}

impl Tables {
    /// Adds a trace. `mode` says whether kernels of its rules are used.
    pub fn add(
        &mut self,
        trace: &TraceInput,
        l_skip: usize,
        mode: ConstraintKernels,
        execution: Execution,
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
        let values = programs.uniform_values(&trace.public_values);
        self.uniforms.extend(values);
        let parts = self.sources.parts(trace);
        let logup_sets = self.sets(programs, &parts, 0..programs.logup_variables);
        let others = programs.logup_variables..programs.variables.len();
        let zerocheck_sets = self.sets(programs, &parts, others);
        let layout = trace.air_data.layout();
        let next_set = ColumnSet::of_variables(&mut self.columns, &parts, &layout.next, 0);
        let next_order = next_set
            .ranges()
            .flat_map(|(_, entries)| entries)
            .map(|entry| self.columns[entry as usize].column)
            .collect();
        let n_lift = trace.n_lift(l_skip);
        let fold_base = self.fold_words;
        let plane_stride = column_stride(execution, 1 << n_lift);
        self.fold_words += 4 * u64::from(layout.folded_columns) * plane_stride;
        let folded = layout.folded.iter().map(|folded| {
            let (group, mut entry) = parts.column(folded.variable, folded.column);
            entry.next_column = folded.next.unwrap_or(NO_COLUMN);
            (group, entry)
        });
        let fold_set = ColumnSet::new(&mut self.columns, folded.collect());
        TracePlan {
            rules: (0..programs.sums.len())
                .map(|k| self.ready(trace, k, mode))
                .collect(),
            log_height: trace.log_height,
            n_lift,
            code,
            uniforms,
            logup_coefficients: 0,
            logup_sets,
            zerocheck_sets,
            next_set,
            next_order,
            fold_set,
            folded_columns: layout.folded_columns,
            fold_base,
            plane_stride: plane_stride as u32,
        }
    }

    /// A range of an AIR's variables by the cosets that they are read on.
    fn sets(
        &mut self,
        programs: &AirPrograms,
        parts: &PartSources,
        range: Range<usize>,
    ) -> Vec<CosetColumns> {
        let mut first = range.start;
        let same = programs.variable_cosets[range].chunk_by(|a, b| a == b);
        same.map(|same| {
            let variables = &programs.variables[first..first + same.len()];
            let columns = ColumnSet::of_variables(&mut self.columns, parts, variables, first);
            first += same.len();
            CosetColumns {
                cosets: same[0],
                columns,
            }
        })
        .collect()
    }

    /// The kernels of sum `k` that are ready; if there are any its operands are added.
    fn ready(&mut self, trace: &TraceInput, k: usize, mode: ConstraintKernels) -> ReadyRules {
        if mode == ConstraintKernels::Interpreted {
            return ReadyRules::default();
        }
        let kernels = &trace.air_data.kernels()[k];
        let wait = mode == ConstraintKernels::Generated;
        let kernels = EvalField::ALL.map(|field| kernels.over(field)?.ready(wait));
        let operands = self.operands.len() as u32;
        if kernels.iter().any(Option::is_some) {
            let of_rules = &trace.air_data.programs().sums[k].rules.operands;
            self.operands.extend_from_slice(of_rules);
        }
        ReadyRules { kernels, operands }
    }
}
