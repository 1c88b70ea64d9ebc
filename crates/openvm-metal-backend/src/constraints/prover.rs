//! The driver: the protocol of the reference prover's `prove_zerocheck_and_logup`, every message
//! computed on the device up to a handful of field elements.

use std::iter;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    poly_common::{eq_uni_poly, eval_eq_sharp_uni, eval_eq_uni, UnivariatePoly},
    proof::{column_openings_by_rot, BatchConstraintProof, GkrProof},
    prover::{poly::eq_sharp_uni_poly, sumcheck::sumcheck_round0_deg},
    FiatShamirTranscript,
};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use super::{
    claims::{Factors, TraceSums},
    evaluations::ProgramSums,
    input::ConstraintInput,
    logup::{prove_logup_gkr, LogupPlan},
    mle::{MlePlan, RoundInputs},
    next_openings::next_openings,
    plan::{Plan, Resident},
    round0::Round0Plan,
    sums::EqTables,
    univariate::{add_scaled, domain_sum, lagrange_weights, multiply, CosetInterpolation},
    weights::Weights,
};
use crate::{
    beside::beside,
    config::MetalProverConfig,
    error::MetalProverError,
    prelude::{EF, F, SC},
    programs::{SumKind, SumProgram},
    tensor::powers,
};

/// Proof of the phase and the point at which the columns are opened.
pub type ConstraintOutput = (GkrProof<SC>, BatchConstraintProof<SC>, Vec<EF>);

/// Proves that all traces satisfy their constraints and that the interactions balance.
/// `config.constraint_scratch_bytes` bounds the memory for extended columns.
///
/// # Errors
/// Unbalanced interactions, too many of them for the stacked layout, failures of the device.
pub fn prove_constraints<TS: FiatShamirTranscript<SC> + 'static>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    input: &ConstraintInput<'_>,
) -> Result<ConstraintOutput, MetalProverError> {
    let _stage = s.stage("prover.rap_constraints");
    let l_skip = input.l_skip;
    let profile = s.context().device_profile();
    // What follows from shapes alone is planned while the device works and the host would wait.
    let begin = || -> Result<_, MetalProverError> {
        let plan = Plan::new(profile, config, input)?;
        // The folded traces are not there yet: round 0 may use their memory.
        let scratch_words = (config.constraint_scratch_bytes / 4).max(plan.fold_words());
        let logup = LogupPlan::new(&plan, scratch_words)?;
        Ok((plan, logup, scratch_words))
    };
    let (begun, pow_witness) = beside(begin, || {
        let witness = transcript.grind(input.logup_pow_bits);
        s.alive().map(|()| witness)
    });
    let (plan, logup, scratch_words) = begun?;
    let (pow_witness, resident) = (pow_witness?, plan.upload(s)?);
    // Where there are no interactions, nothing hides the plan of round 0, but round 0 hides that of the rounds after it.
    let (mle, summed) = beside(
        || MlePlan::new(&plan),
        || -> Result<_, MetalProverError> {
            let (round0, logup) = beside(
                || Round0Plan::new(&plan, scratch_words),
                || prove_logup_gkr(s, config, transcript, pow_witness, &plan, &resident, logup),
            );
            let logup = logup?;
            let lambda = transcript.sample_ext();
            let _stage = s.stage("prover.rap_constraints.round0");
            let eq = EqTables::new(s, &plan.eq, &logup.xi[l_skip..])?;
            let round0 = round0.begin(s, &plan, &resident)?;
            let weights = Weights::new(s, &plan, &logup, lambda)?;
            let sums = round0.sums(&eq, &weights.coefficients)?;
            Ok((logup, eq, weights, sums))
        },
    );
    let (logup, eq, weights, sums) = summed?;
    let batch = Batch {
        plan: &plan,
        resident: &resident,
        weights: &weights,
        eq: &eq,
        xi: &logup.xi,
    };
    let mut round0 = batch.univariate_round(transcript, &sums);
    let (sumcheck_round_polys, column_openings, r) =
        batch.mle_rounds(s, config, transcript, mle, &mut round0)?;
    observe_openings(transcript, input, &column_openings);
    let proof = BatchConstraintProof {
        numerator_term_per_air: round0.numerators,
        denominator_term_per_air: round0.denominators,
        univariate_round_coeffs: round0.s_0.into_coeffs(),
        sumcheck_round_polys,
        column_openings,
    };
    let gkr = GkrProof {
        logup_pow_witness: logup.pow_witness,
        q0_claim: logup.proof.fractional_sum.1,
        claims_per_layer: logup.proof.claims_per_layer,
        sumcheck_polys: logup.proof.sumcheck_polys,
    };
    Ok((gkr, proof, r))
}

/// Openings of each trace, part and column.
type ColumnOpenings = Vec<Vec<Vec<EF>>>;

/// The batch sumcheck of all traces.
struct Batch<'a> {
    plan: &'a Plan<'a>,
    resident: &'a Resident,
    weights: &'a Weights,
    eq: &'a EqTables,
    xi: &'a [EF],
}

/// The univariate round, and what joins the sums of all traces from it on.
struct UnivariateRound {
    s_0: UnivariatePoly<EF>,
    /// For each trace.
    numerators: Vec<EF>,
    denominators: Vec<EF>,
    /// For each trace of numerator and denominator, then for each trace of its zerocheck.
    mu_powers: Vec<EF>,
    r_0: EF,
    /// What each trace goes into the next round with.
    sums: Vec<TraceSums>,
}

impl UnivariateRound {
    /// What weighs zerocheck, numerators (before the norm factor) and denominators of trace `t`.
    fn factors(&self, t: usize, weights: &Weights) -> Factors {
        let num_traces = self.numerators.len();
        let [zerocheck, numerator, denominator] =
            [2 * num_traces + t, 2 * t, 2 * t + 1].map(|i| self.mu_powers[i]);
        [zerocheck, numerator * weights.norms[t], denominator]
    }
}

impl Batch<'_> {
    /// Observes the sums of all traces and `s_0`, samples `mu` and `r_0`.
    fn univariate_round<TS: FiatShamirTranscript<SC>>(
        &self,
        transcript: &mut TS,
        round0: &[Vec<ProgramSums>],
    ) -> UnivariateRound {
        let input = self.plan.input;
        let (l_skip, degree) = (input.l_skip, input.max_constraint_degree);
        let num_traces = round0.len();
        let s_0_len = sumcheck_round0_deg(l_skip, degree + 1) + 1;
        let eq_sharp = eq_sharp_uni_poly(&self.xi[..l_skip]).into_coeffs();
        let cosets = (0..num_traces)
            .flat_map(|t| self.plan.sums(t))
            .map(SumProgram::cosets);
        let interpolation = CosetInterpolation::new(l_skip, cosets.max().unwrap_or(0));
        // Of each trace and program.
        let polys = |(t, sums): (usize, &Vec<ProgramSums>)| -> Vec<[Vec<EF>; 2]> {
            let programs = self.plan.sums(t).iter().zip(sums);
            programs
                .map(|(program, sums)| interpolation.sum_polys(program, sums))
                .collect()
        };
        let fractions = |(t, of_trace): (usize, &Vec<[Vec<EF>; 2]>)| {
            let (norm, constant) = (self.weights.norms[t], self.weights.constants[t]);
            let (mut numerator, mut denominator) = (vec![], vec![constant]);
            for (program, [first, second]) in self.plan.sums(t).iter().zip(of_trace) {
                if program.kind == SumKind::Logup {
                    add_scaled(&mut numerator, second, norm.into());
                    add_scaled(&mut denominator, first, EF::ONE);
                }
            }
            [numerator, denominator]
        };
        let of_trace = |(t, sums): (usize, &Vec<ProgramSums>)| {
            let polys = polys((t, sums));
            let fractions = fractions((t, &polys));
            let sums = fractions.each_ref().map(|poly| domain_sum(&eq_sharp, poly));
            (polys, fractions, sums)
        };
        let of_traces: Vec<_> = round0.iter().enumerate().map(of_trace).collect();
        let (mut polys, mut fractions) = (Vec::new(), Vec::new());
        let (mut numerators, mut denominators) = (vec![], vec![]);
        for (of_trace, fraction, [p, q]) in of_traces {
            polys.push(of_trace);
            fractions.push(fraction);
            transcript.observe_ext(p);
            transcript.observe_ext(q);
            numerators.push(p);
            denominators.push(q);
        }
        let mu = transcript.sample_ext();
        let mu_powers = powers(mu, 3 * num_traces);
        let mut batched = vec![EF::ZERO; sumcheck_round0_deg(l_skip, degree) + 1];
        for (t, of_trace) in polys.iter().enumerate() {
            for (program, [poly, _]) in self.plan.sums(t).iter().zip(of_trace) {
                if program.kind == SumKind::Zerocheck {
                    add_scaled(&mut batched, poly, mu_powers[2 * num_traces + t]);
                }
            }
        }
        let eq_uni = eq_uni_poly::<F, _>(l_skip, self.xi[0]).into_coeffs();
        let mut s_0 = multiply(&eq_uni, &batched, s_0_len);
        s_0.truncate(s_0_len);
        let mut logup = vec![];
        for (poly, &mu) in fractions.iter().flatten().zip(&mu_powers) {
            add_scaled(&mut logup, poly, mu);
        }
        for (sum, coefficient) in s_0.iter_mut().zip(multiply(&eq_sharp, &logup, s_0_len)) {
            *sum += coefficient;
        }
        for &coefficient in &s_0 {
            transcript.observe_ext(coefficient);
        }
        let r_0 = transcript.sample_ext();
        UnivariateRound {
            s_0: UnivariatePoly::new(s_0),
            numerators,
            denominators,
            mu_powers,
            r_0,
            sums: polys
                .iter()
                .map(|polys| TraceSums::new(polys, r_0))
                .collect(),
        }
    }

    /// The rounds over the hypercube: their polynomials, the openings of all columns, and the point of these.
    #[allow(clippy::type_complexity)]
    fn mle_rounds<TS: FiatShamirTranscript<SC> + 'static>(
        &self,
        s: &CommandStream,
        config: &MetalProverConfig,
        transcript: &mut TS,
        mle: MlePlan,
        round0: &mut UnivariateRound,
    ) -> Result<(Vec<Vec<EF>>, ColumnOpenings, Vec<EF>), MetalProverError> {
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
        let lagrange = lagrange_weights(l_skip, r_0);
        let mut rounds = mle.begin(s, plan, resident, &lagrange)?;
        let omega = F::two_adic_generator(l_skip);
        let omegas = powers(omega, 1 << l_skip);
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
        let messages = rounds.prove(s, config, transcript, inputs)?;
        let r: Vec<EF> = iter::once(r_0).chain(messages.challenges).collect();
        let next = next_openings(s, plan, resident, &lagrange, &r)?;
        let openings = rounds.openings(s, plan, &next)?;
        Ok((messages.polys, openings, r))
    }
}

/// Observes the openings of the common main parts of all traces, then those of their other parts.
fn observe_openings<TS: FiatShamirTranscript<SC>>(
    transcript: &mut TS,
    input: &ConstraintInput<'_>,
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
