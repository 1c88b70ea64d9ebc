//! Host polynomials of the batch sumcheck: a handful of coefficients for each trace.

use openvm_stark_backend::dft::Radix2BowersSerial;
use p3_dft::TwoAdicSubgroupDft;
use p3_field::{batch_multiplicative_inverse, Field, PrimeCharacteristicRing, TwoAdicField};
use p3_matrix::dense::RowMajorMatrix;

use crate::{
    prelude::{EF, F},
    tensor::powers,
};

/// The coefficients of the polynomials that are 1 at one of the points and 0 at the others; the points differ.
pub fn lagrange_basis(points: &[F]) -> Vec<Vec<F>> {
    let of_point = |i: usize| {
        let mut coefficients = vec![F::ONE];
        for (_, &point) in points.iter().enumerate().filter(|&(j, _)| j != i) {
            let scale = (points[i] - point).inverse();
            coefficients.push(F::ZERO);
            for k in (0..coefficients.len()).rev() {
                let lower = if k == 0 { F::ZERO } else { coefficients[k - 1] };
                coefficients[k] = (lower - point * coefficients[k]) * scale;
            }
        }
        coefficients
    };
    (0..points.len()).map(of_point).collect()
}

/// From values on cosets `g w^z, g^2 w^z, ..` of the skip domain to coefficients. All factors are of the base field.
pub struct CosetInterpolation {
    l_skip: usize,
    /// `g^-a`, for each coefficient of a remainder modulo `X^(2^l_skip) - c`.
    unshift: Vec<F>,
    /// `g^(2^l_skip)`, whose powers are the `c` of the cosets.
    step: F,
    /// For each number of cosets the [`lagrange_basis`] over those.
    bases: Vec<Vec<Vec<F>>>,
}

impl CosetInterpolation {
    /// For up to so many cosets.
    pub fn new(l_skip: usize, most: usize) -> Self {
        let step = F::GENERATOR.exp_power_of_2(l_skip);
        let points: Vec<F> = step.powers().skip(1).take(most).collect();
        Self {
            l_skip,
            unshift: powers(F::GENERATOR.inverse(), 1 << l_skip),
            step,
            bases: (0..=most).map(|k| lagrange_basis(&points[..k])).collect(),
        }
    }

    /// No values yet, for each number of cosets.
    pub fn no_values(&self) -> Vec<Vec<EF>> {
        vec![Vec::new(); self.bases.len()]
    }

    /// The polynomial of degree `< cosets * 2^l_skip` with these values, entry `z * cosets + c` at
    /// `g^(c+1) w^z`.
    pub fn coefficients(&self, values: Vec<EF>, cosets: usize) -> Vec<EF> {
        if cosets == 0 || values.is_empty() {
            return vec![];
        }
        let domain = 1 << self.l_skip;
        let values = RowMajorMatrix::new(values, cosets);
        let remainders = TwoAdicSubgroupDft::<F>::idft_algebra_batch(&Radix2BowersSerial, values);
        let mut coefficients = EF::zero_vec(cosets * domain);
        for (a, (row, &unshift)) in remainders.row_slices().zip(&self.unshift).enumerate() {
            let mut scale = F::ONE;
            for (&remainder, basis) in row.iter().zip(&self.bases[cosets]) {
                scale *= unshift;
                let remainder = remainder * scale;
                for (b, &factor) in basis.iter().enumerate() {
                    coefficients[a + b * domain] += remainder * factor;
                }
            }
        }
        coefficients
    }

    /// `(Z^(2^l_skip) - 1) q(Z)`, where `q` has the values over those of the zerofier.
    pub fn zerocheck_poly(&self, mut values: Vec<EF>, cosets: usize) -> Vec<EF> {
        let inverses = self.inverse_zerofiers(cosets);
        for (i, value) in values.iter_mut().enumerate() {
            *value *= inverses[i % cosets];
        }
        let q = self.coefficients(values, cosets);
        let domain = 1 << self.l_skip;
        let mut poly = vec![EF::ZERO; domain + q.len()];
        for (i, &coefficient) in q.iter().enumerate() {
            poly[i] -= coefficient;
            poly[domain + i] += coefficient;
        }
        poly
    }

    /// For each number of cosets the factors by which values of a polynomial are added to give the sum of `a` times it over the skip
    /// domain. `a` has `2^l_skip` coefficients.
    pub fn over_domain(&self, a: &[EF]) -> Vec<Vec<EF>> {
        let n = a.len();
        let omega = powers(F::two_adic_generator(self.l_skip), n);
        // Of a remainder on a coset: on the domain the polynomial is the sum of the remainders, each times its basis at 1.
        let of_remainder = |c: usize| -> Vec<EF> {
            let scaled: Vec<EF> = (0..n)
                .map(|i| a[(n - i) % n] * self.unshift[i].exp_u64(c as u64 + 1))
                .collect();
            let at = |z: usize| {
                let terms = scaled.iter().enumerate();
                terms.map(|(i, &a)| a * omega[(n - i) * z % n]).sum()
            };
            (0..n).map(at).collect()
        };
        let remainders: Vec<_> = (1..self.bases.len()).map(|c| of_remainder(c - 1)).collect();
        self.join(&remainders, |basis| basis.iter().copied().sum::<F>().into())
    }

    /// For each number of cosets the factors by which values of a polynomial are added to give its value at `r`.
    pub fn at_point(&self, r: EF) -> AtPoint {
        let n = 1 << self.l_skip;
        let omega = powers(F::two_adic_generator(self.l_skip), n);
        let r_n = r.exp_power_of_2(self.l_skip);
        let of_remainder = |c: usize| lagrange_on_coset(&omega, F::GENERATOR.exp_u64(c as u64), r);
        let remainders: Vec<_> = (1..self.bases.len()).map(of_remainder).collect();
        let logup = self.join(&remainders, |basis| {
            let basis: Vec<EF> = basis.iter().map(|&b| b.into()).collect();
            horner(&basis, r_n)
        });
        let zerocheck = logup.iter().enumerate().map(|(cosets, factors)| {
            let inverses = self.inverse_zerofiers(cosets);
            let factors = factors.iter().enumerate();
            let zerofier = r_n - EF::ONE;
            factors
                .map(|(i, &factor)| factor * zerofier * inverses[i % cosets])
                .collect()
        });
        AtPoint {
            zerocheck: zerocheck.collect(),
            logup,
        }
    }

    /// For each number of cosets the factors of each coset's values times what its basis gives.
    fn join(&self, remainders: &[Vec<EF>], of_basis: impl Fn(&[F]) -> EF) -> Vec<Vec<EF>> {
        let join = |bases: &Vec<Vec<F>>| {
            let bases: Vec<EF> = bases.iter().map(|basis| of_basis(basis)).collect();
            let at = |z| {
                let cosets = bases.iter().zip(remainders);
                cosets.map(move |(&basis, factors)| basis * factors[z])
            };
            (0..1 << self.l_skip).flat_map(at).collect()
        };
        self.bases.iter().map(join).collect()
    }

    /// The inverse of `Z^(2^l_skip) - 1` on each coset.
    fn inverse_zerofiers(&self, cosets: usize) -> Vec<F> {
        let points = self.step.powers().skip(1).take(cosets);
        let zerofiers: Vec<F> = points.map(|point| point - F::ONE).collect();
        batch_multiplicative_inverse(&zerofiers)
    }
}

/// Result of [`CosetInterpolation::at_point`]: for values of sums that vanish on the skip domain, and of other sums.
pub struct AtPoint {
    pub zerocheck: Vec<Vec<EF>>,
    pub logup: Vec<Vec<EF>>,
}

/// Adds `factor b` to `a`, which is extended if it is shorter.
pub fn add_scaled(a: &mut Vec<EF>, b: &[EF], factor: EF) {
    a.resize(a.len().max(b.len()), EF::ZERO);
    for (a, &b) in a.iter_mut().zip(b) {
        *a += factor * b;
    }
}

/// The value at `x`.
pub fn horner(coefficients: &[EF], x: EF) -> EF {
    let highest_first = coefficients.iter().rev();
    highest_first.fold(EF::ZERO, |value, &coefficient| value * x + coefficient)
}

/// `a b`, at least `len` coefficients.
pub fn multiply(a: &[EF], b: &[EF], len: usize) -> Vec<EF> {
    let mut product = vec![EF::ZERO; len.max((a.len() + b.len()).saturating_sub(1))];
    for (i, &x) in a.iter().enumerate() {
        for (j, &y) in b.iter().enumerate() {
            product[i + j] += x * y;
        }
    }
    product
}

/// `L_z(r)` for all points of the skip domain: `w^z (r^N - 1) / (N (r - w^z))`.
pub fn lagrange_weights(l_skip: usize, r: EF) -> Vec<EF> {
    lagrange_on_coset(
        &powers(F::two_adic_generator(l_skip), 1 << l_skip),
        F::ONE,
        r,
    )
}

/// `L_z(r)` for all points `h w^z` of a coset, where `omega` are the powers of `w`: `w^z ((r / h)^N - 1) / (N (r / h - w^z))`.
fn lagrange_on_coset(omega: &[F], h: F, r: EF) -> Vec<EF> {
    let n = omega.len();
    let r = r * h.inverse();
    let differences: Vec<EF> = omega.iter().map(|&w| r - w).collect();
    if let Some(at) = differences.iter().position(|d| d.is_zero()) {
        // A challenge on the coset itself.
        return (0..n).map(|z| EF::from_bool(z == at)).collect();
    }
    let inverses = batch_multiplicative_inverse(&differences);
    let scale = (r.exp_u64(n as u64) - EF::ONE) * F::from_usize(n).inverse();
    omega
        .iter()
        .zip(inverses)
        .map(|(&w, inverse)| scale * inverse * w)
        .collect()
}

#[cfg(test)]
mod tests {
    use openvm_stark_backend::poly_common::UnivariatePoly;
    use p3_field::BasedVectorSpace;

    use super::*;

    fn ext(k: usize) -> EF {
        EF::from_basis_coefficients_fn(|i| F::from_usize(k * k + 5 * i + 1))
    }

    /// Sums over the domain and values at a point from values on cosets are those of the interpolated polynomials, also at points of the
    /// domain and of cosets.
    #[test]
    fn functionals_are_those_of_the_polynomials() {
        for l_skip in [0, 1, 4] {
            let n = 1 << l_skip;
            let with = CosetInterpolation::new(l_skip, 4);
            let a: Vec<EF> = (0..n).map(|k| ext(k + 3)).collect();
            let over_domain = with.over_domain(&a);
            for (cosets, over_domain) in over_domain.iter().enumerate().skip(1) {
                let values: Vec<EF> = (0..cosets * n).map(|k| ext(2 * k + 1)).collect();
                let dot = |factors: &[EF]| -> EF {
                    assert_eq!(factors.len(), values.len());
                    factors.iter().zip(&values).map(|(&f, &v)| f * v).sum()
                };
                let poly = with.coefficients(values.clone(), cosets);
                let domain = powers(F::two_adic_generator(l_skip), n);
                let products = domain
                    .iter()
                    .map(|&x| horner(&a, x.into()) * horner(&poly, x.into()));
                assert_eq!(dot(over_domain), products.sum::<EF>());
                let zerocheck = with.zerocheck_poly(values.clone(), cosets);
                let g = F::GENERATOR;
                for r in [ext(9), EF::ONE, g.into(), (g * g * domain[n - 1]).into()] {
                    let at = with.at_point(r);
                    assert_eq!(dot(&at.logup[cosets]), horner(&poly, r));
                    assert_eq!(dot(&at.zerocheck[cosets]), horner(&zerocheck, r));
                }
            }
        }
    }

    /// The same coefficients as the reference's interpolation has, which works in the extension field.
    #[test]
    fn values_on_cosets_give_the_coefficients() {
        for l_skip in [0, 1, 4] {
            let with = CosetInterpolation::new(l_skip, 7);
            for cosets in 0..=7 {
                let values: Vec<EF> = (0..cosets << l_skip).map(|k| ext(k + 1)).collect();
                let expected = match cosets {
                    0 => vec![],
                    _ => {
                        let matrix = RowMajorMatrix::new(values.clone(), cosets);
                        let g = F::GENERATOR;
                        UnivariatePoly::from_geometric_cosets_evals_idft(matrix, g, g).into_coeffs()
                    }
                };
                assert_eq!(
                    with.coefficients(values, cosets),
                    expected,
                    "{l_skip} {cosets}"
                );
            }
        }
    }
}
