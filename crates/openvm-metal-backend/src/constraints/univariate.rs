//! Host polynomials of the batch sumcheck: a handful of coefficients for each trace.

use openvm_stark_backend::{p3_matrix::dense::RowMajorMatrix, poly_common::UnivariatePoly};
use p3_field::{batch_multiplicative_inverse, Field, PrimeCharacteristicRing, TwoAdicField};

use super::evaluations::ProgramSums;
use crate::{
    prelude::{EF, F},
    programs::{SumKind, SumProgram},
};

/// The polynomial of degree `< cosets * 2^l_skip` with these values, entry `z * cosets + c` at
/// `g^(c+1) w^z`.
fn interpolate(values: Vec<EF>, cosets: usize) -> UnivariatePoly<EF> {
    if cosets == 0 || values.is_empty() {
        return UnivariatePoly::new(vec![]);
    }
    let g = F::GENERATOR;
    UnivariatePoly::from_geometric_cosets_evals_idft(RowMajorMatrix::new(values, cosets), g, g)
}

/// Coefficients of a sum over the hypercube as a polynomial in the skip variable, for each accumulator, from its values on
/// cosets. Constraints: `(Z^(2^l_skip) - 1) q(Z)`, `q` from its values.
pub fn sum_polys(l_skip: usize, program: &SumProgram, sums: &ProgramSums) -> [Vec<EF>; 2] {
    match program.kind {
        SumKind::Zerocheck => [zerocheck_poly(l_skip, program.cosets(), &sums[0]), vec![]],
        SumKind::Logup => sums
            .clone()
            .map(|values| interpolate(values, program.cosets()).into_coeffs()),
    }
}

fn zerocheck_poly(l_skip: usize, cosets: usize, sums: &[EF]) -> Vec<EF> {
    let zerofiers: Vec<F> = F::GENERATOR
        .powers()
        .skip(1)
        .take(cosets)
        .map(|shift| shift.exp_power_of_2(l_skip) - F::ONE)
        .collect();
    let inverses = batch_multiplicative_inverse(&zerofiers);
    let values = sums.iter().enumerate();
    let values = values.map(|(i, &v)| v * inverses[i % cosets]).collect();
    let q = interpolate(values, cosets).into_coeffs();
    let domain = 1 << l_skip;
    let mut poly = vec![EF::ZERO; domain + q.len()];
    for (i, &coefficient) in q.iter().enumerate() {
        poly[i] -= coefficient;
        poly[domain + i] += coefficient;
    }
    poly
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
    let points: Vec<F> = F::two_adic_generator(l_skip).powers().take(n).collect();
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
}
