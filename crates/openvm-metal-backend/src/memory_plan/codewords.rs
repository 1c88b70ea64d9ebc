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
    let cells = traces.iter().map(|trace| trace.num_cells() as u64).sum();
    bytes_to_drop(config, profile, params, cells)
}

fn bytes_to_drop(
    config: &MetalProverConfig,
    profile: &DeviceProfile,
    params: CommitParams,
    cells: u64,
) -> u64 {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A device keeps the codewords that a quarter of its budget holds, or of the budget that it is given, or what its profile says.
    #[test]
    fn a_quarter_of_the_budget_is_kept() {
        let params = CommitParams {
            l_skip: 4,
            log_height: 21,
            log_blowup: 1,
            k_whir: 4,
            spare_bytes: 0,
        };
        let unsaid = DeviceProfile {
            budget: 1 << 30,
            max_kept_codewords: None,
            ..DeviceProfile::named("h100-80gb").expect("a profile")
        };
        let said = DeviceProfile {
            max_kept_codewords: Some(1 << 20),
            ..unsaid.clone()
        };
        let plain = MetalProverConfig::default();
        let bounded = MetalProverConfig {
            memory_budget: Some(1 << 28),
            ..plain.clone()
        };
        for (config, profile, most) in [
            (&plain, &unsaid, 1u64 << 28),
            (&bounded, &unsaid, 1 << 26),
            (&plain, &said, 1 << 20),
            (&bounded, &said, 1 << 20),
        ] {
            // Eight bytes of codewords for each cell.
            let dropped = |cells| bytes_to_drop(config, profile, params, cells);
            assert_eq!(dropped(most / 8), 0, "{most}");
            assert!(
                dropped(most / 8 + 1) >= config.constraint_scratch_bytes,
                "{most}"
            );
        }
        let kept = MetalProverConfig {
            keep_codewords: Some(true),
            ..plain
        };
        assert_eq!(bytes_to_drop(&kept, &unsaid, params, 1 << 40), 0);
    }
}
