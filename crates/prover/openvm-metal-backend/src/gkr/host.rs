//! Small tables: the last rounds of every layer and the outer layers, on the host.

use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

use super::round::RoundSums;
use crate::{
    prelude::{EF, F},
    tensor,
};

/// The columns of a layer's sumcheck after some rounds, `rows` elements each:
/// `a = p0 + lambda q0`, `b = q1`, `c = p1`, `d = q0`, and the eq weights of the pairs.
#[derive(Debug)]
pub struct HostTable {
    columns: [Vec<EF>; 4],
    /// `eq` over the coordinates after the next one, one weight per pair.
    weights: Vec<EF>,
}

impl HostTable {
    /// From the nodes of a layer, which are `(p0, q0), (p1, q1)` of row 0, of row 1 and so on.
    /// `xi` has one coordinate per variable of the table.
    pub fn from_nodes(p: &[EF], q: &[EF], lambda: EF, xi: &[EF]) -> Self {
        let even = |x: &[EF]| x.iter().copied().step_by(2).collect::<Vec<_>>();
        let odd = |x: &[EF]| x.iter().copied().skip(1).step_by(2).collect::<Vec<_>>();
        let d = even(q);
        let a = even(p)
            .iter()
            .zip(&d)
            .map(|(&p0, &q0)| p0 + lambda * q0)
            .collect();
        Self {
            columns: [a, odd(q), odd(p), d],
            weights: pair_weights(xi),
        }
    }

    /// From the columns one after the other, each as planes.
    pub fn from_columns(words: &[F], xi: &[EF]) -> Self {
        let len = words.len() / 4;
        let column = |j: usize| from_planes(&words[j * len..(j + 1) * len]);
        Self {
            columns: [column(0), column(1), column(2), column(3)],
            weights: pair_weights(xi),
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.columns[0].len()
    }

    /// The sums of the next round.
    pub fn sums(&self, at_one: bool) -> RoundSums {
        let [a, b, c, d] = &self.columns;
        let at_row = at_one as usize;
        let mut sums = RoundSums {
            at: EF::ZERO,
            lead: EF::ZERO,
        };
        for (y, &weight) in self.weights.iter().enumerate() {
            let (zero, one) = (2 * y, 2 * y + 1);
            let at = zero + at_row;
            sums.at += weight * (a[at] * b[at] + c[at] * d[at]);
            sums.lead += weight
                * ((a[one] - a[zero]) * (b[one] - b[zero])
                    + (c[one] - c[zero]) * (d[one] - d[zero]));
        }
        sums
    }

    /// Fixes the next variable.
    pub fn fold(&mut self, r: EF) {
        let half = self.rows() / 2;
        for column in &mut self.columns {
            for y in 0..half {
                column[y] = column[2 * y] + r * (column[2 * y + 1] - column[2 * y]);
            }
            column.truncate(half);
        }
        // The weights of a coordinate sum to 1.
        for y in 0..self.weights.len() / 2 {
            self.weights[y] = self.weights[2 * y] + self.weights[2 * y + 1];
        }
        self.weights.truncate(half / 2);
    }

    /// `a, b, c, d` of the only row.
    pub fn row(&self) -> [EF; 4] {
        [0, 1, 2, 3].map(|j| self.columns[j][0])
    }
}

/// `eq(xi[1..], y)` for all `y`, bit 0 of `y` for `xi[1]`; empty for no coordinates.
fn pair_weights(xi: &[EF]) -> Vec<EF> {
    let Some((_, rest)) = xi.split_first() else {
        return Vec::new();
    };
    tensor::expand(&tensor::eq_bits(rest), EF::ONE)
}

/// The layer above `p, q`: sums of neighbouring fractions.
pub fn parents(p: &[EF], q: &[EF]) -> (Vec<EF>, Vec<EF>) {
    let sums = p.chunks_exact(2).zip(q.chunks_exact(2));
    sums.map(|(p, q)| (p[0] * q[1] + p[1] * q[0], q[0] * q[1]))
        .unzip()
}

/// Extension elements whose coefficients lie in four planes.
pub fn from_planes(words: &[F]) -> Vec<EF> {
    let len = words.len() / 4;
    let element = |i| EF::from_basis_coefficients_fn(|c| words[c * len + i]);
    (0..len).map(element).collect()
}

/// Extension elements as they lie in memory.
pub fn from_words(words: &[F]) -> Vec<EF> {
    let element = |w: &[F]| EF::from_basis_coefficients_fn(|c| w[c]);
    words.chunks_exact(4).map(element).collect()
}
