//! Types that each instruction works on.

use hologram_kernels::legality::{computable, float, require, signed};

use super::instruction::whole_buffer;
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
        whole_buffer!() => instruction
            .operation()
            .map_or(Ok(()), |operation| operation.check_types()),
        // All twelve types, or fixed ones.
        I::Ldg { .. }
        | I::Stg { .. }
        | I::Lds { .. }
        | I::Sts { .. }
        | I::Mov { .. }
        | I::MovImm { .. }
        | I::Cvt { .. }
        | I::Sel { .. }
        | I::Bra { .. }
        | I::Call { .. }
        | I::Ret {}
        | I::Loop { .. }
        | I::Exit {}
        | I::BarSync { .. }
        | I::MemFence { .. }
        | I::ClsGet { .. }
        | I::Mirror { .. }
        | I::UnityTest { .. }
        | I::NbrCount { .. }
        | I::NbrGet { .. }
        | I::ResAccum { .. }
        | I::PhaseGet { .. }
        | I::PhaseAdv { .. }
        | I::BoundMap { .. }
        | I::PoolAlloc { .. }
        | I::PoolFree { .. }
        | I::PoolLoad { .. }
        | I::PoolStore { .. } => Ok(()),
    }
}
