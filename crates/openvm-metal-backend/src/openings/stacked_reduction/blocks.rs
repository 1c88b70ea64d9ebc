//! The sumcheck once a column is bound to one value: products of two sparse tables over the blocks of
//! the stacked matrices.
//!
//! In round `k` a block is `2^(l_skip + k - 1)` neighbouring cells of a stacked column. `value` is the
//! stacked column, bound to `u_0 .. u_(k-1)`, at the block; `weight` is the sum over the columns inside
//! of `lambda_eq eq + lambda_rot kappa_rot`, times `eq` of the bits by which the column lies inside the
//! block. Both are multilinear in the remaining bits of the block index, so a round is one pass over
//! neighbouring pairs. Blocks never contain parts of a taller column.

use p3_field::PrimeCharacteristicRing;

use crate::prelude::EF;

#[derive(Clone, Copy, Debug)]
struct Block {
    /// Index of the block: first cell (over all commitments) divided by the block length.
    key: u64,
    value: EF,
    weight: EF,
}

/// The blocks that hold bound columns, by key. All others are zero.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: Vec<Block>,
}

impl Blocks {
    /// Adds columns that have just become one block each: `(key, value, weight)`.
    pub fn join(&mut self, columns: impl IntoIterator<Item = (u64, EF, EF)>) {
        let len = self.blocks.len();
        self.blocks
            .extend(
                columns
                    .into_iter()
                    .map(|(key, value, weight)| Block { key, value, weight }),
            );
        if self.blocks.len() > len {
            self.blocks.sort_by_key(|b| b.key);
        }
    }

    /// The sum over pairs of blocks at `X = 1` and `X = 2`.
    pub fn round_evals(&self) -> [EF; 2] {
        let mut evals = [EF::ZERO; 2];
        for pair in self.pairs() {
            let [zero, one] = pair;
            evals[0] += one.value * one.weight;
            evals[1] += (one.value.double() - zero.value) * (one.weight.double() - zero.weight);
        }
        evals
    }

    /// Binds the lowest bit of the block index.
    pub fn fold(&mut self, u: EF) {
        self.blocks = self
            .pairs()
            .map(|[zero, one]| Block {
                key: zero.key >> 1,
                value: zero.value + u * (one.value - zero.value),
                weight: zero.weight + u * (one.weight - zero.weight),
            })
            .collect();
    }

    /// Key and value of each block.
    pub fn values(&self) -> impl Iterator<Item = (u64, EF)> + '_ {
        self.blocks.iter().map(|b| (b.key, b.value))
    }

    /// Pairs of neighbours; one that is missing is zero.
    fn pairs(&self) -> impl Iterator<Item = [Block; 2]> + '_ {
        self.blocks
            .chunk_by(|a, b| a.key >> 1 == b.key >> 1)
            .map(|pair| {
                let key = pair[0].key & !1;
                let at = |key| {
                    let zero = Block {
                        key,
                        value: EF::ZERO,
                        weight: EF::ZERO,
                    };
                    pair.iter().find(|b| b.key == key).copied().unwrap_or(zero)
                };
                [at(key), at(key + 1)]
            })
    }
}
