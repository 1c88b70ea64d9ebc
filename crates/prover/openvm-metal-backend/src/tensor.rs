//! Tensor tables: `T[x] = prod_i bits[i][bit i of x]`.
//!
//! Every weight of GKR and of the openings (equality polynomials, powers of a point, their duals) has this
//! form, so a sum `sum_x T[x] f[x]` can be taken over a few index bits at a time with tables of at
//! most `2^5` entries.

use p3_field::PrimeCharacteristicRing;

use crate::prelude::EF;

/// The two factors of one index bit.
pub(crate) type BitWeight = [EF; 2];

/// Factors of `eq(point, x)`: `1 - point_i` and `point_i`.
pub(crate) fn eq_bits(point: &[EF]) -> Vec<BitWeight> {
    point.iter().map(|&p| [EF::ONE - p, p]).collect()
}

/// The first `count` powers of `x`, from `x^0` on, in four chains of products that do not wait for each other. They are computed on this thread:
/// Plonky3's `collect` divides 16 powers or more among the threads of rayon, which wake late.
pub(crate) fn powers<T: PrimeCharacteristicRing + Copy>(x: T, count: usize) -> Vec<T> {
    let square = x.square();
    let (first, step) = ([T::ONE, x, square, square * x], square.square());
    let mut powers = Vec::with_capacity(count);
    powers.extend(first.into_iter().take(count));
    for k in first.len()..count {
        powers.push(powers[k - first.len()] * step);
    }
    powers
}

/// Factors of `z^x`: `1` and `z^(2^i)`.
pub(crate) fn power_bits(z: EF, bits: usize) -> Vec<BitWeight> {
    let mut power = z;
    (0..bits)
        .map(|_| {
            let factors = [EF::ONE, power];
            power = power.square();
            factors
        })
        .collect()
}

/// All `2^bits.len()` entries, scaled: about as many products.
pub(crate) fn expand(bits: &[BitWeight], scale: EF) -> Vec<EF> {
    let mut table = Vec::with_capacity(1 << bits.len());
    table.push(scale);
    for &[zero, one] in bits {
        let len = table.len();
        for i in 0..len {
            let t = table[i];
            table.push(t * one);
            table[i] = t * zero;
        }
    }
    table
}

/// `out[z] = sum_x T[x] values[x * 2^keep + z]` on the host.
pub(crate) fn contract(values: &[EF], keep: usize, bits: &[BitWeight]) -> Vec<EF> {
    weighted_sum(values, keep, &expand(bits, EF::ONE))
}

/// The same with the entries of `T`.
pub(crate) fn weighted_sum(values: &[EF], keep: usize, weights: &[EF]) -> Vec<EF> {
    debug_assert_eq!(values.len(), weights.len() << keep);
    let mut out = EF::zero_vec(1 << keep);
    for (chunk, &weight) in values.chunks_exact(1 << keep).zip(weights) {
        for (o, &v) in out.iter_mut().zip(chunk) {
            *o += weight * v;
        }
    }
    out
}

/// Folds neighbours: `out[j] = zero values[2 j] + one values[2 j + 1]`.
pub(crate) fn fold_pairs(values: &[EF], [zero, one]: BitWeight) -> Vec<EF> {
    values
        .chunks_exact(2)
        .map(|pair| zero * pair[0] + one * pair[1])
        .collect()
}

/// Folds neighbours by linear interpolation at `r`.
pub(crate) fn interpolate_pairs(values: &[EF], r: EF) -> Vec<EF> {
    values
        .chunks_exact(2)
        .map(|pair| pair[0] + r * (pair[1] - pair[0]))
        .collect()
}

#[cfg(test)]
mod tests {
    use p3_field::Field;

    use super::*;

    #[test]
    fn powers_of_every_count() {
        let x = EF::TWO + EF::GENERATOR;
        for count in 0..20 {
            let expected: Vec<EF> = Iterator::collect(x.powers().take(count));
            assert_eq!(powers(x, count), expected);
        }
    }
}
