//! Reduction of column openings to one opening of the stacked matrices (`docs/design/stacked-reduction.md`).
//!
//! Columns of one height are batched by powers of lambda before the sumcheck, so the sumcheck of a
//! height runs on two extension columns. A column's own value is needed only after the variables of
//! its height are bound: from then on it is one block of the stacked matrix, and the rest is a sumcheck
//! over blocks: on the device's transcript the device's, else the host's.

mod batch;
mod blocks;
mod claims;
mod columns;
mod device_transcript;
mod factors;
mod plan;
mod planned;
mod ranges;
mod round0;
mod rounds;
mod tables;
mod univariate;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{proof::StackingProof, FiatShamirTranscript};

pub(crate) use self::plan::{batched_len, partials_len, round_len};
use self::{
    batch::BatchPlan,
    claims::Claims,
    columns::BoundColumns,
    plan::Plan,
    ranges::Sources,
    round0::UnivariateFactors,
    rounds::{Begin, Rounds},
};
pub use self::{
    claims::StackedCommit,
    planned::{PlannedReduction, ReductionPlan},
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    hash::HashScheme,
    jobs::DeviceJobs,
    params::{StackedColumnJob, StackedTableJob},
    prelude::EF,
    transcript::sponge_for_device,
};

/// Rows, as a logarithm, from which on down the host finishes a height: on the host's transcript those of the configuration, on the
/// device's none.
pub fn host_log_rows<TS: 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &TS,
) -> usize {
    match sponge_for_device(s, config, transcript) {
        Some(_) => 0,
        None => config.mle_host_log_rows,
    }
}

/// Proves that the columns of all commitments open at `r` (and at its rotation) as the transcript says. `planned` is of these commitments.
///
/// The bytes are those of the reference's `prove_stacked_opening_reduction`. Returns the proof and the
/// point `u` of `1 + n_stack` coordinates at which the stacked matrices are opened. On the host's transcript, all heights are finished
/// on the host once the tallest has at most `2^mle_host_log_rows` rows left.
///
/// # Errors
/// A plan for other commitments or another transcript, too few coordinates for the tallest columns, failures of the device.
pub fn prove_stacked_reduction<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    planned: &PlannedReduction,
    commits: &[StackedCommit<'_>],
    r: &[EF],
) -> Result<(StackingProof<SC>, Vec<EF>), MetalProverError> {
    let _stage = s.stage("prover.openings.stacked_reduction");
    let host_log_rows = host_log_rows(s, config, transcript);
    let reduction = Reduction::new(s, planned, commits, r, host_log_rows)?;
    let lambda = transcript.sample_ext();
    let lambdas = reduction.claims.weights(lambda);
    let factors = UnivariateFactors::new(reduction.plan.l_skip, r[0]);
    let (begun, lambdas_on_device) = reduction.begin_univariate(&lambdas)?;
    let (coeffs, tables) = reduction.finish_univariate(begun, &factors)?;
    for &coeff in &coeffs {
        transcript.observe_ext(coeff);
    }
    let mut u = vec![transcript.sample_ext()];

    let begin = Begin {
        lambdas: &lambdas,
        lambdas_on_device,
        tables,
        u_0: u[0],
    };
    let n_stack = planned.plan.n_stack;
    let mut rounds = Rounds::new(&reduction, &planned.plan.blocks, &factors, begin)?;
    let mut round_polys = Vec::with_capacity(n_stack);
    if let Some(sponge) = sponge_for_device(s, config, transcript) {
        round_polys = rounds.prove_on_device(transcript, sponge, n_stack, &mut u)?;
    }
    for round in round_polys.len() + 1..=n_stack {
        let evals = rounds.evals(round)?;
        for &eval in &evals {
            transcript.observe_ext(eval);
        }
        round_polys.push(evals);
        u.push(transcript.sample_ext());
        rounds.bind(round, u[round]);
    }
    let stacking_openings = rounds.openings(n_stack)?;
    for &claim in stacking_openings.iter().flatten() {
        transcript.observe_ext(claim);
    }
    let proof = StackingProof {
        univariate_round_coeffs: coeffs,
        sumcheck_round_polys: round_polys,
        stacking_openings,
    };
    Ok((proof, u))
}

/// A reduction of commitments to a point.
struct Reduction<'a> {
    s: &'a CommandStream,
    commits: &'a [StackedCommit<'a>],
    r: &'a [EF],
    claims: &'a Claims,
    sources: Sources<'a>,
    plan: &'a Plan,
    batch: &'a BatchPlan,
    bound: &'a [BoundColumns],
    tables: &'a DeviceJobs<StackedTableJob>,
    columns: &'a DeviceJobs<StackedColumnJob>,
}

impl<'a> Reduction<'a> {
    fn new(
        s: &'a CommandStream,
        planned: &'a PlannedReduction,
        commits: &'a [StackedCommit<'a>],
        r: &'a [EF],
        host_log_rows: usize,
    ) -> Result<Self, MetalProverError> {
        let PlannedReduction {
            plan,
            tables,
            columns,
        } = planned;
        plan.check(commits, r.len(), host_log_rows)?;
        Ok(Self {
            s,
            commits,
            r,
            sources: Sources::new(commits, &plan.claims.ranges),
            bound: &plan.bound,
            claims: &plan.claims,
            plan: &plan.plan,
            batch: &plan.batch,
            tables,
            columns,
        })
    }
}
