//! Which types each instruction works on.

use hologram_kernels::legality::{
    any_float, binary_types, computable, float, map_types, require, signed,
};

use super::{Instruction, Ty};

/// Says which types the instruction allows when its own are not among them.
///
/// # Errors
/// The offending type and the allowed ones, in words.
pub fn check_types(instruction: &Instruction) -> Result<(), (Ty, &'static str)> {
    use Instruction as I;
    let int = |ty: Ty| require(ty, ty.is_int(), "the integer types");
    match *instruction {
        I::Add { ty, .. }
        | I::Sub { ty, .. }
        | I::Mul { ty, .. }
        | I::Div { ty, .. }
        | I::Mad { ty, .. }
        | I::Min { ty, .. }
        | I::Max { ty, .. } => computable(ty),
        I::Abs { ty, .. } | I::Neg { ty, .. } => signed(ty),
        I::And { ty, .. }
        | I::Or { ty, .. }
        | I::Xor { ty, .. }
        | I::Not { ty, .. }
        | I::Shl { ty, .. }
        | I::Shr { ty, .. } => int(ty),
        I::SetCc { ty, cond, .. } if cond.is_unsigned() => int(ty),
        I::SetCc { ty, .. } => computable(ty),
        I::ReduceAdd { ty, .. }
        | I::ReduceMin { ty, .. }
        | I::ReduceMax { ty, .. }
        | I::ReduceMul { ty, .. } => require(
            ty,
            matches!(
                ty,
                Ty::I32 | Ty::I64 | Ty::U32 | Ty::U64 | Ty::F32 | Ty::F64
            ),
            "i32, i64, u32, u64, f32 and f64",
        ),
        I::Fma { ty, .. }
        | I::Exp { ty, .. }
        | I::Log { ty, .. }
        | I::Log2 { ty, .. }
        | I::Log10 { ty, .. }
        | I::Sqrt { ty, .. }
        | I::Rsqrt { ty, .. }
        | I::Sin { ty, .. }
        | I::Cos { ty, .. }
        | I::Tan { ty, .. }
        | I::Tanh { ty, .. }
        | I::Sigmoid { ty, .. }
        | I::Pow { ty, .. } => float(ty),
        I::Gemm { ty, .. }
        | I::LayerNorm { ty, .. }
        | I::Loss { ty, .. }
        | I::Softmax { ty, .. } => any_float(ty),
        I::ParallelMap { ty, op, .. } => map_types(op, ty),
        I::ParallelMapBinary { ty, op, .. } | I::ParallelMapScalar { ty, op, .. } => {
            binary_types(op, ty)
        }
        // All twelve types, or fixed ones.
        _ => Ok(()),
    }
}
