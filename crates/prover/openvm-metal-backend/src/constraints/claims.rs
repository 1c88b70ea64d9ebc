//! The claims of the sums of each trace between two rounds, and the sums of a round as polynomials.

use p3_field::PrimeCharacteristicRing;

use super::{
    evaluations::ProgramSums,
    univariate::{add_scaled, horner, lagrange_basis},
};
use crate::{
    prelude::{EF, F},
    programs::{SumKind, SumProgram},
};

/// Base-field matrices from the values at `0..=d` to the coefficients of a polynomial of degree `d`.
pub struct Interpolation(Vec<Vec<Vec<F>>>);

impl Interpolation {
    /// For degrees up to `degree`.
    pub fn new(degree: usize) -> Self {
        Self((0..=degree).map(Self::matrix).collect())
    }

    /// Row `i`: the coefficients of the polynomial that is 1 at `i` and 0 at the other points.
    fn matrix(degree: usize) -> Vec<Vec<F>> {
        let points: Vec<F> = (0..=degree).map(F::from_usize).collect();
        lagrange_basis(&points)
    }

    /// The coefficients of the polynomial with the values `at_zero, rest[0], rest[1], ..` at `0, 1, 2, ..`.
    fn coefficients(&self, at_zero: EF, rest: &[EF]) -> Vec<EF> {
        let mut sum = vec![EF::ZERO; rest.len() + 1];
        let values = std::iter::once(&at_zero).chain(rest);
        for (&value, row) in values.zip(&self.0[rest.len()]) {
            for (sum, &coefficient) in sum.iter_mut().zip(row) {
                *sum += value * coefficient;
            }
        }
        sum
    }
}

/// Contribution of one trace: for each of its programs and accumulators the sum that the challenges so far leave, weighted
/// with eq over the variables that are left, and in a round this sum as a polynomial in the round's variable.
pub struct TraceSums {
    claims: Vec<[EF; 2]>,
    polys: Vec<[Vec<EF>; 2]>,
}

/// A trace's factors: of zerocheck, numerators and denominators.
pub type Factors = [EF; 3];

impl TraceSums {
    /// After the univariate round: for each program what its accumulators leave at the round's challenge.
    pub fn new(claims: Vec<[EF; 2]>) -> Self {
        Self {
            claims,
            polys: Vec::new(),
        }
    }

    /// For each program what its accumulators leave.
    pub fn claims(&self) -> &[[EF; 2]] {
        &self.claims
    }

    /// The polynomials of a round over variable `xi` from their values at `X = 1..=degree`; those at 0 follow from the
    /// claims. `inverse` is that of `1 - xi`.
    pub fn start_round(&mut self, with: &Interpolation, sums: &[ProgramSums], xi: EF, inverse: EF) {
        let poly = |claim: EF, values: &Vec<EF>| match values.first() {
            Some(&at_one) => with.coefficients((claim - xi * at_one) * inverse, values),
            None => vec![],
        };
        let polys = self.claims.iter().zip(sums);
        self.polys = polys
            .map(|(claims, values)| [0, 1].map(|a| poly(claims[a], &values[a])))
            .collect();
    }

    /// Binds the round's variable.
    pub fn bind(&mut self, r: EF) {
        for (claims, polys) in self.claims.iter_mut().zip(&self.polys) {
            *claims = polys.each_ref().map(|poly| horner(poly, r));
        }
    }

    /// The polynomials of the round: zerocheck, LogUp without the denominators' constant terms.
    pub fn round_polys(&self, programs: &[SumProgram], factors: Factors) -> [Vec<EF>; 2] {
        let mut sums = [vec![], vec![]];
        for (program, [first, second]) in programs.iter().zip(&self.polys) {
            match program.kind {
                SumKind::Zerocheck => add_scaled(&mut sums[0], first, factors[0]),
                SumKind::Logup => {
                    add_scaled(&mut sums[1], second, factors[1]);
                    add_scaled(&mut sums[1], first, factors[2]);
                }
            }
        }
        sums
    }

    /// The values that are left when all variables are bound: zerocheck, LogUp without the denominators' constant terms.
    pub fn values(&self, programs: &[SumProgram], factors: Factors) -> [EF; 2] {
        let mut sums = [EF::ZERO; 2];
        for (program, [first, second]) in programs.iter().zip(&self.claims) {
            match program.kind {
                SumKind::Zerocheck => sums[0] += factors[0] * *first,
                SumKind::Logup => sums[1] += factors[1] * *second + factors[2] * *first,
            }
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of a polynomial at 0, 1, .. give its coefficients back.
    #[test]
    fn interpolation_inverts_evaluation() {
        let with = Interpolation::new(5);
        for degree in 0..=5 {
            let coefficients: Vec<EF> = (0..=degree).map(|k| EF::from_usize(7 * k + 3)).collect();
            let at = |x: usize| horner(&coefficients, EF::from_usize(x));
            let rest: Vec<EF> = (1..=degree).map(at).collect();
            assert_eq!(with.coefficients(at(0), &rest), coefficients);
        }
    }
}
