//! Memory of the stacked reduction and of WHIR.

use super::shape::ProofShape;
use crate::{
    memory::{DIGEST, EXT},
    openings::stacked_reduction::{batched_len, partials_len, round_len},
};

/// Threadgroups and columns of the batching pass, as in `stacked_reduction::batch`.
const GROUPS: u64 = 512;
const MIN_CHUNK: u64 = 32;
const LOG_BLOCK: usize = 8;
const LOG_IN_PLACE: usize = 17;

/// The batched tables of all heights with what they are summed up from, or the tables of the first round that they fold into.
pub(super) fn stacked_reduction(shape: &ProofShape) -> u64 {
    let first: usize = tall(shape).map(round_len).sum();
    let second: usize = tall(shape).map(|vars| round_len(vars - 1)).sum();
    let (first, second) = (first as u64 * EXT, second as u64 * EXT);
    batched_bytes(shape)
        .max(batched_tables(shape) + first)
        .max(first + second)
}

/// Bytes of the batched tables and of what lies behind them in one buffer: first slots of columns, then sums of threadgroups.
pub(super) fn batched_bytes(shape: &ProofShape) -> u64 {
    let partials = partials_len(shape.l_skip, tall(shape)) as u64 * EXT;
    batched_tables(shape) + slots(shape).max(partials)
}

/// Variables of the heights that have some.
fn tall(shape: &ProofShape) -> impl Iterator<Item = usize> + Clone + '_ {
    let vars = shape.heights.keys();
    let vars = vars.map(|&log_height| log_height.saturating_sub(shape.l_skip));
    vars.filter(|&vars| vars > 0)
}

fn batched_tables(shape: &ProofShape) -> u64 {
    let vars = shape.heights.keys();
    let vars = vars.map(|&log_height| log_height.saturating_sub(shape.l_skip));
    vars.map(|vars| batched_len(shape.l_skip, vars) as u64 * EXT)
        .sum()
}

fn slots(shape: &ProofShape) -> u64 {
    let mut slots = 0;
    for (&log_height, parts) in &shape.heights {
        let log_rows = log_height.max(shape.l_skip);
        let rows = 1u64 << log_rows;
        if log_rows >= LOG_IN_PLACE {
            continue;
        }
        let blocks = rows >> LOG_BLOCK.min(log_rows);
        let chunks = |columns: u64| {
            let most = columns.div_ceil(MIN_CHUNK);
            GROUPS.div_ceil(blocks).min(most).max(1)
        };
        let count: u64 = parts.iter().map(|&columns| chunks(columns)).sum();
        if count > 1 {
            slots += count * 2 * rows * EXT;
        }
    }
    slots
}

/// Large buffers of WHIR.
pub(super) struct WhirBuffers {
    /// Bytes of the codeword of the second round, and of its tree.
    pub code: u64,
    pub tree: u64,
    /// Columns that are transformed again at a time.
    pub again: u64,
}

pub(super) fn whir_buffers(shape: &ProofShape) -> WhirBuffers {
    let log_code = (shape.log_height + shape.log_blowup).saturating_sub(1);
    let later = u64::from(shape.whir_rounds > 1);
    WhirBuffers {
        code: later * (EXT << log_code),
        tree: later * ((2 * DIGEST) << log_code.saturating_sub(shape.k_whir)),
        again: shape.kept.columns_again(shape.width(), shape.rate) as u64,
    }
}

/// The batched column; then the codeword of the second round with the scratch of its transform or with
/// its tree; then that of the third round while the one before is still to be opened. What was dropped of
/// the first codewords is transformed again in place, a part at a time, for the queries of the first round.
pub(super) fn whir(shape: &ProofShape) -> u64 {
    let folded = EXT << shape.log_height.saturating_sub(shape.k_whir);
    let batched = (EXT << shape.log_height) + folded;
    let WhirBuffers { code, tree, again } = whir_buffers(shape);
    let again = again * shape.column_bytes();
    if shape.whir_rounds < 2 {
        return batched.max(folded + again);
    }
    let encoded = folded + code + code.max(tree);
    let queries = 2 * folded + code + tree + again;
    let third = match shape.whir_rounds {
        2 => 0,
        _ => 2 * code + tree + 2 * (folded >> shape.k_whir),
    };
    batched.max(encoded).max(queries).max(third)
}
