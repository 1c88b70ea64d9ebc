//! Reduction of column openings to one opening of the stacked matrices (`docs/stacked-reduction.md`).
//!
//! Columns of one height are batched by powers of lambda before the sumcheck, so the sumcheck of a
//! height runs on two extension columns. A column's own value is needed only after the variables of
//! its height are bound: from then on it is one block of the stacked matrix, and the rest is a sumcheck
//! over blocks: on the device's transcript the device's until the tallest height is bound, else the host's.

mod batch;
mod blocks;
mod claims;
mod columns;
mod device_transcript;
mod factors;
mod plan;
mod ranges;
mod round0;
mod rounds;
mod tables;
mod univariate;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{proof::StackingProof, FiatShamirTranscript};

pub use self::claims::StackedCommit;
pub(crate) use self::plan::{batched_len, partials_len, round_len};
use self::{
    batch::BatchPlan,
    blocks::BlockPlan,
    claims::{Claims, Height},
    columns::BoundColumns,
    plan::Plan,
    ranges::Sources,
    round0::UnivariateFactors,
    rounds::{Begin, Rounds},
};
use crate::{
    beside::beside,
    config::MetalProverConfig,
    error::MetalProverError,
    jobs::{DeviceJobs, JobTable},
    params::{StackedColumnJob, StackedTableJob},
    prelude::{EF, SC},
    transcript::sponge_for_device,
};

/// Proves that the columns of all commitments open at `r` (and at its rotation) as the transcript says.
///
/// The bytes are those of the reference's `prove_stacked_opening_reduction`. Returns the proof and the
/// point `u` of `1 + n_stack` coordinates at which the stacked matrices are opened. On the host's transcript, all heights are finished
/// on the host once the tallest has at most `2^mle_host_log_rows` rows left.
pub fn prove_stacked_reduction<TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    l_skip: usize,
    n_stack: usize,
    commits: &[StackedCommit<'_>],
    r: &[EF],
) -> Result<(StackingProof<SC>, Vec<EF>), MetalProverError> {
    let _stage = s.stage("prover.openings.stacked_reduction");
    let lambda = transcript.sample_ext();
    let host_log_rows = match sponge_for_device(s, config, transcript) {
        Some(_) => 0,
        None => config.mle_host_log_rows,
    };
    let reduction = Reduction::new(s, l_skip, n_stack, commits, r, host_log_rows)?;
    let lambdas = reduction.claims.weights(lambda);
    let factors = UnivariateFactors::new(l_skip, r[0]);
    let (begun, lambdas_on_device) = reduction.begin_univariate(&lambdas)?;
    let (claims, bound) = (&reduction.claims, &reduction.bound);
    let (blocks, finished) = beside(
        || BlockPlan::new(n_stack, claims, bound),
        || reduction.finish_univariate(begun, &factors),
    );
    let (coeffs, tables) = finished?;
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
    let mut rounds = Rounds::new(&reduction, &blocks, &factors, begin)?;
    let mut round_polys = Vec::with_capacity(n_stack);
    if let Some(sponge) = sponge_for_device(s, config, transcript) {
        round_polys = rounds.prove_on_device(transcript, sponge, &mut u)?;
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

/// What follows from the shapes: plans, and the jobs of all dispatches on the device.
struct Reduction<'a> {
    s: &'a CommandStream,
    commits: &'a [StackedCommit<'a>],
    r: &'a [EF],
    claims: Claims,
    sources: Sources<'a>,
    plan: Plan,
    batch: BatchPlan,
    bound: Vec<BoundColumns>,
    tables: DeviceJobs<StackedTableJob>,
    columns: DeviceJobs<StackedColumnJob>,
}

impl<'a> Reduction<'a> {
    fn new(
        s: &'a CommandStream,
        l_skip: usize,
        n_stack: usize,
        commits: &'a [StackedCommit<'a>],
        r: &'a [EF],
        host_log_rows: usize,
    ) -> Result<Self, MetalProverError> {
        let claims = Claims::new(l_skip, commits)?;
        let tallest = claims.heights.first().map_or(0, Height::n_lift);
        if tallest > n_stack || tallest >= r.len() {
            return Err(claims::internal(format!(
                "a column of 2^{} rows in stacked matrices of 2^{}, opened at {} coordinates",
                l_skip + tallest,
                l_skip + n_stack,
                r.len()
            )));
        }
        let (mut columns, mut tables) = (JobTable::default(), JobTable::default());
        let plan = Plan::new(l_skip, &claims, host_log_rows, &mut tables);
        let batch = BatchPlan::new(&claims, &plan, &mut columns, &mut tables);
        Ok(Self {
            s,
            commits,
            r,
            sources: Sources::new(commits, &claims.ranges),
            bound: BoundColumns::plan(l_skip, &claims, &mut columns),
            claims,
            plan,
            batch,
            tables: tables.upload(s)?,
            columns: columns.upload(s)?,
        })
    }
}
