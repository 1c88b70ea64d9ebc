//! The polynomial of an MLE round from the sums of all traces.

use openvm_stark_backend::poly_common::UnivariatePoly;
use p3_field::{Field, PrimeCharacteristicRing};

use super::mle::RoundSums;
use crate::prelude::{EF, F};

/// Values of traces whose variables are exhausted: zerocheck, numerator, denominator, each times the
/// eq factor at the end of its trace and all later challenges.
pub struct Tilde(Vec<[EF; 3]>);

impl Tilde {
    /// For `num_traces` traces.
    pub fn new(num_traces: usize) -> Self {
        Self(vec![[EF::ZERO; 3]; num_traces])
    }

    /// The trace's last variable was folded in the round before.
    pub fn start(&mut self, t: usize, sums: &RoundSums, eq: EF, eq_sharp: EF) {
        let first = |values: &[EF]| values.first().copied().unwrap_or(EF::ZERO);
        self.0[t] = [
            eq * first(&sums.zerocheck),
            eq_sharp * first(&sums.numerator),
            eq_sharp * first(&sums.denominator),
        ];
    }

    /// One more challenge.
    pub fn scale(&mut self, t: usize, r: EF) {
        self.0[t].iter_mut().for_each(|value| *value *= r);
    }

    /// Zerocheck, numerator, denominator.
    pub fn values(&self, t: usize) -> [EF; 3] {
        self.0[t]
    }
}

/// `s(X) = eq(xi, X) s'_head(X) + s'_tail X`.
pub struct RoundPoly {
    zerocheck: Vec<EF>,
    logup: Vec<EF>,
    tail: EF,
    eq: EF,
    eq_sharp: EF,
}

impl RoundPoly {
    /// `eq`, `eq_sharp`: factors of the challenges so far.
    pub fn new(degree: usize, eq: EF, eq_sharp: EF) -> Self {
        let zeros = vec![EF::ZERO; degree];
        Self {
            zerocheck: zeros.clone(),
            logup: zeros,
            tail: EF::ZERO,
            eq,
            eq_sharp,
        }
    }

    /// Adds a trace with variables left; `mu` weighs zerocheck, numerator, denominator.
    pub fn add_head(&mut self, mu: [EF; 3], sums: &RoundSums) {
        let mut add = |values: &[EF], mu: EF, logup: bool| {
            let sum = if logup {
                &mut self.logup
            } else {
                &mut self.zerocheck
            };
            for (sum, &value) in sum.iter_mut().zip(values) {
                *sum += mu * value;
            }
        };
        add(&sums.zerocheck, mu[0], false);
        add(&sums.numerator, mu[1], true);
        add(&sums.denominator, mu[2], true);
    }

    /// Adds an exhausted trace.
    pub fn add_tail(&mut self, mu: [EF; 3], values: [EF; 3]) {
        for (mu, value) in mu.into_iter().zip(values) {
            self.tail += mu * value;
        }
    }

    /// The round polynomial in coefficient form, of degree `degree + 1`; its value at 0 follows from
    /// `previous`, the claim of the round before.
    pub fn finish(self, xi: EF, previous: EF) -> UnivariatePoly<EF> {
        let degree = self.zerocheck.len();
        let mut head: Vec<EF> = std::iter::once(EF::ZERO)
            .chain(
                self.zerocheck
                    .iter()
                    .zip(&self.logup)
                    .map(|(&zc, &logup)| self.eq * zc + self.eq_sharp * logup),
            )
            .collect();
        let at_one = head.get(1).copied().unwrap_or(EF::ZERO);
        head[0] = (previous - xi * at_one - self.tail) * (EF::ONE - xi).inverse();
        let points: Vec<F> = (0..=degree).map(F::from_usize).collect();
        let mut coeffs = UnivariatePoly::lagrange_interpolate(&points, &head).into_coeffs();
        coeffs.resize(degree + 2, EF::ZERO);
        // eq(xi, X) = a X + b
        let b = EF::ONE - xi;
        let a = xi - b;
        for i in (0..=degree).rev() {
            coeffs[i + 1] = a * coeffs[i] + b * coeffs[i + 1];
        }
        coeffs[0] *= b;
        coeffs[1] += self.tail;
        UnivariatePoly::new(coeffs)
    }
}
