//! The univariate round, in exact polynomial arithmetic.
//!
//! ```text
//! s_0(Z) = sum over heights of  in(Z) eq_D(Z, r_0) A(Z) + in(Z) eq_D(Z, omega r_0) B(Z)
//!          + eq_D(omega r_0, 1) eq_D(Z, 1) (C(Z) - B(Z))
//! A(z) = sum_x eq(x, r) g_0(z, x),  B(z) = sum_x eq(x, r) g_1(z, x),  C(z) = sum_x eq(x - 1, r) g_1(z, x)
//! ```
//! `A`, `B`, `C` and the factors before them have degree below `2^l_skip`, so their values on `D` give
//! the coefficients, and `s_0` has `2 (2^l_skip - 1) + 1` of them. For heights up to `2^l_skip` there is
//! one `x`, and `C = B`.

use openvm_stark_backend::poly_common::{eval_eq_uni, eval_eq_uni_at_one, eval_in_uni};
use p3_field::{Field, PrimeCharacteristicRing, TwoAdicField};

use crate::{
    prelude::{EF, F},
    tensor,
};

/// Factors of the univariate variable for each height, for given `r_0`.
pub(super) struct UnivariateFactors {
    l_skip: usize,
    r_0: EF,
    omega: F,
    /// `eq_D(omega r_0, 1)`
    eq_const: EF,
}

/// The factors of one height at a point `Z`.
pub(super) struct FactorsAt {
    /// Factor of `g_0 eq`.
    pub eq: EF,
    /// Factor of `g_1 eq`.
    pub rot: EF,
    /// Factor of `g_1 (eq(x - 1) - eq(x))`.
    pub step: EF,
}

impl UnivariateFactors {
    pub fn new(l_skip: usize, r_0: EF) -> Self {
        let omega = F::two_adic_generator(l_skip);
        Self {
            l_skip,
            r_0,
            omega,
            eq_const: eval_eq_uni_at_one(l_skip, r_0 * omega),
        }
    }

    /// The factors at `z` for columns of `2^(l_skip + n)` rows.
    pub fn at(&self, n: isize, z: EF) -> FactorsAt {
        let shift = n.min(0).unsigned_abs();
        let l = self.l_skip - shift;
        let (omega, r) = (
            self.omega.exp_power_of_2(shift),
            self.r_0.exp_power_of_2(shift),
        );
        let indicator = eval_in_uni(self.l_skip, n, z);
        FactorsAt {
            eq: indicator * eval_eq_uni(l, z, r),
            rot: indicator * eval_eq_uni(l, z, r * omega),
            step: indicator * self.eq_const * eval_eq_uni_at_one(self.l_skip, z),
        }
    }

    /// `lagrange[z]`: the polynomial of degree below `2^l_skip` with values `f` on `D` is
    /// `sum_z lagrange[z] f[z]` at `u`.
    pub fn lagrange(&self, u: EF) -> Vec<EF> {
        self.omega
            .powers()
            .take(1 << self.l_skip)
            .map(|z| eval_eq_uni(self.l_skip, u, EF::from(z)))
            .collect()
    }
}

/// The coefficients of `s_0`, summed up height by height.
pub(super) struct UnivariateRound<'a> {
    factors: &'a UnivariateFactors,
    domain: Vec<F>,
    coeffs: Vec<EF>,
}

impl<'a> UnivariateRound<'a> {
    pub fn new(factors: &'a UnivariateFactors) -> Self {
        let size = 1usize << factors.l_skip;
        let domain = tensor::powers(factors.omega, size);
        Self {
            factors,
            domain,
            coeffs: EF::zero_vec(2 * (size - 1) + 1),
        }
    }

    /// Adds columns of `2^(l_skip + n)` rows, given `A`, `B` and `C` on `D`. For heights with `n >= 0` the factors are the same, so that they
    /// may be added together; then `n` is any of theirs.
    pub fn add(&mut self, n: isize, [a, b, c]: [&[EF]; 3]) {
        let at: Vec<FactorsAt> = self
            .domain
            .iter()
            .map(|&z| self.factors.at(n, EF::from(z)))
            .collect();
        let eq: Vec<EF> = at.iter().map(|f| f.eq).collect();
        let rot: Vec<EF> = at.iter().map(|f| f.rot).collect();
        self.add_product(&eq, a);
        self.add_product(&rot, b);
        if n >= 0 {
            let step: Vec<EF> = at.iter().map(|f| f.step).collect();
            let difference: Vec<EF> = c.iter().zip(b).map(|(&c, &b)| c - b).collect();
            self.add_product(&step, &difference);
        }
    }

    pub fn into_coeffs(self) -> Vec<EF> {
        self.coeffs
    }

    fn add_product(&mut self, f: &[EF], g: &[EF]) {
        let (f, g) = (self.coefficients(f), self.coefficients(g));
        for (i, &f) in f.iter().enumerate() {
            for (j, &g) in g.iter().enumerate() {
                self.coeffs[i + j] += f * g;
            }
        }
    }

    /// Coefficients of the polynomial with these values on `D`.
    fn coefficients(&self, values: &[EF]) -> Vec<EF> {
        let size = self.domain.len();
        let scale = F::from_usize(size).inverse();
        (0..size)
            .map(|i| {
                let sum: EF = values
                    .iter()
                    .enumerate()
                    .map(|(z, &v)| v * self.domain[(size - i) * z % size])
                    .sum();
                sum * scale
            })
            .collect()
    }
}

/// `A`, `B` and `C` of a height on the host, one after the other.
pub(super) fn host_sums(l_skip: usize, g0: &[EF], g1: &[EF], r: &[EF]) -> Vec<EF> {
    let bits = tensor::eq_bits(r);
    let mut rotated = g1.to_vec();
    rotated.rotate_left(1 << l_skip);
    let tables = [g0, g1, &rotated];
    let sums = tables.map(|table| tensor::contract(table, l_skip, &bits));
    sums.concat()
}
