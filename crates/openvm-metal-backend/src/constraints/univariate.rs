//! Host polynomials of the batch sumcheck: a handful of coefficients for each trace.

use openvm_stark_backend::{
    p3_matrix::dense::RowMajorMatrix, poly_common::UnivariatePoly,
    prover::sumcheck::sumcheck_round0_deg,
};
use p3_field::{batch_multiplicative_inverse, Field, PrimeCharacteristicRing, TwoAdicField};

use super::round0::Round0Sums;
use crate::prelude::{EF, F};

/// The polynomial of degree `< cosets * 2^l_skip` with these values, entry `z * cosets + c` at
/// `g^(c+1) w^z`.
fn interpolate(values: Vec<EF>, cosets: usize) -> UnivariatePoly<EF> {
    if cosets == 0 || values.is_empty() {
        return UnivariatePoly::new(vec![]);
    }
    let g = F::GENERATOR;
    UnivariatePoly::from_geometric_cosets_evals_idft(RowMajorMatrix::new(values, cosets), g, g)
}

/// Coefficients of `s'_0` of the zerocheck: `(Z^(2^l_skip) - 1) q(Z)`, `q` from its values.
pub fn zerocheck_poly(l_skip: usize, degree: usize, sums: &Round0Sums) -> Vec<EF> {
    if degree == 0 || sums.zerocheck.is_empty() {
        return vec![];
    }
    let cosets = degree - 1;
    let zerofiers: Vec<F> = F::GENERATOR
        .powers()
        .skip(1)
        .take(cosets)
        .map(|shift| shift.exp_power_of_2(l_skip) - F::ONE)
        .collect();
    let inverses = batch_multiplicative_inverse(&zerofiers);
    let values = sums
        .zerocheck
        .iter()
        .enumerate()
        .map(|(i, &v)| v * inverses[i % cosets])
        .collect();
    let q = interpolate(values, cosets).into_coeffs();
    let domain = 1 << l_skip;
    (0..=sumcheck_round0_deg(l_skip, degree))
        .map(|i| {
            let low = -q.get(i).copied().unwrap_or(EF::ZERO);
            let high = if i >= domain {
                q.get(i - domain).copied()
            } else {
                None
            };
            low + high.unwrap_or(EF::ZERO)
        })
        .collect()
}

/// Coefficients of numerator and denominator of `s'_0` of LogUp; `constant` is the sum of the
/// denominators' constant terms.
pub fn logup_polys(degree: usize, sums: &Round0Sums, norm: F, constant: EF) -> [Vec<EF>; 2] {
    let numerator = sums.numerator.iter().map(|&v| v * norm).collect();
    let denominator = sums.denominator.iter().map(|&v| v + constant).collect();
    [numerator, denominator].map(|values| interpolate(values, degree).into_coeffs())
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
