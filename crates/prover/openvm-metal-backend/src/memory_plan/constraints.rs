//! Memory of LogUp-GKR and of the batch sumcheck.

use std::collections::BTreeSet;

use super::shape::{ProofShape, TracePrograms};
use crate::{
    config::MetalProverConfig,
    constraints::{column_stride, EvalField},
    memory::{BASE, EXT},
};

/// Words of extended columns at a time, as `Plans::new` decides.
fn scratch_words(shape: &ProofShape, config: &MetalProverConfig) -> u64 {
    (config.constraint_scratch_bytes / BASE).max(fold_words(shape))
}

fn fold_words(shape: &ProofShape) -> u64 {
    let execution = shape.profile.execution;
    let words = |trace: &TracePrograms| {
        4 * trace.folded_columns * column_stride(execution, 1 << trace.n_lift)
    };
    shape.traces.iter().map(words).sum()
}

/// Equality tables of all levels, for each distinct number of variables.
pub(super) fn eq_tables(shape: &ProofShape) -> u64 {
    let sizes: BTreeSet<usize> = shape.traces.iter().map(|trace| trace.n_lift).collect();
    sizes.into_iter().map(|n| (2 << n) * EXT).sum()
}

/// Words of the three large buffers of an evaluation.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EvalWords {
    /// The columns that programs read.
    pub arena: u64,
    /// Their results.
    pub results: u64,
    /// Values of programs that have no register.
    pub spills: u64,
}

impl EvalWords {
    fn bytes(&self) -> u64 {
        (self.arena + self.results + self.spills) * BASE
    }
}

/// Threadgroups take at most this many points, and memory for spilled values by the threadgroup.
const BLOCK: u64 = 1 << 9;

/// Columns of the leaves' programs and values that they spill, for the largest pass.
pub(super) fn leaves(shape: &ProofShape, config: &MetalProverConfig) -> EvalWords {
    let scratch = scratch_words(shape, config);
    let mut most = EvalWords::default();
    let (mut used, mut points_used) = (0u64, 0u64);
    let spills = shape
        .traces
        .iter()
        .map(|t| t.leaf_spills)
        .max()
        .unwrap_or(0);
    for trace in shape.traces.iter().filter(|trace| trace.interacts) {
        let log_rows = trace.n_lift + shape.l_skip;
        let mut log_chunk = log_rows;
        while log_chunk > 6 && trace.logup_variables << log_chunk > scratch {
            log_chunk -= 1;
        }
        let words = trace.logup_variables << log_chunk;
        let sections = trace.leaf_blocks.min(shape.sections(1 << log_rows));
        for _ in 0..1u64 << (log_rows - log_chunk) {
            if used > 0 && used + words > scratch {
                (used, points_used) = (0, 0);
            }
            used += words;
            points_used += sections * (1u64 << log_chunk).next_multiple_of(BLOCK);
            most.arena = most.arena.max(used);
            most.spills = most.spills.max(points_used * spills);
        }
    }
    most
}

/// The leaves (a base numerator and a denominator) with the columns they are made of, then the leaves
/// with the tree above them (32 bytes per leaf).
pub(super) fn gkr(shape: &ProofShape, config: &MetalProverConfig) -> u64 {
    let made = leaves(shape, config).bytes();
    shape.fractions * (BASE + EXT) + made.max(shape.fractions * 2 * EXT) + shape.tables
}

/// Extended columns and results of the programs' sections, pass by pass as `Round0Plan` cuts them.
pub(super) fn round0_words(shape: &ProofShape, config: &MetalProverConfig) -> EvalWords {
    let scratch = scratch_words(shape, config);
    let mut most = EvalWords::default();
    let (mut used, mut results, mut section_points) = (0u64, 0u64, 0u64);
    let sums = shape.traces.iter().flat_map(|trace| &trace.sums);
    let spills = sums.map(|sum| sum.spills).max().unwrap_or(0);
    for trace in &shape.traces {
        let cosets = trace.sums.iter().map(|sum| sum.cosets).max().unwrap_or(0);
        if cosets == 0 {
            continue;
        }
        let stride = |log_chunk: usize| {
            column_stride(shape.profile.execution, 1 << (shape.l_skip + log_chunk))
        };
        let words = |log_chunk: usize| trace.variables * cosets * stride(log_chunk);
        let mut log_chunk = trace.n_lift;
        while log_chunk > 4 && words(log_chunk) > scratch {
            log_chunk -= 1;
        }
        let points = 1u64 << (shape.l_skip + log_chunk);
        // The interpreter's sections of all cosets, and the accumulators of these or of the kernels', whichever are more.
        let (mut sections, mut accumulators) = (0, 0);
        for sum in &trace.sums {
            let interpreted = sum.blocks.min(shape.sections(sum.cosets * points));
            let kernels = shape.kernel_sections(sum, EvalField::Base, points);
            sections += sum.cosets * interpreted;
            accumulators += sum.accumulators * sum.cosets * interpreted.max(kernels);
        }
        for _ in 0..1u64 << (trace.n_lift - log_chunk) {
            if used > 0 && used + words(log_chunk) > scratch {
                (used, results, section_points) = (0, 0, 0);
            }
            used += words(log_chunk);
            results += 4 * points * accumulators;
            section_points += points.next_multiple_of(BLOCK) * sections;
            most.arena = most.arena.max(used);
            most.results = most.results.max(results);
            most.spills = most.spills.max(section_points * spills);
        }
    }
    most
}

pub(super) fn round0(shape: &ProofShape, config: &MetalProverConfig) -> u64 {
    round0_words(shape, config).bytes() + eq_tables(shape) + shape.tables
}

/// The folded traces and the results of the first round.
pub(super) fn mle_words(shape: &ProofShape) -> EvalWords {
    let half = |trace: &TracePrograms| 1u64 << trace.n_lift.saturating_sub(1);
    let most = shape.traces.iter().map(half).max().unwrap_or(1);
    let sections = shape.sections(shape.degree * most);
    let mut words = EvalWords {
        arena: fold_words(shape),
        ..EvalWords::default()
    };
    let mut section_points = 0;
    let mut spills = 0;
    for trace in &shape.traces {
        for sum in &trace.sums {
            let interpreted = sum.blocks.min(sections);
            let kernels = shape.kernel_sections(sum, EvalField::Extension, half(trace));
            let of_all_x = sum.degree * interpreted.max(kernels);
            words.results += 4 * sum.accumulators * of_all_x * half(trace);
            section_points += sum.degree * interpreted * half(trace).next_multiple_of(BLOCK);
            spills = spills.max(sum.spills);
        }
    }
    words.spills = 4 * spills * section_points;
    words
}

/// The folded traces, the results of the first round, and two sets of equality tables: those of the
/// rounds and those of openings one row ahead.
pub(super) fn mle_rounds(shape: &ProofShape) -> u64 {
    mle_words(shape).bytes() + 2 * eq_tables(shape) + shape.tables
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use openvm_metal_common::{DeviceKind, DeviceProfile};

    use super::{super::shape::SumShape, *};
    use crate::{constraints::PlannedSections, kept_codewords::KeptCodewords};

    /// One trace with a program of constraints of degree 3 and one of interactions of degree 2, where there are any.
    fn shape([constraints, interactions]: [bool; 2]) -> ProofShape {
        let sum = |degree, cosets, accumulators, spills| SumShape {
            cosets,
            degree,
            accumulators,
            blocks: 1,
            instructions: 1 << 12,
            spills,
            kernels: Default::default(),
        };
        let mut sums = Vec::new();
        if constraints {
            sums.push(sum(3, 2, 1, 2));
        }
        if interactions {
            sums.push(sum(2, 2, 2, 5));
        }
        let trace = TracePrograms {
            n_lift: 10,
            variables: 5,
            logup_variables: 3,
            folded_columns: 7,
            sums,
            leaf_blocks: 1,
            leaf_spills: 1,
            interacts: interactions,
        };
        ProofShape {
            l_skip: 4,
            log_height: 14,
            log_blowup: 1,
            k_whir: 4,
            whir_rounds: 2,
            degree: 3,
            profile: DeviceProfile::typical(DeviceKind::Cpu),
            budget: u64::MAX,
            kernels_always: false,
            trace_cells: 0,
            common_cells: 0,
            copied_cells: 0,
            committed_cells: 0,
            committed_parts: 0,
            kept: KeptCodewords::All,
            rate: 8,
            fractions: 0,
            traces: vec![trace],
            tables: 0,
            heights: BTreeMap::new(),
        }
    }

    /// An AIR without constraints or without interactions is given no memory for them.
    #[test]
    fn programs_that_are_not_there_need_nothing() {
        // Four words for constraints at three points of 2^9 pairs, eight for interactions at two, in one section.
        let constraints = (4 * 3) << 9;
        let interactions = (8 * 2) << 9;
        let results = |which| mle_words(&shape(which)).results;
        assert_eq!(results([true, true]), constraints + interactions);
        assert_eq!(results([true, false]), constraints);
        assert_eq!(results([false, true]), interactions);
        assert_eq!(results([false, false]), 0);
        let spills = |which| mle_words(&shape(which)).spills;
        assert!(spills([true, true]) > spills([false, true]));
        assert!(spills([false, true]) > spills([true, false]));
        assert_eq!(spills([false, false]), 0);
    }

    /// Results of kernels of rules have room: as many sections as they are cut into, in the first round and in all later ones. Where
    /// they are not launched they take none.
    #[test]
    fn sections_of_kernels_have_room() {
        let mut shape = shape([true, false]);
        shape.profile = DeviceProfile::named("h100-80gb").expect("a profile");
        let interpreted = mle_words(&shape).results;
        let planned = PlannedSections::of(&[(300, 1), (7, 1)]);
        shape.traces[0].sums[0].kernels[EvalField::Extension as usize] = planned.clone();
        // 2^9 pairs at two X, 2^12 instructions.
        assert_eq!(mle_words(&shape).results, interpreted);
        shape.kernels_always = true;
        let results = mle_words(&shape).results;
        assert!(results > interpreted);
        let spills = mle_words(&shape).spills;
        shape.traces[0].sums[0].kernels = Default::default();
        assert_eq!(mle_words(&shape).spills, spills);
        for log_points in 0..10 {
            let sections = planned.most(&shape.profile, 1 << log_points, 3);
            assert!(4 * 3 * (sections << log_points) <= results, "{log_points}");
        }
    }
}
