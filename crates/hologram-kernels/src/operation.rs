//! What is computed, apart from where the operands are.

use crate::{BinaryOp, LossOp, MapOp, ReduceOp, Ty};

/// One operation on whole buffers. Matrices are dense and row-major. The operands are, in this order,
/// the one that is written (`dst`, `c`) and those that are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Operation {
    /// `dst[i]` = `op` of `src[i]`.
    Map {
        /// Operation.
        op: MapOp,
        /// Element type.
        ty: Ty,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `a[i]` `op` `b[i]`.
    MapBinary {
        /// Operation.
        op: BinaryOp,
        /// Element type.
        ty: Ty,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `src[i]` `op` `value`.
    MapScalar {
        /// Operation.
        op: BinaryOp,
        /// Element type.
        ty: Ty,
        /// Bits of the right operand.
        value: u64,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `low` where `src[i]` is less, else `high` where it is greater, else `src[i]`.
    Clip {
        /// Element type.
        ty: Ty,
        /// Bits of the lower bound.
        low: u64,
        /// Bits of the upper bound.
        high: u64,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `value`.
    Fill {
        /// Element type.
        ty: Ty,
        /// Bits of the value.
        value: u64,
        /// Elements.
        count: u64,
    },
    /// `dst[0]` = fold of `src`.
    Reduce {
        /// Operation.
        op: ReduceOp,
        /// Element type.
        ty: Ty,
        /// Elements of `src`.
        count: u64,
    },
    /// `dst[0]` = a mean loss of predictions and targets.
    Loss {
        /// Which.
        op: LossOp,
        /// Element type.
        ty: Ty,
        /// Elements of each.
        count: u64,
    },
    /// Each row: exp(x - max) / sum of them.
    Softmax {
        /// Element type.
        ty: Ty,
        /// Rows.
        rows: u32,
        /// Elements of a row.
        cols: u32,
    },
    /// Each row of `src`: (x - mean) / sqrt(variance + epsilon) * `gamma` + `beta`.
    LayerNorm {
        /// Element type.
        ty: Ty,
        /// Rows.
        rows: u32,
        /// Elements of a row.
        cols: u32,
        /// Finite and not negative.
        epsilon: f64,
    },
    /// `c` (m x n) = `a` (m x k) times `b` (k x n).
    Gemm {
        /// Element type.
        ty: Ty,
        /// Rows of `a` and `c`.
        m: u32,
        /// Columns of `b` and `c`.
        n: u32,
        /// Columns of `a`, rows of `b`.
        k: u32,
    },
}

impl Operation {
    /// Type of the elements.
    pub const fn ty(&self) -> Ty {
        match *self {
            Self::Map { ty, .. }
            | Self::MapBinary { ty, .. }
            | Self::MapScalar { ty, .. }
            | Self::Clip { ty, .. }
            | Self::Fill { ty, .. }
            | Self::Reduce { ty, .. }
            | Self::Loss { ty, .. }
            | Self::Softmax { ty, .. }
            | Self::LayerNorm { ty, .. }
            | Self::Gemm { ty, .. } => ty,
        }
    }

    /// Elements of each operand, the written one first, and how many operands there are;
    /// `u64::MAX` for sizes beyond.
    pub fn lengths(&self) -> ([u64; 4], usize) {
        let matrix = |rows: u32, cols: u32| u64::from(rows) * u64::from(cols);
        match *self {
            Self::Map { count, .. } | Self::MapScalar { count, .. } | Self::Clip { count, .. } => {
                ([count, count, 0, 0], 2)
            }
            Self::MapBinary { count, .. } => ([count, count, count, 0], 3),
            Self::Fill { count, .. } => ([count, 0, 0, 0], 1),
            Self::Reduce { count, .. } => ([1, count, 0, 0], 2),
            Self::Loss { count, .. } => ([1, count, count, 0], 3),
            Self::Softmax { rows, cols, .. } => ([matrix(rows, cols), matrix(rows, cols), 0, 0], 2),
            Self::LayerNorm { rows, cols, .. } => (
                [
                    matrix(rows, cols),
                    matrix(rows, cols),
                    cols.into(),
                    cols.into(),
                ],
                4,
            ),
            Self::Gemm { m, n, k, .. } => ([matrix(m, n), matrix(m, k), matrix(k, n), 0], 3),
        }
    }
}
