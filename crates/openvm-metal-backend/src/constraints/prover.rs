//! The driver: the protocol of the reference prover's `prove_zerocheck_and_logup`, every message
//! computed on the device up to a handful of field elements.

use std::cmp::max;

use openvm_metal_common::CommandStream;
use openvm_stark_backend::{
    calculate_n_logup,
    poly_common::{eq_uni_poly, eval_eq_mle, eval_eq_sharp_uni, eval_eq_uni, UnivariatePoly},
    proof::{column_openings_by_rot, BatchConstraintProof, GkrProof},
    prover::{poly::eq_sharp_uni_poly, stacked_pcs::StackedLayout, sumcheck::sumcheck_round0_deg},
    FiatShamirTranscript,
};
use p3_field::{PrimeCharacteristicRing, TwoAdicField};

use super::{
    columns::upload,
    evaluator::Interpreter,
    input::ConstraintInput,
    leaves::{interaction_leaves, norm_factor},
    mle::MleRounds,
    next_openings::next_openings,
    plan::Plan,
    round0::{round0_sums, Coefficients},
    sums::EqTables,
    tail::{RoundPoly, Tilde},
    univariate::{lagrange_weights, logup_polys, multiply, zerocheck_poly},
};
use crate::{
    config::MetalProverConfig,
    error::MetalProverError,
    gkr::fractional_sumcheck,
    prelude::{EF, F, SC},
};

/// Proof of the phase and the point at which the columns are opened.
pub type ConstraintOutput = (GkrProof<SC>, BatchConstraintProof<SC>, Vec<EF>);

/// Proves that all traces satisfy their constraints and that the interactions balance.
/// `config.constraint_scratch_bytes` bounds the memory for extended columns.
///
/// # Errors
/// Unbalanced interactions, too many of them for the stacked layout, failures of the device.
pub fn prove_constraints<TS: FiatShamirTranscript<SC>>(
    s: &CommandStream,
    config: &MetalProverConfig,
    transcript: &mut TS,
    input: &ConstraintInput<'_>,
) -> Result<ConstraintOutput, MetalProverError> {
    let _stage = s.stage("prover.rap_constraints");
    let l_skip = input.l_skip;
    let plan = Plan::new(s, input)?;
    let evaluator = Interpreter {
        tables: &plan.tables,
    };
    let programs: Vec<_> = input
        .traces
        .iter()
        .map(|trace| trace.air_data.programs())
        .collect();
    let num_traces = input.traces.len();
    // The folded traces are not there yet: round 0 may use their memory.
    let scratch_words = (config.constraint_scratch_bytes / 4).max(plan.fold_words);
    let n_max = plan.traces.first().map_or(0, |trace| trace.n_lift);

    let mut total_interactions = 0u64;
    let meta: Vec<_> = plan
        .traces
        .iter()
        .zip(&programs)
        .map(|(trace, programs)| {
            let log_rows = trace.log_height.max(l_skip);
            total_interactions += (programs.interactions.len() as u64) << log_rows;
            (programs.interactions.len(), log_rows)
        })
        .collect();
    let n_logup = calculate_n_logup(l_skip, total_interactions);
    let layout = StackedLayout::new(0, l_skip + n_logup, meta)?;

    let logup_pow_witness = transcript.grind(input.logup_pow_bits);
    s.alive()?;
    let alpha = transcript.sample_ext();
    let beta = transcript.sample_ext();
    let longest = programs
        .iter()
        .flat_map(|r| &r.interactions)
        .map(|&(_, len)| len as usize)
        .max()
        .unwrap_or(0);
    let beta_powers: Vec<EF> = beta.powers().take(longest + 1).collect();

    let leaves = if layout.sorted_cols.is_empty() {
        None
    } else {
        let _stage = s.stage("prover.rap_constraints.logup_gkr.input_evals");
        let log_len = l_skip + n_logup;
        Some(interaction_leaves(
            s,
            &plan,
            &evaluator,
            &layout,
            log_len,
            alpha,
            &beta_powers,
            scratch_words,
        )?)
    };
    let (frac_proof, mut xi) = {
        let _stage = s.stage("prover.rap_constraints.logup_gkr");
        fractional_sumcheck(s, config, transcript, leaves, true)?
    };
    while xi.len() != l_skip + max(n_max, n_logup) {
        xi.push(transcript.sample_ext());
    }
    let lambda = transcript.sample_ext();

    // Weights: powers of lambda, and for each trace the coefficients of its LogUp program.
    let most = programs
        .iter()
        .map(|programs| programs.constraints)
        .max()
        .unwrap_or(0);
    let mut coefficient_table: Vec<EF> = lambda.powers().take(most).collect();
    let mut coefficients = Vec::with_capacity(num_traces);
    let mut constants = Vec::with_capacity(num_traces);
    for (t, (trace, programs)) in plan.traces.iter().zip(&programs).enumerate() {
        let from = l_skip + trace.n_lift;
        let eq_3b: Vec<EF> = (0..programs.interactions.len())
            .map(|i| {
                let row = layout.get(t, i).map_or(0, |slice| slice.row_idx) >> from;
                let bits: Vec<F> = (0..n_logup - trace.n_lift)
                    .map(|k| F::from_bool((row >> k) & 1 == 1))
                    .collect();
                eval_eq_mle(&xi[from..l_skip + n_logup], &bits)
            })
            .collect();
        coefficients.push(Coefficients {
            zerocheck: 0,
            logup: coefficient_table.len() as u32,
        });
        coefficient_table.extend(programs.logup_coefficients.iter().map(|terms| {
            let weight = |term: &crate::programs::LogupTerm| {
                eq_3b[term.interaction as usize] * beta_powers[term.power as usize]
            };
            terms.iter().map(weight).sum::<EF>()
        }));
        let constant = |(&(bus, len), &eq): (&(u32, u32), &EF)| {
            eq * beta_powers[len as usize] * F::from_u32(bus + 1)
        };
        constants.push(
            programs
                .interactions
                .iter()
                .zip(&eq_3b)
                .map(constant)
                .sum::<EF>(),
        );
    }
    let norms: Vec<F> = plan
        .traces
        .iter()
        .map(|trace| norm_factor(l_skip, trace.log_height))
        .collect();
    let coefficient_table = upload(s, &coefficient_table)?;
    let sizes = plan.traces.iter().map(|trace| trace.n_lift);
    let eq = EqTables::new(s, sizes, &xi[l_skip..])?;

    // Round 0.
    let round0 = {
        let _stage = s.stage("prover.rap_constraints.round0");
        round0_sums(
            s,
            &plan,
            &evaluator,
            &eq,
            &coefficient_table,
            &coefficients,
            scratch_words,
        )?
    };
    let degree = input.max_constraint_degree;
    let s_deg = degree + 1;
    let s_0_len = sumcheck_round0_deg(l_skip, s_deg) + 1;
    let eq_sharp = eq_sharp_uni_poly(&xi[..l_skip]).into_coeffs();
    let mut logup_s_0 = Vec::with_capacity(2 * num_traces);
    let (mut numerator_term_per_air, mut denominator_term_per_air) = (vec![], vec![]);
    let domain = F::from_usize(1 << l_skip);
    for (t, sums) in round0.iter().enumerate() {
        let polys = logup_polys(programs[t].degree, sums, norms[t], constants[t])
            .map(|poly| multiply(&eq_sharp, &poly, s_0_len));
        let [p, q] = [0, 1].map(|k| {
            let sum: EF = polys[k]
                .iter()
                .take(s_0_len)
                .step_by(1 << l_skip)
                .copied()
                .sum();
            sum * domain
        });
        transcript.observe_ext(p);
        transcript.observe_ext(q);
        numerator_term_per_air.push(p);
        denominator_term_per_air.push(q);
        logup_s_0.extend(polys);
    }
    let mu = transcript.sample_ext();
    let mu_powers: Vec<EF> = mu.powers().take(3 * num_traces).collect();
    let mut batched = vec![EF::ZERO; sumcheck_round0_deg(l_skip, degree) + 1];
    for (t, sums) in round0.iter().enumerate() {
        let poly = zerocheck_poly(l_skip, programs[t].degree, sums);
        for (sum, coefficient) in batched.iter_mut().zip(poly) {
            *sum += mu_powers[2 * num_traces + t] * coefficient;
        }
    }
    let eq_uni = eq_uni_poly::<F, _>(l_skip, xi[0]).into_coeffs();
    let mut s_0 = multiply(&eq_uni, &batched, s_0_len);
    s_0.truncate(s_0_len);
    for (poly, &mu) in logup_s_0.iter().zip(&mu_powers) {
        for (sum, &coefficient) in s_0.iter_mut().zip(poly) {
            *sum += mu * coefficient;
        }
    }
    for &coefficient in &s_0 {
        transcript.observe_ext(coefficient);
    }
    let s_0 = UnivariatePoly::new(s_0);
    let r_0 = transcript.sample_ext();
    let mut r = vec![r_0];
    let mut previous = s_0.eval_at_point(r_0);

    // Rounds over the hypercube.
    let _mle_stage = s.stage("prover.rap_constraints.mle_rounds");
    let lagrange = lagrange_weights(l_skip, r_0);
    let mut rounds = MleRounds::new(s, &plan, &eq, &coefficients, &lagrange)?;
    let omegas: Vec<F> = F::two_adic_generator(l_skip)
        .powers()
        .take(1 << l_skip)
        .collect();
    let mut eq_r = eval_eq_uni(l_skip, xi[0], r_0);
    let mut eq_sharp_r = eval_eq_sharp_uni(&omegas, &xi[..l_skip], r_0);
    let mut tilde = Tilde::new(num_traces);
    let mut sumcheck_round_polys = Vec::with_capacity(n_max);
    for round in 1..=n_max {
        let sums = rounds.evaluate(s, &evaluator, &eq, &coefficient_table, round)?;
        let mut poly = RoundPoly::new(degree, eq_r, eq_sharp_r);
        for (t, mut sums) in sums.into_iter().enumerate() {
            sums.numerator.iter_mut().for_each(|v| *v *= norms[t]);
            sums.denominator.iter_mut().for_each(|v| *v += constants[t]);
            let mu = [
                mu_powers[2 * num_traces + t],
                mu_powers[2 * t],
                mu_powers[2 * t + 1],
            ];
            let n = plan.traces[t].n_lift;
            if round <= n {
                poly.add_head(mu, &sums);
            } else {
                if round == n + 1 {
                    tilde.start(t, &sums, eq_r, eq_sharp_r);
                } else {
                    tilde.scale(t, r[round - 1]);
                }
                poly.add_tail(mu, tilde.values(t));
            }
        }
        let xi_cur = xi[l_skip + round - 1];
        let batch_s = poly.finish(xi_cur, previous);
        let evals: Vec<EF> = (1..=s_deg)
            .map(|i| batch_s.eval_at_point(EF::from_usize(i)))
            .collect();
        for &eval in &evals {
            transcript.observe_ext(eval);
        }
        sumcheck_round_polys.push(evals);
        let r_round = transcript.sample_ext();
        r.push(r_round);
        previous = batch_s.eval_at_point(r_round);
        rounds.fold(s, round, r_round)?;
        let factor: EF = eval_eq_mle(&[xi_cur], &[r_round]);
        eq_r *= factor;
        eq_sharp_r *= factor;
    }

    let next = next_openings(s, &plan, &lagrange, &r)?;
    let column_openings = rounds.openings(s, &plan, &next)?;
    for (parts, common) in [(0..1, true), (1..usize::MAX, false)] {
        for (programs, openings) in programs.iter().zip(&column_openings) {
            let end = if common { 1 } else { openings.len() };
            for part in &openings[parts.start.min(end)..end] {
                for (claim, rotated) in column_openings_by_rot(part, programs.need_rot) {
                    transcript.observe_ext(claim);
                    transcript.observe_ext(rotated);
                }
            }
        }
    }
    let batch = BatchConstraintProof {
        numerator_term_per_air,
        denominator_term_per_air,
        univariate_round_coeffs: s_0.into_coeffs(),
        sumcheck_round_polys,
        column_openings,
    };
    let gkr = GkrProof {
        logup_pow_witness,
        q0_claim: frac_proof.fractional_sum.1,
        claims_per_layer: frac_proof.claims_per_layer,
        sumcheck_polys: frac_proof.sumcheck_polys,
    };
    Ok((gkr, batch, r))
}
