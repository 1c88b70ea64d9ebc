//! Registers that an instruction reads and writes.

use super::instruction::whole_buffer;
use super::{Address, Instruction, Label, Predicate, Register, Ty};

impl Instruction {
    /// Calls `f` with every general register that is read and the type it is read as.
    ///
    /// Registers of a reduction past `r255` are left out: the validator reports them.
    pub fn for_each_use(&self, mut f: impl FnMut(Register, Ty)) {
        use Instruction as I;
        let mut each = |ty: Ty, read: &[Register]| read.iter().for_each(|&r| f(r, ty));
        match *self {
            I::Ldg { addr, .. } => address_uses(addr, f),
            I::Stg { ty, src, addr } => {
                f(src, ty);
                address_uses(addr, f);
            }
            I::Lds { addr, .. } => shared_uses(addr, f),
            I::Sts { ty, src, addr } => {
                f(src, ty);
                shared_uses(addr, f);
            }
            I::Cvt { src_ty, src, .. } => f(src, src_ty),
            I::Add { ty, src1, src2, .. }
            | I::Sub { ty, src1, src2, .. }
            | I::Mul { ty, src1, src2, .. }
            | I::Div { ty, src1, src2, .. }
            | I::Min { ty, src1, src2, .. }
            | I::Max { ty, src1, src2, .. }
            | I::And { ty, src1, src2, .. }
            | I::Or { ty, src1, src2, .. }
            | I::Xor { ty, src1, src2, .. }
            | I::Pow { ty, src1, src2, .. }
            | I::SetCc { ty, src1, src2, .. } => each(ty, &[src1, src2]),
            I::Mad { ty, a, b, c, .. } | I::Fma { ty, a, b, c, .. } => each(ty, &[a, b, c]),
            I::Shl {
                ty, src, amount, ..
            }
            | I::Shr {
                ty, src, amount, ..
            } => {
                f(src, ty);
                f(amount, Ty::U32);
            }
            I::Sel {
                ty,
                src_true,
                src_false,
                ..
            } => each(ty, &[src_true, src_false]),
            I::Loop { count, .. } => f(count, Ty::U32),
            I::Mirror { src, .. } => f(src, Ty::U8),
            I::NbrCount { class, .. } | I::NbrGet { class, .. } => f(class, Ty::U8),
            I::ResAccum { class, value } => {
                f(class, Ty::U8);
                f(value, Ty::F64);
            }
            I::BoundMap {
                class, page, byte, ..
            } => each(Ty::U8, &[class, page, byte]),
            I::ReduceAdd { .. }
            | I::ReduceMin { .. }
            | I::ReduceMax { .. }
            | I::ReduceMul { .. } => self.for_each_folded(f),
            I::Mov { ty, src, .. }
            | I::Abs { ty, src, .. }
            | I::Neg { ty, src, .. }
            | I::Not { ty, src, .. }
            | I::Exp { ty, src, .. }
            | I::Log { ty, src, .. }
            | I::Log2 { ty, src, .. }
            | I::Log10 { ty, src, .. }
            | I::Sqrt { ty, src, .. }
            | I::Rsqrt { ty, src, .. }
            | I::Sin { ty, src, .. }
            | I::Cos { ty, src, .. }
            | I::Tan { ty, src, .. }
            | I::Tanh { ty, src, .. }
            | I::Sigmoid { ty, src, .. } => f(src, ty),
            I::PoolFree { handle } => f(handle, Ty::U64),
            I::PoolLoad { pool, offset, .. } => each(Ty::U64, &[pool, offset]),
            I::PoolStore {
                ty,
                src,
                pool,
                offset,
            } => {
                each(ty, &[src]);
                each(Ty::U64, &[pool, offset]);
            }
            // Registers of whole-buffer operations hold handles of buffers.
            whole_buffer!() => self.for_each_handle(|r| f(r, Ty::U64)),
            I::MovImm { .. }
            | I::Bra { .. }
            | I::Call { .. }
            | I::Ret { .. }
            | I::Exit { .. }
            | I::BarSync { .. }
            | I::MemFence { .. }
            | I::ClsGet { .. }
            | I::UnityTest { .. }
            | I::PhaseGet { .. }
            | I::PhaseAdv { .. }
            | I::PoolAlloc { .. } => {}
        }
    }

    /// Calls `f` with every register that a reduction folds, up to `r255`.
    fn for_each_folded(&self, mut f: impl FnMut(Register, Ty)) {
        use Instruction as I;
        if let I::ReduceAdd {
            ty,
            src_base,
            count,
            ..
        }
        | I::ReduceMin {
            ty,
            src_base,
            count,
            ..
        }
        | I::ReduceMax {
            ty,
            src_base,
            count,
            ..
        }
        | I::ReduceMul {
            ty,
            src_base,
            count,
            ..
        } = *self
        {
            let first = u32::from(src_base.index());
            for index in first..first.saturating_add(count).min(256) {
                f(Register::new(index as u8), ty);
            }
        }
    }

    /// The general register that is written, and the type it then has.
    pub fn def(&self) -> Option<(Register, Ty)> {
        use Instruction as I;
        match *self {
            I::Ldg { ty, dst, .. }
            | I::Lds { ty, dst, .. }
            | I::Mov { ty, dst, .. }
            | I::MovImm { ty, dst, .. }
            | I::Cvt {
                dst_ty: ty, dst, ..
            }
            | I::Add { ty, dst, .. }
            | I::Sub { ty, dst, .. }
            | I::Mul { ty, dst, .. }
            | I::Div { ty, dst, .. }
            | I::Mad { ty, dst, .. }
            | I::Fma { ty, dst, .. }
            | I::Min { ty, dst, .. }
            | I::Max { ty, dst, .. }
            | I::Abs { ty, dst, .. }
            | I::Neg { ty, dst, .. }
            | I::And { ty, dst, .. }
            | I::Or { ty, dst, .. }
            | I::Xor { ty, dst, .. }
            | I::Not { ty, dst, .. }
            | I::Shl { ty, dst, .. }
            | I::Shr { ty, dst, .. }
            | I::Sel { ty, dst, .. }
            | I::ReduceAdd { ty, dst, .. }
            | I::ReduceMin { ty, dst, .. }
            | I::ReduceMax { ty, dst, .. }
            | I::ReduceMul { ty, dst, .. }
            | I::Exp { ty, dst, .. }
            | I::Log { ty, dst, .. }
            | I::Log2 { ty, dst, .. }
            | I::Log10 { ty, dst, .. }
            | I::Sqrt { ty, dst, .. }
            | I::Rsqrt { ty, dst, .. }
            | I::Sin { ty, dst, .. }
            | I::Cos { ty, dst, .. }
            | I::Tan { ty, dst, .. }
            | I::Tanh { ty, dst, .. }
            | I::Sigmoid { ty, dst, .. }
            | I::Pow { ty, dst, .. }
            | I::PoolLoad { ty, dst, .. } => Some((dst, ty)),
            I::Loop { count, .. } => Some((count, Ty::U32)),
            I::ClsGet { dst } | I::Mirror { dst, .. } | I::NbrGet { dst, .. } => {
                Some((dst, Ty::U8))
            }
            I::NbrCount { dst, .. } | I::PhaseGet { dst } => Some((dst, Ty::U32)),
            I::BoundMap { dst, .. } | I::PoolAlloc { dst, .. } => Some((dst, Ty::U64)),
            I::Stg { .. }
            | I::Sts { .. }
            | I::SetCc { .. }
            | I::Bra { .. }
            | I::Call { .. }
            | I::Ret {}
            | I::Exit {}
            | I::BarSync { .. }
            | I::MemFence { .. }
            | I::UnityTest { .. }
            | I::ResAccum { .. }
            | I::PhaseAdv { .. }
            | I::PoolFree { .. }
            | I::PoolStore { .. }
            | whole_buffer!() => None,
        }
    }

    /// The predicate that is read.
    pub fn predicate_use(&self) -> Option<Predicate> {
        match *self {
            Self::Bra { pred, .. } => pred,
            Self::Sel { pred, .. } => Some(pred),
            _ => None,
        }
    }

    /// The predicate that is written.
    pub fn predicate_def(&self) -> Option<Predicate> {
        match *self {
            Self::SetCc { dst, .. } | Self::UnityTest { dst, .. } => Some(dst),
            _ => None,
        }
    }

    /// The label that the instruction may jump to.
    pub fn target(&self) -> Option<&Label> {
        match self {
            Self::Bra { target, .. } | Self::Call { target } => Some(target),
            Self::Loop { body, .. } => Some(body),
            _ => None,
        }
    }

    /// A branch, call, return, loop or exit.
    pub const fn is_control_flow(&self) -> bool {
        matches!(self.category(), super::Category::ControlFlow)
    }

    /// A load or store of global or shared memory.
    pub const fn is_memory_access(&self) -> bool {
        matches!(
            self,
            Self::Ldg { .. } | Self::Stg { .. } | Self::Lds { .. } | Self::Sts { .. }
        )
    }

    /// One of the four pool instructions.
    pub const fn is_pool_operation(&self) -> bool {
        matches!(self.category(), super::Category::PoolStorage)
    }

    /// A whole-buffer operation.
    pub const fn is_intrinsic(&self) -> bool {
        matches!(self.category(), super::Category::Intrinsic)
    }
}

fn address_uses(addr: Address, mut f: impl FnMut(Register, Ty)) {
    match addr {
        Address::RegisterIndirect { base, .. } => f(base, Ty::U64),
        Address::RegisterIndirectComputed {
            handle_reg,
            offset_reg,
        } => {
            f(handle_reg, Ty::U64);
            f(offset_reg, Ty::U64);
        }
        Address::BufferOffset { .. } | Address::PhiCoordinate { .. } => {}
    }
}

/// Shared memory has no handle: only an offset register is read.
fn shared_uses(addr: Address, mut f: impl FnMut(Register, Ty)) {
    if let Address::RegisterIndirectComputed { offset_reg, .. } = addr {
        f(offset_reg, Ty::U64);
    }
}
