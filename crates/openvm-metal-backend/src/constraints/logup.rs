//! The LogUp part before the batch sumcheck: stacked interactions, their leaves, GKR.

use std::cmp::max;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    calculate_n_logup,
    prover::{fractional_sumcheck_gkr::FracSumcheckProof, stacked_pcs::StackedLayout},
    FiatShamirTranscript,
};
use p3_field::PrimeCharacteristicRing;

use super::{leaves::interaction_leaves, plan::Plan};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    gkr::fractional_sumcheck,
    prelude::{EF, F, SC},
};

/// What GKR leaves for the batch sumcheck.
pub struct LogupGkr {
    pub pow_witness: F,
    pub proof: FracSumcheckProof<SC>,
    /// Where each interaction of each trace lies among the leaves.
    pub layout: StackedLayout,
    /// Variables of the leaves after the skip.
    pub n_logup: usize,
    /// Powers of beta up to the length of the longest message.
    pub beta_powers: Vec<EF>,
    /// The point at which the leaves are to be evaluated, with further coordinates up to those of the tallest trace.
    pub xi: Vec<EF>,
}

/// Grinds, samples `alpha` and `beta`, and proves the sum of all interactions.
///
/// # Errors
/// Unbalanced interactions, too many of them for the stacked layout, failures of the device.
pub fn prove_logup_gkr<TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    plan: &Plan<'_>,
    scratch_words: u64,
) -> Result<LogupGkr, MetalProverError> {
    let input = plan.input;
    let l_skip = input.l_skip;
    let interactions = || {
        input
            .traces
            .iter()
            .map(|t| &t.air_data.programs().interactions)
    };
    let stacked: Vec<_> = plan
        .traces
        .iter()
        .zip(interactions())
        .map(|(trace, interactions)| (interactions.len(), trace.log_height.max(l_skip)))
        .collect();
    let total = stacked
        .iter()
        .map(|&(count, log_rows)| (count as u64) << log_rows);
    let n_logup = calculate_n_logup(l_skip, total.sum());
    let layout = StackedLayout::new(0, l_skip + n_logup, stacked)?;

    let pow_witness = transcript.grind(input.logup_pow_bits);
    s.alive()?;
    let alpha = transcript.sample_ext();
    let beta = transcript.sample_ext();
    let longest = interactions().flatten().map(|&(_, len)| len).max();
    let beta_powers: Vec<EF> = beta
        .powers()
        .take(longest.unwrap_or(0) as usize + 1)
        .collect();

    let leaves = if layout.sorted_cols.is_empty() {
        None
    } else {
        let _stage = s.stage("prover.rap_constraints.logup_gkr.input_evals");
        Some(interaction_leaves(
            s,
            plan,
            &layout,
            l_skip + n_logup,
            alpha,
            &beta_powers,
            scratch_words,
        )?)
    };
    let (proof, mut xi) = {
        let _stage = s.stage("prover.rap_constraints.logup_gkr");
        fractional_sumcheck(s, config, transcript, leaves, true)?
    };
    let n_max = plan.traces.first().map_or(0, |trace| trace.n_lift);
    while xi.len() != l_skip + max(n_max, n_logup) {
        xi.push(transcript.sample_ext());
    }
    Ok(LogupGkr {
        pow_witness,
        proof,
        layout,
        n_logup,
        beta_powers,
        xi,
    })
}
