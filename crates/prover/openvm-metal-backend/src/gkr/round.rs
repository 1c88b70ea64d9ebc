//! The polynomial of one sumcheck round, from two sums.
//!
//! In round `i` of a layer the reference sends `s(1), s(2), s(3)` of
//! `s(X) = sum_y eq(xi, (r_0, .., r_{i-1}, X, y)) h(X, y)` with `h = p0 q1 + p1 q0 + lambda q0 q1` of
//! degree 2 in `X`. It factors as `s(X) = C eq(xi_i, X) H(X)` with `C = prod_{j<i} eq(xi_j, r_j)` and
//! `H(X) = sum_y eq(xi_{i+1..}, y) h(X, y)`. The claim of the round, divided by `C`, is
//! `(1 - xi_i) H(0) + xi_i H(1)`, so `H(0)` and the coefficient of `X^2` give all of `H`, and the next
//! claim, divided by the next `C`, is `H(r)`.

use p3_field::{Field, PrimeCharacteristicRing};

use crate::prelude::EF;

/// Sums of a round over its pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundSums {
    /// `H(0)`, or `H(1)` if [`LayerClaim::at_one`].
    pub at: EF,
    /// Coefficient of `X^2` in `H`.
    pub lead: EF,
}

/// The state of the sumcheck of one layer between two rounds.
#[derive(Clone, Copy, Debug)]
pub struct LayerClaim {
    /// Sum over the hypercube, divided by `scale`.
    claim: EF,
    /// `C`, the eq factor of the challenges so far.
    scale: EF,
}

/// `H` of one round.
#[derive(Clone, Copy, Debug)]
pub struct RoundPoly {
    xi: EF,
    scale: EF,
    at_zero: EF,
    linear: EF,
    lead: EF,
}

impl LayerClaim {
    /// Before round 0.
    pub fn new(claim: EF) -> Self {
        Self {
            claim,
            scale: EF::ONE,
        }
    }

    /// True if the round with coordinate `xi` needs the sum at 1, because the claim does not
    /// determine `H(1)`.
    pub fn at_one(xi: EF) -> bool {
        xi == EF::ZERO
    }

    /// The polynomial of the round with coordinate `xi`, whose inverse is given (anything if `xi` is 0).
    pub fn round(&self, xi: EF, xi_inverse: EF, sums: RoundSums) -> RoundPoly {
        let (at_zero, at_one) = if Self::at_one(xi) {
            (self.claim, sums.at)
        } else {
            (sums.at, (self.claim - sums.at + xi * sums.at) * xi_inverse)
        };
        let linear = at_one - at_zero - sums.lead;
        RoundPoly {
            xi,
            scale: self.scale,
            at_zero,
            linear,
            lead: sums.lead,
        }
    }
}

impl RoundPoly {
    /// `s(1), s(2), s(3)`.
    pub fn evals(&self) -> [EF; 3] {
        // eq(xi, x) = 1 - xi + x (2 xi - 1)
        let slope = self.xi.double() - EF::ONE;
        let mut eq = EF::ONE - self.xi;
        [1u32, 2, 3].map(|x| {
            eq += slope;
            self.scale * eq * self.inner(EF::from_u32(x))
        })
    }

    /// After the challenge `r`.
    pub fn fold(&self, r: EF) -> LayerClaim {
        let eq = EF::ONE - self.xi + r * (self.xi.double() - EF::ONE);
        LayerClaim {
            claim: self.inner(r),
            scale: self.scale * eq,
        }
    }

    fn inner(&self, x: EF) -> EF {
        self.at_zero + x * (self.linear + x * self.lead)
    }
}

/// Inverses of all elements, 0 for 0.
pub fn inverses(elements: &[EF]) -> Vec<EF> {
    let mut prefix = EF::ONE;
    let mut out = Vec::with_capacity(elements.len());
    for &x in elements {
        out.push(prefix);
        if x != EF::ZERO {
            prefix *= x;
        }
    }
    let mut suffix = prefix.inverse();
    for (slot, &x) in out.iter_mut().zip(elements).rev() {
        if x == EF::ZERO {
            *slot = EF::ZERO;
        } else {
            *slot *= suffix;
            suffix *= x;
        }
    }
    out
}
