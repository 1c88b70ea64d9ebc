//! Tensor weights: what the tables of this module have in common.

use p3_field::PrimeCharacteristicRing;

use crate::prelude::EF;

/// The function `y -> scale * prod_i (bit i of y ? w_i[1] : w_i[0])` on the hypercube.
#[derive(Clone, Debug, PartialEq)]
pub struct TensorWeights {
    scale: EF,
    pairs: Vec<[EF; 2]>,
}

impl TensorWeights {
    /// Any pairs of weights, for variable 0 first.
    pub fn new(pairs: Vec<[EF; 2]>) -> Self {
        Self {
            scale: EF::ONE,
            pairs,
        }
    }

    /// `eq(point, y)`, in the order of `evals_eq_hypercube`.
    pub fn eq(point: &[EF]) -> Self {
        Self::new(point.iter().map(|&x| [EF::ONE - x, x]).collect())
    }

    /// The Moebius-adjusted eq polynomial of WHIR, `(1 - 2 x_i, x_i)` per variable, in the order of
    /// `evals_mobius_eq_hypercube`.
    pub fn mobius_eq(point: &[EF]) -> Self {
        Self::new(point.iter().map(|&x| [EF::ONE - x.double(), x]).collect())
    }

    /// `prod_{i in y} point[i]`: the inner product with multilinear coefficients evaluates them.
    pub fn monomials(point: &[EF]) -> Self {
        Self::new(point.iter().map(|&x| [EF::ONE, x]).collect())
    }

    /// `base^y` for `y < 2^vars`: the inner product with univariate coefficients evaluates them.
    pub fn powers(base: EF, vars: usize) -> Self {
        let squares = std::iter::successors(Some(base), |x| Some(x.square()));
        Self::new(squares.take(vars).map(|x| [EF::ONE, x]).collect())
    }

    /// The same weights times `scale`.
    pub fn scaled(mut self, scale: EF) -> Self {
        self.scale *= scale;
        self
    }

    /// Number of variables.
    pub fn vars(&self) -> usize {
        self.pairs.len()
    }

    /// The common factor.
    pub fn scale(&self) -> EF {
        self.scale
    }

    /// The weights of each variable for bit 0 and bit 1.
    pub fn pairs(&self) -> &[[EF; 2]] {
        &self.pairs
    }

    /// One entry, on the host: `vars` products.
    pub fn entry(&self, y: usize) -> EF {
        self.pairs
            .iter()
            .enumerate()
            .fold(self.scale, |acc, (i, pair)| acc * pair[(y >> i) & 1])
    }

    /// The first `len` entries, on the host.
    pub fn to_table(&self, len: usize) -> Vec<EF> {
        let mut table = vec![self.scale];
        for pair in &self.pairs {
            if table.len() >= len {
                break;
            }
            let high: Vec<EF> = table.iter().map(|&t| t * pair[1]).collect();
            table.iter_mut().for_each(|t| *t *= pair[0]);
            table.extend(high);
        }
        // Variables beyond the prefix contribute their weight for bit 0.
        let used = table.len().trailing_zeros() as usize;
        let rest: EF = self.pairs.iter().skip(used).map(|pair| pair[0]).product();
        if used < self.pairs.len() {
            table.iter_mut().for_each(|t| *t *= rest);
        }
        table.truncate(len);
        table
    }
}
