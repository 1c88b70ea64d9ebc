//! Host polynomials of the batch sumcheck: a handful of coefficients for each trace.

use openvm_stark_backend::dft::Radix2BowersSerial;
use p3_dft::TwoAdicSubgroupDft;
use p3_field::{batch_multiplicative_inverse, Field, PrimeCharacteristicRing, TwoAdicField};
use p3_matrix::dense::RowMajorMatrix;

use super::evaluations::ProgramSums;
use crate::{
    prelude::{EF, F},
    programs::{SumKind, SumProgram},
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

    /// The polynomial of degree `< cosets * 2^l_skip` with these values, entry `z * cosets + c` at
    /// `g^(c+1) w^z`.
    fn coefficients(&self, values: Vec<EF>, cosets: usize) -> Vec<EF> {
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

    /// Coefficients of a sum over the hypercube as a polynomial in the skip variable, for each accumulator, from its values on
    /// cosets. Constraints: `(Z^(2^l_skip) - 1) q(Z)`, `q` from its values.
    pub fn sum_polys(&self, program: &SumProgram, sums: &ProgramSums) -> [Vec<EF>; 2] {
        let cosets = program.cosets();
        match program.kind {
            SumKind::Zerocheck => [self.zerocheck_poly(cosets, &sums[0]), vec![]],
            SumKind::Logup => sums.clone().map(|values| self.coefficients(values, cosets)),
        }
    }

    fn zerocheck_poly(&self, cosets: usize, sums: &[EF]) -> Vec<EF> {
        let points = self.step.powers().skip(1).take(cosets);
        let zerofiers: Vec<F> = points.map(|point| point - F::ONE).collect();
        let inverses = batch_multiplicative_inverse(&zerofiers);
        let values = sums.iter().enumerate();
        let values = values.map(|(i, &v)| v * inverses[i % cosets]).collect();
        let q = self.coefficients(values, cosets);
        let domain = 1 << self.l_skip;
        let mut poly = vec![EF::ZERO; domain + q.len()];
        for (i, &coefficient) in q.iter().enumerate() {
            poly[i] -= coefficient;
            poly[domain + i] += coefficient;
        }
        poly
    }
}

/// The sum of `a b` over the skip domain of `a.len()` points: its size times the coefficients of the product whose index it
/// divides.
pub fn domain_sum(a: &[EF], b: &[EF]) -> EF {
    let n = a.len();
    let products = b.iter().enumerate();
    let sum: EF = products.map(|(i, &b)| a[(n - i % n) % n] * b).sum();
    sum * F::from_usize(n)
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
    let n = 1usize << l_skip;
    let points = powers(F::two_adic_generator(l_skip), n);
    let differences: Vec<EF> = points.iter().map(|&w| r - w).collect();
    if let Some(at) = differences.iter().position(|d| d.is_zero()) {
        // A challenge on the domain itself.
        return (0..n).map(|z| EF::from_bool(z == at)).collect();
    }
    let inverses = batch_multiplicative_inverse(&differences);
    let scale = (r.exp_power_of_2(l_skip) - EF::ONE) * F::from_usize(n).inverse();
    points
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

    /// The sum over the domain is that of the values at its points.
    #[test]
    fn a_product_is_summed_over_the_domain() {
        for (l_skip, len) in [(0, 3), (1, 1), (2, 9), (4, 50)] {
            let n = 1 << l_skip;
            let ext = |k: usize| {
                EF::from_usize(3 * k + 1) + EF::from_basis_coefficients_fn(|i| F::from_usize(i * k))
            };
            let a: Vec<EF> = (0..n).map(ext).collect();
            let b: Vec<EF> = (0..len).map(|k| ext(k + 7)).collect();
            let points = F::two_adic_generator(l_skip).powers().take(n);
            let values = points.map(|x| horner(&a, x.into()) * horner(&b, x.into()));
            assert_eq!(domain_sum(&a, &b), values.sum::<EF>());
        }
    }

    /// The same coefficients as the reference's interpolation has, which works in the extension field.
    #[test]
    fn values_on_cosets_give_the_coefficients() {
        for l_skip in [0, 1, 4] {
            let with = CosetInterpolation::new(l_skip, 7);
            for cosets in 0..=7 {
                let ext =
                    |k: usize| EF::from_basis_coefficients_fn(|i| F::from_usize(k * k + 5 * i));
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
