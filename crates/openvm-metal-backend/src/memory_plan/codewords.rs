//! How many codewords a commitment drops.

use openvm_metal_common::DeviceProfile;

use crate::{commit::CommitParams, config::MetalProverConfig, matrix::MetalMatrix, prelude::F};

/// Bytes of codewords to drop once they are hashed: what the constraint phase needs beside traces and codewords, so
/// that the peak of a proof is that of its commitment. Zero keeps all.
pub(crate) fn codeword_bytes_to_drop(
    config: &MetalProverConfig,
    profile: &DeviceProfile,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
) -> u64 {
    let cells: u64 = traces.iter().map(|trace| trace.num_cells() as u64).sum();
    let code = cells.saturating_mul(4) << params.log_blowup;
    let budget = config.memory_budget.unwrap_or(profile.budget);
    let most = profile.max_kept_codewords.unwrap_or(budget / 4);
    if config.keep_codewords.unwrap_or(code <= most) {
        return 0;
    }
    // The folded columns, and an eighth for those that programs read one row ahead.
    let folded = ((cells * 16) >> params.l_skip) / 8 * 9;
    folded.max(config.constraint_scratch_bytes)
}
