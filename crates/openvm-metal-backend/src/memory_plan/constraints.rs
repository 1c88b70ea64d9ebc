//! Memory of LogUp-GKR and of the batch sumcheck.

use std::collections::BTreeSet;

use super::{
    shape::{ProofShape, TraceRules},
    BASE, EXT,
};
use crate::config::MetalProverConfig;

/// Words of extended columns at a time, as `prove_constraints` decides.
fn scratch_words(shape: &ProofShape, config: &MetalProverConfig) -> u64 {
    (config.constraint_scratch_bytes / BASE).max(fold_words(shape))
}

fn fold_words(shape: &ProofShape) -> u64 {
    let words = |trace: &TraceRules| (4 * trace.fold_rows) << trace.n_lift;
    shape.traces.iter().map(words).sum()
}

/// Equality tables of all levels, for each distinct number of variables.
fn eq_tables(shape: &ProofShape) -> u64 {
    let sizes: BTreeSet<usize> = shape.traces.iter().map(|trace| trace.n_lift).collect();
    sizes.into_iter().map(|n| (2 << n) * EXT).sum()
}

/// The leaves (a base numerator and a denominator) with the columns they are made of, then the leaves
/// with the tree above them (32 bytes per leaf).
pub(super) fn gkr(shape: &ProofShape, config: &MetalProverConfig) -> u64 {
    let leaves = shape.fractions * (BASE + EXT);
    let variables = |trace: &TraceRules| trace.logup_variables << (trace.n_lift + shape.l_skip);
    let arena: u64 = shape.traces.iter().map(variables).sum();
    let arena = arena.min(scratch_words(shape, config)) * BASE;
    leaves + arena.max(shape.fractions * 2 * EXT) + shape.tables
}

/// Extended columns and results of the programs' runs, pass by pass as `round0_sums` cuts them.
pub(super) fn round0(shape: &ProofShape, config: &MetalProverConfig) -> u64 {
    let scratch = scratch_words(shape, config);
    let (mut arena, mut partials) = (0, 0);
    let (mut used, mut results) = (0u64, 0u64);
    for trace in &shape.traces {
        let cosets = trace.cosets.into_iter().max().unwrap_or(0);
        if cosets == 0 {
            continue;
        }
        let words = |log_chunk: usize| (trace.variables * cosets) << (shape.l_skip + log_chunk);
        let mut log_chunk = trace.n_lift;
        while log_chunk > 4 && words(log_chunk) > scratch {
            log_chunk -= 1;
        }
        let points = 1u64 << (shape.l_skip + log_chunk);
        let parts = shape.parts(cosets * points);
        // One accumulator for constraints, two for interactions.
        let runs: u64 = (0..2)
            .map(|k| (k as u64 + 1) * trace.cosets[k] * trace.blocks[k].min(parts))
            .sum();
        for _ in 0..1u64 << (trace.n_lift - log_chunk) {
            if used > 0 && used + words(log_chunk) > scratch {
                (used, results) = (0, 0);
            }
            used += words(log_chunk);
            results += 4 * points * runs;
            arena = arena.max(used);
            partials = partials.max(results);
        }
    }
    (arena + partials) * BASE + eq_tables(shape) + shape.tables
}

/// The folded traces, the results of the first round, and two sets of equality tables: those of the
/// rounds and those of openings one row ahead.
pub(super) fn mle_rounds(shape: &ProofShape) -> u64 {
    let half = |trace: &TraceRules| 1u64 << trace.n_lift.saturating_sub(1);
    let most = shape.traces.iter().map(half).max().unwrap_or(1);
    let parts = shape.parts(shape.degree * most);
    let results = |trace: &TraceRules| {
        let runs: u64 = (0..2)
            .filter(|&k| trace.cosets[k] > 0)
            .map(|k| (k as u64 + 1) * trace.blocks[k].min(parts))
            .sum();
        4 * shape.degree * half(trace) * runs
    };
    let results: u64 = shape.traces.iter().map(results).sum();
    (fold_words(shape) + results) * BASE + 2 * eq_tables(shape) + shape.tables
}
