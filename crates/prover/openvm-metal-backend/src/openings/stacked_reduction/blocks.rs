//! The sumcheck once a column is bound to one value: products of two sparse tables over the blocks of
//! the stacked matrices.
//!
//! In round `k` a block is `2^(l_skip + k - 1)` neighbouring cells of a stacked column, and its key its first cell (over all
//! commitments) divided by that length. `value` is the stacked column, bound to `u_0 .. u_(k-1)`, at the block; `weight` is the sum
//! over the columns inside of `lambda_eq eq + lambda_rot kappa_rot`, times `eq` of the bits by which the column lies inside the
//! block. Both are multilinear in the remaining bits of the key, so a round is one pass over neighbouring pairs. Blocks never contain
//! parts of a taller column. Those that hold no bound column are zero. Which blocks there are in a round follows from the shapes.

use std::ops::Range;

use p3_field::PrimeCharacteristicRing;

use super::{claims::Claims, columns::BoundColumns};
use crate::{params::StackedBlock, prelude::EF};

/// The blocks of all rounds. After the last one they are whole stacked columns.
pub(super) struct BlockPlan {
    /// Two for each pair, round after round.
    members: Vec<StackedBlock>,
    /// Blocks of each round.
    rounds: Vec<Range<usize>>,
    /// For each pair after the last round its key, rising.
    last: Vec<u64>,
}

impl BlockPlan {
    /// `bound` are the columns by their number of variables: those with `v` become blocks in round `v + 1`.
    pub fn new(n_stack: usize, claims: &Claims, bound: &[BoundColumns]) -> Self {
        let (mut members, mut rounds, mut pairs) = (Vec::new(), Vec::new(), Vec::<u64>::new());
        for round in 1..=n_stack + 1 {
            let fold = |from| StackedBlock {
                from,
                ..StackedBlock::ZERO
            };
            let folds = (0..).map(fold);
            let mut blocks: Vec<(u64, StackedBlock)> = pairs.drain(..).zip(folds).collect();
            if let Some(bound) = bound.iter().find(|bound| bound.vars() == round - 1) {
                blocks.extend(bound.blocks(claims));
                blocks.sort_by_key(|&(key, _)| key);
            }
            let first = members.len();
            for (key, block) in blocks {
                if pairs.last() != Some(&(key >> 1)) {
                    pairs.push(key >> 1);
                    members.extend([StackedBlock::ZERO; 2]);
                }
                let even = members.len() - 2;
                members[even + (key & 1) as usize] = block;
            }
            rounds.push(first..members.len());
        }
        Self {
            members,
            rounds,
            last: pairs,
        }
    }

    /// Two blocks for each pair of a round, counted from 1 on.
    pub fn of(&self, round: usize) -> &[StackedBlock] {
        &self.members[self.range(round)]
    }

    /// Range of its blocks among those of all rounds.
    pub fn range(&self, round: usize) -> Range<usize> {
        self.rounds[round - 1].clone()
    }

    /// The blocks of all rounds.
    pub fn all(&self) -> &[StackedBlock] {
        &self.members
    }

    /// The values after the last round, each with its stacked column over all commitments, rising.
    pub fn columns(&self, blocks: &Blocks) -> Vec<(u64, EF)> {
        let members = self.of(self.rounds.len()).chunks_exact(2);
        let pairs = self.last.iter().zip(members).zip(&blocks.0);
        let columns = pairs.flat_map(|((&key, members), cells)| {
            let cells = (2 * key..).zip(members).zip(cells);
            let there = cells.filter(|((_, &member), _)| member != StackedBlock::ZERO);
            there.map(|((column, _), cell)| (column, cell.value))
        });
        columns.collect()
    }
}

/// Contents of a block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cell {
    pub value: EF,
    pub weight: EF,
}

/// The pairs of a round, in the order of a [`BlockPlan`].
#[derive(Default)]
pub(super) struct Blocks(Vec<[Cell; 2]>);

impl Blocks {
    /// From what `stacked_fold_blocks` wrote.
    pub fn from_device(cells: &[EF]) -> Self {
        let cell = |cell: &[EF]| Cell {
            value: cell[0],
            weight: cell[1],
        };
        let pairs = cells.chunks_exact(4);
        Self(pairs.map(|p| [cell(&p[..2]), cell(&p[2..])]).collect())
    }

    /// Blocks of the next round, with these members: pairs are folded by `u`, `bound` are columns that are bound now.
    pub fn next(
        &self,
        members: &[StackedBlock],
        u: EF,
        bound: impl Fn(&StackedBlock) -> Cell,
    ) -> Self {
        let cell = |member: &StackedBlock| match *member {
            StackedBlock::ZERO => Cell::default(),
            StackedBlock {
                from,
                column: StackedBlock::NONE,
                ..
            } => {
                let [zero, one] = self.0[from as usize];
                Cell {
                    value: zero.value + u * (one.value - zero.value),
                    weight: zero.weight + u * (one.weight - zero.weight),
                }
            }
            _ => bound(member),
        };
        let pairs = members.chunks_exact(2);
        Self(pairs.map(|p| [cell(&p[0]), cell(&p[1])]).collect())
    }

    /// The sum over pairs at `X = 1` and `X = 2`.
    pub fn round_evals(&self) -> [EF; 2] {
        let mut evals = [EF::ZERO; 2];
        for [zero, one] in &self.0 {
            evals[0] += one.value * one.weight;
            evals[1] += (one.value.double() - zero.value) * (one.weight.double() - zero.weight);
        }
        evals
    }
}
