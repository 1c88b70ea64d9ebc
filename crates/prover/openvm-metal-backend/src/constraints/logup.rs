//! The LogUp part before the batch sumcheck: stacked interactions, their leaves, GKR.

use std::cmp::max;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    calculate_n_logup,
    prover::{fractional_sumcheck_gkr::FracSumcheckProof, stacked_pcs::StackedLayout},
    FiatShamirTranscript,
};

use super::{
    leaves::LeavesPlan,
    plan::{Plan, Resident},
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    gkr::fractional_sumcheck_beside,
    hash::HashScheme,
    prelude::{EF, F},
    tensor::powers,
};

/// GKR's results for the batch sumcheck.
pub struct LogupGkr<SC: HashScheme> {
    pub pow_witness: F,
    pub proof: FracSumcheckProof<SC>,
    /// Variables of the leaves after the skip.
    pub n_logup: usize,
    /// Powers of beta up to the length of the longest message.
    pub beta_powers: Vec<EF>,
    /// The point at which the leaves are to be evaluated, with further coordinates up to those of the tallest trace.
    pub xi: Vec<EF>,
}

/// Places of the interactions among the leaves, and the evaluation of these: planned from the shapes.
pub struct LogupPlan {
    layout: StackedLayout,
    n_logup: usize,
    /// Elements of the longest message.
    longest: usize,
    /// None without interactions.
    leaves: Option<LeavesPlan>,
}

impl LogupPlan {
    /// First row of interaction `i` of trace `t` among the stacked ones.
    pub fn row(&self, t: usize, i: usize) -> usize {
        self.layout.get(t, i).map_or(0, |slice| slice.row_idx)
    }

    /// Variables of the leaves.
    pub fn log_len(&self, l_skip: usize) -> usize {
        l_skip + self.n_logup
    }

    /// No AIR has interactions.
    pub fn is_empty(&self) -> bool {
        self.leaves.is_none()
    }

    /// `scratch_words` bounds the memory of copied columns.
    ///
    /// # Errors
    /// Too many interactions for the stacked layout.
    pub fn new(plan: &Plan, scratch_words: u64) -> Result<Self, MetalProverError> {
        let l_skip = plan.input.l_skip;
        let interactions = || {
            let traces = plan.input.traces.iter();
            traces.map(|trace| &trace.air_data.programs().interactions)
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
        let longest = interactions().flatten().map(|&(_, len)| len).max();
        let leaves = match layout.sorted_cols.is_empty() {
            true => None,
            false => Some(LeavesPlan::new(plan, &layout, scratch_words)?),
        };
        Ok(Self {
            layout,
            n_logup,
            longest: longest.unwrap_or(0) as usize,
            leaves,
        })
    }
}

/// Inputs of LogUp-GKR.
pub struct GkrInputs<'a> {
    pub plan: &'a Plan,
    pub resident: &'a Resident,
    pub logup: LogupPlan,
    /// The witness that the transcript has absorbed before.
    pub pow_witness: F,
}

/// Samples `alpha` and `beta`, and proves the sum of all interactions. `meanwhile` encodes what the device does next, on its
/// transcript before the host's goes through the messages.
///
/// # Errors
/// Unbalanced interactions, failures of the device or of `meanwhile`.
pub fn prove_logup_gkr<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static, A>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    inputs: GkrInputs<'_>,
    meanwhile: impl FnOnce() -> Result<A, MetalProverError>,
) -> Result<(LogupGkr<SC>, A), MetalProverError> {
    let GkrInputs {
        plan,
        resident,
        logup,
        pow_witness,
    } = inputs;
    let l_skip = plan.input.l_skip;
    let n_logup = logup.n_logup;
    let alpha = transcript.sample_ext();
    let beta = transcript.sample_ext();
    let beta_powers = powers(beta, logup.longest + 1);
    let leaves = match logup.leaves {
        None => None,
        Some(leaves) => {
            let _stage = s.stage("prover.rap_constraints.logup_gkr.input_evals");
            let log_len = l_skip + n_logup;
            let challenges = (alpha, &beta_powers[..]);
            let log_host = config.gkr_host_log_layer;
            let leaves = leaves.evaluate(s, plan, resident, log_len, challenges, log_host)?;
            Some(leaves)
        }
    };
    let (proof, mut xi, meanwhile) = {
        let _stage = s.stage("prover.rap_constraints.logup_gkr");
        fractional_sumcheck_beside(s, config, transcript, leaves, true, meanwhile)?
    };
    let n_max = plan.traces.first().map_or(0, |trace| trace.n_lift);
    while xi.len() != l_skip + max(n_max, n_logup) {
        xi.push(transcript.sample_ext());
    }
    let gkr = LogupGkr {
        pow_witness,
        proof,
        n_logup,
        beta_powers,
        xi,
    };
    Ok((gkr, meanwhile))
}
