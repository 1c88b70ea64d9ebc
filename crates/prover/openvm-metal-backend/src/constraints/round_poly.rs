//! The polynomial of a round over the hypercube from the sums of all traces.

use openvm_stark_backend::poly_common::UnivariatePoly;
use p3_field::PrimeCharacteristicRing;

use super::{
    claims::{Factors, TraceSums},
    univariate::add_scaled,
};
use crate::{prelude::EF, programs::SumProgram};

/// `s(X) = eq(xi, X) s'_head(X) + s'_tail X`.
pub struct RoundPoly {
    zerocheck: Vec<EF>,
    logup: Vec<EF>,
    tail: EF,
}

impl RoundPoly {
    /// Sums of traces whose degree is at most this.
    pub fn new(degree: usize) -> Self {
        Self {
            zerocheck: vec![EF::ZERO; degree + 1],
            logup: vec![EF::ZERO; degree + 1],
            tail: EF::ZERO,
        }
    }

    /// Adds a trace with variables left; `constant` is the sum of its denominators' constant terms.
    pub fn add_head(
        &mut self,
        programs: &[SumProgram],
        sums: &TraceSums,
        factors: Factors,
        constant: EF,
    ) {
        let [zerocheck, logup] = sums.round_polys(programs, factors);
        add_scaled(&mut self.zerocheck, &zerocheck, EF::ONE);
        add_scaled(&mut self.logup, &logup, EF::ONE);
        self.logup[0] += factors[2] * constant;
    }

    /// Adds the value that an exhausted trace has left.
    pub fn add_tail(&mut self, value: EF) {
        self.tail += value;
    }

    /// The round polynomial in coefficient form, of degree `degree + 1`. `eq`, `eq_sharp`: factors of the challenges so far
    /// for zerocheck and LogUp; `xi`: the coordinate of the round's variable.
    pub fn finish(self, xi: EF, eq: EF, eq_sharp: EF) -> UnivariatePoly<EF> {
        let head = self.zerocheck.iter().zip(&self.logup);
        let head = head.map(|(&zerocheck, &logup)| eq * zerocheck + eq_sharp * logup);
        // eq(xi, X) = a X + b
        let b = EF::ONE - xi;
        let a = xi - b;
        let mut coeffs = vec![EF::ZERO; self.zerocheck.len() + 1];
        for (i, coefficient) in head.enumerate() {
            coeffs[i] += b * coefficient;
            coeffs[i + 1] += a * coefficient;
        }
        coeffs[1] += self.tail;
        UnivariatePoly::new(coeffs)
    }
}

/// The value of an exhausted trace, times the eq factors at the end of its trace and all later challenges.
pub fn tail_value(
    programs: &[SumProgram],
    sums: &TraceSums,
    factors: Factors,
    constant: EF,
    [eq, eq_sharp]: [EF; 2],
) -> EF {
    let [zerocheck, logup] = sums.values(programs, factors);
    eq * zerocheck + eq_sharp * (logup + factors[2] * constant)
}
