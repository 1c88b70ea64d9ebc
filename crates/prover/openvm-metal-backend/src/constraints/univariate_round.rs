//! The univariate round: from the sums of all traces on cosets of the skip domain to `s_0` and what the rounds over the hypercube go in
//! with. Everything is linear in the sums, so those of all traces are added before one interpolation.

use openvm_stark_backend::{
    poly_common::eq_uni_poly,
    prover::{poly::eq_sharp_uni_poly, sumcheck::sumcheck_round0_deg},
    FiatShamirTranscript,
};
use p3_field::PrimeCharacteristicRing;

use super::{
    claims::{Factors, TraceSums},
    evaluations::ProgramSums,
    plan::Plan,
    univariate::{add_scaled, multiply, CosetInterpolation},
    weights::Weights,
};
use crate::{
    hash::HashScheme,
    prelude::{EF, F},
    programs::{SumKind, SumProgram},
    tensor::powers,
};

/// Inputs of the round besides the sums, made while the device works on these.
pub struct UnivariateInputs<'a> {
    plan: &'a Plan,
    with: CosetInterpolation,
    /// Coefficients of the factors of zerocheck and LogUp.
    eq_uni: Vec<EF>,
    eq_sharp: Vec<EF>,
    /// For each number of cosets what gives the sum of LogUp over the skip domain.
    of_domain: Vec<Vec<EF>>,
}

impl<'a> UnivariateInputs<'a> {
    /// `xi`: the point of LogUp and zerocheck, from the coordinates of the skip variables on.
    pub fn new(plan: &'a Plan, xi: &[EF]) -> Self {
        let l_skip = plan.input.l_skip;
        let cosets = (0..plan.traces.len())
            .flat_map(|t| plan.sums(t))
            .map(SumProgram::cosets);
        let with = CosetInterpolation::new(l_skip, cosets.max().unwrap_or(0));
        let eq_sharp = eq_sharp_uni_poly(&xi[..l_skip]).into_coeffs();
        Self {
            plan,
            of_domain: with.over_domain(&eq_sharp),
            with,
            eq_uni: eq_uni_poly::<F, _>(l_skip, xi[0]).into_coeffs(),
            eq_sharp,
        }
    }
}

/// The round, and what joins the sums of all traces from it on.
pub struct UnivariateRound {
    /// The coefficients of the round's polynomial.
    pub s_0: Vec<EF>,
    /// For each trace.
    pub numerators: Vec<EF>,
    pub denominators: Vec<EF>,
    /// For each trace of numerator and denominator, then for each trace of its zerocheck.
    mu_powers: Vec<EF>,
    pub r_0: EF,
    /// Sums of each trace before the next round.
    pub sums: Vec<TraceSums>,
}

impl UnivariateRound {
    /// Observes the sums of all traces and `s_0`, samples `mu` and `r_0`.
    pub fn prove<SC: HashScheme, TS: FiatShamirTranscript<SC>>(
        transcript: &mut TS,
        inputs: &UnivariateInputs<'_>,
        weights: &Weights,
        sums: &[Vec<ProgramSums>],
    ) -> Self {
        let UnivariateInputs {
            plan,
            with,
            eq_sharp,
            of_domain,
            ..
        } = inputs;
        let (mut numerators, mut denominators) = (Vec::new(), Vec::new());
        let of_constant = eq_sharp[0] * F::from_usize(eq_sharp.len());
        for (t, of_trace) in sums.iter().enumerate() {
            let [mut p, mut q] = [EF::ZERO, of_constant * weights.constants[t]];
            for (program, [first, second]) in plan.sums(t).iter().zip(of_trace) {
                if program.kind == SumKind::Logup {
                    let functional = &of_domain[program.cosets()];
                    q += dot(functional, first);
                    p += dot(functional, second);
                }
            }
            numerators.push(p * weights.norms[t]);
            denominators.push(q);
        }
        for (&p, &q) in numerators.iter().zip(&denominators) {
            transcript.observe_ext(p);
            transcript.observe_ext(q);
        }
        let mut round = Self {
            s_0: Vec::new(),
            numerators,
            denominators,
            mu_powers: powers(transcript.sample_ext(), 3 * sums.len()),
            r_0: EF::ZERO,
            sums: Vec::new(),
        };
        round.s_0 = round.polynomial(inputs, weights, sums);
        for &coefficient in &round.s_0 {
            transcript.observe_ext(coefficient);
        }
        round.r_0 = transcript.sample_ext();

        let at_r_0 = with.at_point(round.r_0);
        let claims = |(t, of_trace): (usize, &Vec<ProgramSums>)| {
            let programs = plan.sums(t).iter().zip(of_trace);
            let claims = programs.map(|(program, sums)| {
                let functionals = match program.kind {
                    SumKind::Zerocheck => &at_r_0.zerocheck,
                    SumKind::Logup => &at_r_0.logup,
                };
                let functional = &functionals[program.cosets()];
                sums.each_ref().map(|values| dot(functional, values))
            });
            TraceSums::new(claims.collect())
        };
        round.sums = sums.iter().enumerate().map(claims).collect();
        round
    }

    /// Weights of zerocheck, numerators (before the norm factor) and denominators of trace `t`.
    pub fn factors(&self, t: usize, weights: &Weights) -> Factors {
        let num_traces = self.numerators.len();
        let [zerocheck, numerator, denominator] =
            [2 * num_traces + t, 2 * t, 2 * t + 1].map(|i| self.mu_powers[i]);
        [zerocheck, numerator * weights.norms[t], denominator]
    }

    /// The coefficients of `s_0`.
    fn polynomial(
        &self,
        inputs: &UnivariateInputs<'_>,
        weights: &Weights,
        sums: &[Vec<ProgramSums>],
    ) -> Vec<EF> {
        let UnivariateInputs {
            plan,
            with,
            eq_uni,
            eq_sharp,
            ..
        } = inputs;
        let (l_skip, degree) = (plan.input.l_skip, plan.input.max_constraint_degree);
        // For each number of cosets the values of all traces, joined.
        let (mut zerocheck, mut logup) = (with.no_values(), with.no_values());
        let mut constant = EF::ZERO;
        for (t, of_trace) in sums.iter().enumerate() {
            let [of_zerocheck, numerator, denominator] = self.factors(t, weights);
            constant += denominator * weights.constants[t];
            for (program, [first, second]) in plan.sums(t).iter().zip(of_trace) {
                match program.kind {
                    SumKind::Zerocheck => {
                        add_scaled(&mut zerocheck[program.cosets()], first, of_zerocheck);
                    }
                    SumKind::Logup => {
                        let joined = &mut logup[program.cosets()];
                        add_scaled(joined, first, denominator);
                        add_scaled(joined, second, numerator);
                    }
                }
            }
        }
        let mut batched = vec![EF::ZERO; sumcheck_round0_deg(l_skip, degree) + 1];
        for (cosets, values) in zerocheck.into_iter().enumerate() {
            let poly = with.zerocheck_poly(values, cosets);
            add_scaled(&mut batched, &poly, EF::ONE);
        }
        let mut fractions = vec![constant];
        for (cosets, values) in logup.into_iter().enumerate() {
            let poly = with.coefficients(values, cosets);
            add_scaled(&mut fractions, &poly, EF::ONE);
        }
        let s_0_len = sumcheck_round0_deg(l_skip, degree + 1) + 1;
        let mut s_0 = multiply(eq_uni, &batched, s_0_len);
        s_0.truncate(s_0_len);
        for (sum, coefficient) in s_0.iter_mut().zip(multiply(eq_sharp, &fractions, s_0_len)) {
            *sum += coefficient;
        }
        s_0
    }
}

fn dot(functional: &[EF], values: &[EF]) -> EF {
    let products = functional.iter().zip(values);
    products.map(|(&weight, &value)| weight * value).sum()
}
