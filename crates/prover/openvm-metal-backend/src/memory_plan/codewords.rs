//! Codewords that a commitment keeps.

use openvm_metal_common::DeviceProfile;

use super::{of_shape, shape::ProofShape};
use crate::{
    commit::CommitParams, config::MetalProverConfig, kept_codewords::KeptCodewords,
    matrix::MetalMatrix, memory::MemoryEstimate, prelude::F, prover_profile::ProverProfile,
};

/// Bytes that a proof can be planned with.
pub(crate) fn plannable(config: &MetalProverConfig, profile: &DeviceProfile) -> u64 {
    config
        .memory_budget
        .unwrap_or_else(|| MemoryEstimate::plannable(profile.budget))
}

/// Codewords that are kept where all exist at once: all that the device keeps, else as many columns are dropped as the constraint
/// phase needs memory for beside traces and codewords, so that the peak of a proof is that of its commitment.
pub(crate) fn kept_codewords(
    config: &MetalProverConfig,
    profile: &DeviceProfile,
    params: CommitParams,
    traces: &[&MetalMatrix<F>],
) -> KeptCodewords {
    let cells = traces.iter().map(|trace| trace.num_cells() as u64).sum();
    kept_of_cells(config, profile, params, cells)
}

fn kept_of_cells(
    config: &MetalProverConfig,
    profile: &DeviceProfile,
    params: CommitParams,
    cells: u64,
) -> KeptCodewords {
    let code = cells.saturating_mul(4) << params.log_blowup;
    let budget = config.memory_budget.unwrap_or(profile.budget);
    let of_profile = ProverProfile::new(profile, budget).max_kept_codewords;
    if code <= config.max_kept_codewords.unwrap_or(of_profile) {
        return KeptCodewords::All;
    }
    // The folded columns, and an eighth for those that programs read one row ahead.
    let folded = ((cells * 16) >> params.l_skip) / 8 * 9;
    let spare = folded.max(config.constraint_scratch_bytes);
    let rows = 1u64.checked_shl((params.log_height + params.log_blowup) as u32);
    KeptCodewords::AllBut(spare.div_ceil(rows.unwrap_or(u64::MAX).saturating_mul(4)) as usize)
}

/// The estimate of a proof, with what is kept if all codewords exist at once. If that is over the budget, or a buffer larger than the
/// device has, and codewords may be dropped: as many of the last columns are kept as fit, and the others never exist together.
/// `live` are the bytes of the device that are in use: beside its own inputs such a proof leaves room for them.
pub(super) fn fitting(
    mut shape: ProofShape,
    config: &MetalProverConfig,
    live: u64,
) -> MemoryEstimate {
    let estimate = of_shape(&shape, config);
    let (budget, rate) = (shape.budget, shape.rate);
    let others = live.saturating_sub(estimate.inputs);
    let profile = shape.profile.clone();
    let fits = |estimate: &MemoryEstimate, others: u64| {
        let has = |bytes| profile.has_buffer(bytes);
        estimate.peak().saturating_add(others) <= budget
            && estimate.buffers.iter().all(|b| has(b.bytes()))
    };
    let most = KeptCodewords::most_last(shape.width(), shape.rate);
    if fits(&estimate, 0) || most == 0 || config.max_kept_codewords == Some(u64::MAX) {
        return estimate;
    }
    let mut with = |columns: usize| {
        shape.kept = KeptCodewords::Last(columns);
        of_shape(&shape, config)
    };
    // One after another: where fewer columns are kept, windows can be wider.
    for columns in (rate..=most).rev().step_by(rate) {
        let estimate = with(columns);
        if fits(&estimate, others) {
            return estimate;
        }
    }
    with(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A GPU keeps the codewords that a quarter of its budget holds, or of the budget that it is given, or as many as the configuration says.
    #[test]
    fn a_quarter_of_the_budget_is_kept() {
        let params = CommitParams {
            l_skip: 4,
            log_height: 21,
            log_blowup: 1,
            k_whir: 4,
            kept: KeptCodewords::All,
            memory_budget: None,
        };
        let profile = DeviceProfile {
            budget: 1 << 30,
            ..DeviceProfile::named("h100-80gb").expect("a profile")
        };
        let plain = MetalProverConfig::default();
        let bounded = MetalProverConfig {
            memory_budget: Some(1 << 28),
            ..plain.clone()
        };
        let limited = |config: &MetalProverConfig| MetalProverConfig {
            max_kept_codewords: Some(1 << 20),
            ..config.clone()
        };
        let column = 4u64 << 22;
        for (config, most) in [
            (&plain, 1u64 << 28),
            (&bounded, 1 << 26),
            (&limited(&plain), 1 << 20),
            (&limited(&bounded), 1 << 20),
        ] {
            // Eight bytes of codewords for each cell.
            let kept = |cells| kept_of_cells(config, &profile, params, cells);
            assert_eq!(kept(most / 8), KeptCodewords::All, "{most}");
            let scratch = config.constraint_scratch_bytes.div_ceil(column) as usize;
            assert_eq!(kept(most / 8 + 1), KeptCodewords::AllBut(scratch), "{most}");
        }
        let kept = MetalProverConfig {
            max_kept_codewords: Some(u64::MAX),
            ..plain
        };
        assert_eq!(
            kept_of_cells(&kept, &profile, params, 1 << 40),
            KeptCodewords::All
        );
    }
}
