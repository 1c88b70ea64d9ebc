//! What is computed, on what.

use std::fmt;

use hologram_kernels::Operation;

use super::operand::{Operand, OperandUse, Operands};
use crate::error::{BackendError, Fault, FaultKind};
use crate::handle::BufferHandle;
use crate::isa::{BinaryOp, Epsilon, Instruction, LossOp, MapOp, ReduceOp, Register, Ty};

/// One operation on whole buffers. Matrices are dense and row-major.
///
/// What is written may be exactly an operand of the same extent in `Map`, `MapBinary`, `MapScalar`,
/// `Clip`, `Softmax` and `LayerNorm` (there `src` only); `Reduce` and `Loss` may write anywhere;
/// any other overlap of written and read bytes is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IntrinsicCall {
    /// `dst[i]` = `op` of `src[i]`.
    Map {
        /// Operation.
        op: MapOp,
        /// Element type.
        ty: Ty,
        /// Written.
        dst: Operand,
        /// Read.
        src: Operand,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `a[i]` `op` `b[i]`.
    MapBinary {
        /// Operation.
        op: BinaryOp,
        /// Element type.
        ty: Ty,
        /// Written.
        dst: Operand,
        /// Left operand.
        a: Operand,
        /// Right operand.
        b: Operand,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `src[i]` `op` `value`.
    MapScalar {
        /// Operation.
        op: BinaryOp,
        /// Element type.
        ty: Ty,
        /// Written.
        dst: Operand,
        /// Left operand.
        src: Operand,
        /// Bits of the right operand, as of `mov_imm`.
        value: u64,
        /// Elements.
        count: u64,
    },
    /// `dst[i]` = `low` where `src[i]` is less, else `high` where it is greater, else `src[i]`.
    Clip {
        /// Element type.
        ty: Ty,
        /// Written.
        dst: Operand,
        /// Read.
        src: Operand,
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
        /// Written.
        dst: Operand,
        /// Bits of the value.
        value: u64,
        /// Elements.
        count: u64,
    },
    /// `dst[0]` = fold of `src`; the order of float sums and products is not defined.
    Reduce {
        /// Operation.
        op: ReduceOp,
        /// Element type.
        ty: Ty,
        /// Written, one element.
        dst: Operand,
        /// Read.
        src: Operand,
        /// Elements of `src`.
        count: u64,
    },
    /// `dst[0]` = a mean loss.
    Loss {
        /// Which.
        op: LossOp,
        /// Element type.
        ty: Ty,
        /// Written, one element.
        dst: Operand,
        /// Predictions.
        predicted: Operand,
        /// Targets.
        target: Operand,
        /// Elements of each.
        count: u64,
    },
    /// Each row: exp(x - max) / sum of them.
    Softmax {
        /// Element type.
        ty: Ty,
        /// Written.
        dst: Operand,
        /// Read.
        src: Operand,
        /// Rows.
        rows: u32,
        /// Elements of a row.
        cols: u32,
    },
    /// Each row: (x - mean) / sqrt(variance + epsilon) * gamma + beta; the variance is over `cols`.
    LayerNorm {
        /// Element type.
        ty: Ty,
        /// Written.
        dst: Operand,
        /// Read.
        src: Operand,
        /// Factors, `cols` elements.
        gamma: Operand,
        /// Summands, `cols` elements.
        beta: Operand,
        /// Rows.
        rows: u32,
        /// Elements of a row.
        cols: u32,
        /// Finite and not negative.
        epsilon: Epsilon,
    },
    /// `c` (m x n) = `a` (m x k) times `b` (k x n).
    Gemm {
        /// Element type.
        ty: Ty,
        /// Written.
        c: Operand,
        /// Left factor.
        a: Operand,
        /// Right factor.
        b: Operand,
        /// Rows of `a` and `c`.
        m: u32,
        /// Columns of `b` and `c`.
        n: u32,
        /// Columns of `a`, rows of `b`.
        k: u32,
    },
}

impl IntrinsicCall {
    /// The call that an instruction of a program makes; `None` when it is no intrinsic.
    ///
    /// # Errors
    /// Those of `register`, which gives a register's `u64`: the raw handle of a buffer.
    pub fn from_instruction<E>(
        instruction: &Instruction,
        mut register: impl FnMut(Register) -> Result<u64, E>,
    ) -> Result<Option<Self>, E> {
        use Instruction as I;
        let mut at = |r| register(r).map(|raw| Operand::from(BufferHandle::from_raw(raw)));
        Ok(Some(match *instruction {
            #[rustfmt::skip]
            I::ParallelMap { op, ty, dst, src, count } => Self::Map {
                op, ty, dst: at(dst)?, src: at(src)?, count,
            },
            #[rustfmt::skip]
            I::ParallelMapBinary { op, ty, dst, a, b, count } => Self::MapBinary {
                op, ty, dst: at(dst)?, a: at(a)?, b: at(b)?, count,
            },
            #[rustfmt::skip]
            I::ParallelMapScalar { op, ty, dst, src, value, count } => Self::MapScalar {
                op, ty, dst: at(dst)?, src: at(src)?, value, count,
            },
            #[rustfmt::skip]
            I::Clip { ty, dst, src, low, high, count } => Self::Clip {
                ty, dst: at(dst)?, src: at(src)?, low, high, count,
            },
            #[rustfmt::skip]
            I::Fill { ty, dst, value, count } => Self::Fill {
                ty, dst: at(dst)?, value, count,
            },
            #[rustfmt::skip]
            I::ParallelReduce { op, ty, dst, src, count } => Self::Reduce {
                op, ty, dst: at(dst)?, src: at(src)?, count,
            },
            #[rustfmt::skip]
            I::Loss { op, ty, dst, predicted, target, count } => Self::Loss {
                op, ty, dst: at(dst)?, predicted: at(predicted)?, target: at(target)?, count,
            },
            #[rustfmt::skip]
            I::Softmax { ty, dst, src, rows, cols } => Self::Softmax {
                ty, dst: at(dst)?, src: at(src)?, rows, cols,
            },
            #[rustfmt::skip]
            I::LayerNorm { ty, dst, src, gamma, beta, rows, cols, epsilon } => Self::LayerNorm {
                ty, dst: at(dst)?, src: at(src)?, gamma: at(gamma)?, beta: at(beta)?,
                rows, cols, epsilon,
            },
            #[rustfmt::skip]
            I::Gemm { ty, a, b, c, m, n, k } => Self::Gemm {
                ty, c: at(c)?, a: at(a)?, b: at(b)?, m, n, k,
            },
            _ => return Ok(None),
        }))
    }

    /// What is computed, without the operands.
    pub fn operation(&self) -> Operation {
        match *self {
            Self::Map { op, ty, count, .. } => Operation::Map { op, ty, count },
            Self::MapBinary { op, ty, count, .. } => Operation::MapBinary { op, ty, count },
            #[rustfmt::skip]
            Self::MapScalar { op, ty, value, count, .. } => Operation::MapScalar { op, ty, value, count },
            #[rustfmt::skip]
            Self::Clip { ty, low, high, count, .. } => Operation::Clip { ty, low, high, count },
            #[rustfmt::skip]
            Self::Fill { ty, value, count, .. } => Operation::Fill { ty, value, count },
            Self::Reduce { op, ty, count, .. } => Operation::Reduce { op, ty, count },
            Self::Loss { op, ty, count, .. } => Operation::Loss { op, ty, count },
            Self::Softmax { ty, rows, cols, .. } => Operation::Softmax { ty, rows, cols },
            #[rustfmt::skip]
            Self::LayerNorm { ty, rows, cols, epsilon, .. } => Operation::LayerNorm {
                ty, rows, cols, epsilon: epsilon.value(),
            },
            Self::Gemm { ty, m, n, k, .. } => Operation::Gemm { ty, m, n, k },
        }
    }

    /// Type of the elements.
    pub fn ty(&self) -> Ty {
        self.operation().ty()
    }

    /// The operands and how many bytes of each are used.
    pub fn operands(&self) -> Operands {
        let operands = self.places();
        let operation = self.operation();
        let size = operation.ty().size() as u64;
        let (lengths, len) = operation.lengths();
        let used = |index: usize| OperandUse {
            operand: operands[index],
            bytes: lengths[index].saturating_mul(size),
        };
        Operands::new([used(0), used(1), used(2), used(3)], len)
    }

    /// Where the operands are, the written one first; repeated to fill the array.
    fn places(&self) -> [Operand; 4] {
        match *self {
            Self::Map { dst, src, .. }
            | Self::MapScalar { dst, src, .. }
            | Self::Clip { dst, src, .. }
            | Self::Reduce { dst, src, .. }
            | Self::Softmax { dst, src, .. } => [dst, src, dst, dst],
            Self::MapBinary { dst, a, b, .. } => [dst, a, b, dst],
            Self::Fill { dst, .. } => [dst; 4],
            #[rustfmt::skip]
            Self::Loss { dst, predicted, target, .. } => [dst, predicted, target, dst],
            #[rustfmt::skip]
            Self::LayerNorm { dst, src, gamma, beta, .. } => [dst, src, gamma, beta],
            Self::Gemm { c, a, b, .. } => [c, a, b, c],
        }
    }

    /// The error of a call that failed with `kind` outside of a program.
    pub fn fault(&self, kind: FaultKind) -> BackendError {
        BackendError::Fault(Fault {
            lane: 0,
            pc: 0,
            instruction: self.to_string(),
            kind,
        })
    }
}

impl fmt::Display for IntrinsicCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Map { op, .. } => write!(f, "map.{op}")?,
            Self::MapBinary { op, .. } => write!(f, "map2.{op}")?,
            Self::MapScalar { op, .. } => write!(f, "map_scalar.{op}")?,
            Self::Clip { .. } => f.write_str("clip")?,
            Self::Fill { .. } => f.write_str("fill")?,
            Self::Reduce { op, .. } => write!(f, "reduce.{op}")?,
            Self::Loss { op, .. } => write!(f, "loss.{op}")?,
            Self::Softmax { .. } => f.write_str("softmax")?,
            Self::LayerNorm { .. } => f.write_str("layer_norm")?,
            Self::Gemm { .. } => f.write_str("gemm")?,
        }
        write!(f, ".{}", self.ty())?;
        for (i, used) in self.operands().all().iter().enumerate() {
            write!(f, "{}{}", if i == 0 { " " } else { ", " }, used.operand)?;
        }
        match *self {
            Self::MapScalar { value, count, .. } | Self::Fill { value, count, .. } => {
                write!(f, ", {value:#x}, {count}")
            }
            Self::Clip {
                low, high, count, ..
            } => write!(f, ", {low:#x}, {high:#x}, {count}"),
            Self::Map { count, .. }
            | Self::MapBinary { count, .. }
            | Self::Reduce { count, .. }
            | Self::Loss { count, .. } => write!(f, ", {count}"),
            Self::Softmax { rows, cols, .. } => write!(f, ", {rows}, {cols}"),
            Self::LayerNorm {
                rows,
                cols,
                epsilon,
                ..
            } => write!(f, ", {rows}, {cols}, {epsilon}"),
            Self::Gemm { m, n, k, .. } => write!(f, ", {m}, {n}, {k}"),
        }
    }
}
