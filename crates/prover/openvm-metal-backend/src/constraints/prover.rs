//! The driver: the protocol of the reference prover's `prove_zerocheck_and_logup`, every message
//! computed on the device up to a handful of field elements.

use std::iter;

use openvm_metal_common::{CommandStream, MetalBuffer};
use openvm_stark_backend::{
    poly_common::{eval_eq_sharp_uni, eval_eq_uni},
    proof::{column_openings_by_rot, BatchConstraintProof, GkrProof},
    FiatShamirTranscript,
};
use p3_field::TwoAdicField;

use super::{
    input::ConstraintInput,
    logup::{prove_logup_gkr, GkrInputs},
    mle::{openings, MlePlan, RoundInputs},
    next_openings::NextPlan,
    plan::{Plan, Resident},
    planned::{PlannedConstraints, Plans},
    sums::{DevicePoint, EqTables},
    univariate::lagrange_weights,
    univariate_round::{UnivariateInputs, UnivariateRound},
    weights::Weights,
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    hash::HashScheme,
    prelude::{EF, F},
    tensor::powers,
};

/// Outputs of the phase.
pub struct ConstraintOutput<SC: HashScheme, A> {
    pub gkr: GkrProof<SC>,
    pub batch: BatchConstraintProof<SC>,
    /// The point at which the columns are opened.
    pub r: Vec<EF>,
    /// Result of the caller's work during the phase.
    pub meanwhile: A,
}

/// Proves that all traces satisfy their constraints and that the interactions balance. `meanwhile` is done while the device works on the
/// last rounds.
///
/// # Errors
/// Unbalanced interactions, too many of them for the stacked layout, failures of the device or of `meanwhile`.
pub fn prove_constraints<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static, A>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    planned: PlannedConstraints,
    meanwhile: impl FnOnce() -> Result<A, MetalProverError>,
) -> Result<ConstraintOutput<SC, A>, MetalProverError> {
    let _stage = s.stage("prover.rap_constraints");
    let logup_pow_bits = planned.logup_pow_bits;
    let (plans, resident) = planned.join(s)?;
    let Plans {
        plan,
        logup,
        weights,
        round0,
        mle,
        next,
    } = plans;
    let (l_skip, is_empty) = (plan.input.l_skip, logup.is_empty());
    // The extension of round 0 needs no challenge: the device begins it while the host's transcript goes through the messages of GKR, before
    // the search for the witness if there are no interactions.
    let begin = || -> Result<_, MetalProverError> {
        let _stage = s.stage("prover.rap_constraints.round0");
        Ok((round0.begin(s, &plan, &resident)?, weights.upload(s)?))
    };
    let inputs = |pow_witness| GkrInputs {
        plan: &plan,
        resident: &resident,
        logup,
        pow_witness,
    };
    let ((round0, weights), logup) = if is_empty {
        let begun = begin()?;
        let inputs = inputs(grind(s, transcript, logup_pow_bits)?);
        let (logup, ()) = prove_logup_gkr(s, config, transcript, inputs, || Ok(()))?;
        (begun, logup)
    } else {
        let inputs = inputs(grind(s, transcript, logup_pow_bits)?);
        let (logup, begun) = prove_logup_gkr(s, config, transcript, inputs, begin)?;
        (begun, logup)
    };
    let lambda = transcript.sample_ext();
    let (eq, weights, inputs, sums) = {
        let _stage = s.stage("prover.rap_constraints.round0");
        let xi = MetalBuffer::from_host(s, &logup.xi)?;
        let point = DevicePoint {
            elements: xi.slice(l_skip..),
            stride: 1,
        };
        let eq = EqTables::new(s, &plan.eq, point)?;
        let weights = weights.encode(s, &plan, &logup, xi.slice(..), lambda)?;
        let sent = round0.evaluate(&eq, &weights.coefficients)?;
        let inputs = UnivariateInputs::new(&plan, &logup.xi);
        let (sums, constants) = sent.read_with(weights.constants())?;
        (eq, weights.finish(constants), inputs, sums)
    };
    let batch = Batch {
        plan: &plan,
        resident: &resident,
        weights: &weights,
        eq: &eq,
        xi: &logup.xi,
    };
    let mut round0 = UnivariateRound::prove(transcript, &inputs, &weights, &sums);
    let MleOutput {
        polys: sumcheck_round_polys,
        openings: column_openings,
        r,
        meanwhile,
    } = batch.mle_rounds(s, config, transcript, (mle, next), &mut round0, meanwhile)?;
    observe_openings(transcript, &plan.input, &column_openings);
    Ok(ConstraintOutput {
        gkr: GkrProof {
            logup_pow_witness: logup.pow_witness,
            q0_claim: logup.proof.fractional_sum.1,
            claims_per_layer: logup.proof.claims_per_layer,
            sumcheck_polys: logup.proof.sumcheck_polys,
        },
        batch: BatchConstraintProof {
            numerator_term_per_air: round0.numerators,
            denominator_term_per_air: round0.denominators,
            univariate_round_coeffs: round0.s_0,
            sumcheck_round_polys,
            column_openings,
        },
        r,
        meanwhile,
    })
}

/// A proof-of-work witness, which the transcript has absorbed.
fn grind<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    transcript: &mut TS,
    bits: usize,
) -> Result<F, MetalProverError> {
    let witness = transcript.grind(bits);
    s.alive()?;
    Ok(witness)
}

/// Openings of each trace, part and column.
type ColumnOpenings = Vec<Vec<Vec<EF>>>;

/// The batch sumcheck of all traces.
struct Batch<'a> {
    plan: &'a Plan,
    resident: &'a Resident,
    weights: &'a Weights,
    eq: &'a EqTables,
    xi: &'a [EF],
}

impl Batch<'_> {
    /// The rounds over the hypercube, with one wait on the device's transcript.
    fn mle_rounds<SC: HashScheme, TS: FiatShamirTranscript<SC> + 'static, A>(
        &self,
        s: &CommandStream,
        config: &MetalProverConfig,
        transcript: &mut TS,
        (mle, next): (MlePlan, NextPlan),
        round0: &mut UnivariateRound,
        meanwhile: impl FnOnce() -> Result<A, MetalProverError>,
    ) -> Result<MleOutput<A>, MetalProverError> {
        let _stage = s.stage("prover.rap_constraints.mle_rounds");
        let Self {
            plan,
            resident,
            weights,
            eq,
            xi,
        } = *self;
        let l_skip = plan.input.l_skip;
        let r_0 = round0.r_0;
        let lagrange = MetalBuffer::from_host(s, &lagrange_weights(l_skip, r_0))?;
        let mut rounds = mle.begin(s, plan, resident, &lagrange)?;
        let omegas = powers(F::two_adic_generator(l_skip), 1 << l_skip);
        let inputs = RoundInputs {
            plan,
            resident,
            weights,
            eq,
            xi: &xi[l_skip..],
            sums: std::mem::take(&mut round0.sums),
            factors: (0..plan.traces.len())
                .map(|t| round0.factors(t, weights))
                .collect(),
            eq_at_r_0: [
                eval_eq_uni(l_skip, xi[0], r_0),
                eval_eq_sharp_uni(&omegas, &xi[..l_skip], r_0),
            ],
        };
        let sent = rounds.prove(s, config, transcript, inputs)?;
        let next_sums = next.encode(s, plan, resident, &lagrange, sent.point())?;
        let collected = rounds.collect(s)?;
        let meanwhile = meanwhile()?;

        let mut slices = vec![collected.slice(..)];
        slices.extend(next_sums.as_ref().map(MetalBuffer::as_slice));
        slices.extend(sent.unread());
        let mut read = s.read_many(&slices)?.into_iter();
        let collected = read.next().unwrap_or_default();
        let next_sums = next_sums.and_then(|_| read.next()).unwrap_or_default();
        let messages = sent.finish(transcript, &read.next().unwrap_or_default())?;
        Ok(MleOutput {
            polys: messages.polys,
            openings: openings(plan, collected, &next.values(plan, &next_sums)),
            r: iter::once(r_0).chain(messages.challenges).collect(),
            meanwhile,
        })
    }
}

/// Outputs of the rounds over the hypercube.
struct MleOutput<A> {
    polys: Vec<Vec<EF>>,
    openings: ColumnOpenings,
    /// The point of the openings.
    r: Vec<EF>,
    meanwhile: A,
}

/// Observes the openings of the common main parts of all traces, then those of their other parts.
fn observe_openings<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    input: &ConstraintInput,
    openings: &ColumnOpenings,
) {
    let mut observe = |t: usize, parts: &[Vec<EF>]| {
        let need_rot = input.traces[t].air_data.programs().need_rot;
        for part in parts {
            for (claim, rotated) in column_openings_by_rot(part, need_rot) {
                transcript.observe_ext(claim);
                transcript.observe_ext(rotated);
            }
        }
    };
    for (t, parts) in openings.iter().enumerate() {
        observe(t, &parts[..1]);
    }
    for (t, parts) in openings.iter().enumerate() {
        observe(t, &parts[1..]);
    }
}
