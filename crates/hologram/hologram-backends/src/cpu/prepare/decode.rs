//! Instructions to steps.

use super::columns::Columns;
use crate::atlas;
use crate::cpu::intrinsic;
use crate::cpu::ops::arithmetic::{self, Binary};
use crate::cpu::ops::float::{self, Function};
use crate::cpu::ops::fold::{self, Fold};
use crate::cpu::ops::logic::{self, Bitwise};
use crate::cpu::ops::{atlas as classes, convert, memory, pool};
use crate::cpu::step::{Flow, Intrinsic, Source, Space, Step};
use crate::error::{BackendError, Result};
use crate::isa::{Address, Instruction, Label, Register, Ty};
use crate::program::Program;
use crate::program_error::ProgramError;

/// One step for each instruction.
pub(super) fn decode(program: &Program, columns: &mut Columns) -> Result<Vec<Step>> {
    let mut steps = Vec::with_capacity(program.len());
    for (pc, instruction) in program.instructions().iter().enumerate() {
        let target = match instruction.target() {
            Some(label) => resolve(program, label, pc)?,
            None => 0,
        };
        let step = step(pc, instruction, target, columns);
        steps.push(step.ok_or_else(|| BackendError::UnsupportedInstruction {
            pc,
            instruction: instruction.to_string(),
            reason: "the interpreter has no such operation".into(),
        })?);
    }
    Ok(steps)
}

fn resolve(program: &Program, label: &Label, pc: usize) -> Result<u32> {
    let index = program.resolve_label(label.name());
    let undefined = || ProgramError::UndefinedLabel {
        label: label.name().to_owned(),
        pc,
    };
    Ok(index
        .and_then(|index| u32::try_from(index).ok())
        .ok_or_else(undefined)?)
}

/// The step of an instruction; `None` for types that it does not work on.
fn step(pc: usize, instruction: &Instruction, target: u32, columns: &mut Columns) -> Option<Step> {
    use Instruction as I;
    let step = match *instruction {
        I::Ldg { ty, addr, .. } => address(memory::load(ty), addr, Space::Global, columns),
        I::Stg { ty, src, addr } => Step {
            d: columns.register(src, ty),
            ..address(memory::store(ty), addr, Space::Global, columns)
        },
        I::Lds { ty, addr, .. } => address(memory::load(ty), addr, Space::Shared, columns),
        I::Sts { ty, src, addr } => Step {
            d: columns.register(src, ty),
            ..address(memory::store(ty), addr, Space::Shared, columns)
        },
        I::PoolLoad {
            ty, pool, offset, ..
        } => pooled(memory::load(ty), pool, offset, columns),
        I::PoolStore {
            ty,
            src,
            pool,
            offset,
        } => Step {
            d: columns.register(src, ty),
            ..pooled(memory::store(ty), pool, offset, columns)
        },
        I::Mov { ty, .. } => logic::copy(ty),
        I::MovImm { ty, value, .. } => logic::immediate(ty, value & ty.mask()),
        I::Cvt { dst_ty, src_ty, .. } => convert::convert(dst_ty, src_ty)?,
        I::Add { ty, .. } => arithmetic::binary(Binary::Add, ty)?,
        I::Sub { ty, .. } => arithmetic::binary(Binary::Sub, ty)?,
        I::Mul { ty, .. } => arithmetic::binary(Binary::Mul, ty)?,
        I::Min { ty, .. } => arithmetic::binary(Binary::Min, ty)?,
        I::Max { ty, .. } => arithmetic::binary(Binary::Max, ty)?,
        I::Div { ty, .. } => arithmetic::divide(ty)?,
        I::Mad { ty, .. } => arithmetic::mad(ty)?,
        I::Abs { ty, .. } => arithmetic::abs(ty)?,
        I::Neg { ty, .. } => arithmetic::neg(ty)?,
        I::Fma { ty, .. } => float::fma(ty)?,
        I::Pow { ty, .. } => float::pow(ty)?,
        I::And { ty, .. } => logic::bitwise(Bitwise::And, ty)?,
        I::Or { ty, .. } => logic::bitwise(Bitwise::Or, ty)?,
        I::Xor { ty, .. } => logic::bitwise(Bitwise::Xor, ty)?,
        I::Not { ty, .. } => logic::not(ty)?,
        I::Shl { ty, .. } => logic::shl(ty)?,
        I::Shr { ty, .. } => logic::shr(ty)?,
        I::SetCc { ty, cond, .. } => logic::set(cond, ty)?,
        I::Sel { ty, pred, .. } => Step {
            c: columns.predicate(pred),
            ..logic::select(ty)
        },
        I::Bra { pred: None, .. } => Step::control(Flow::Jump(target)),
        I::Bra {
            pred: Some(pred), ..
        } => Step {
            a: columns.predicate(pred),
            ..Step::control(Flow::Branch(target))
        },
        I::Call { .. } => Step::control(Flow::Call(target)),
        I::Ret {} => Step::control(Flow::Return),
        I::Loop { .. } => Step::control(Flow::Loop(target)),
        I::Exit {} => Step::control(Flow::Exit),
        I::BarSync { .. } => Step::control(Flow::Barrier),
        // Lanes of a block run in one thread, and blocks cannot wait for each other.
        I::MemFence { .. } => Step::control(Flow::Next),
        I::ClsGet { .. } => Step {
            a: columns.class(),
            ..logic::copy(Ty::U8)
        },
        I::Mirror { .. } => classes::mirror(),
        I::UnityTest { .. } => Step {
            a: columns.class(),
            ..classes::unity()
        },
        I::NbrCount { .. } => classes::neighbour_count(),
        I::NbrGet { index, .. } => classes::neighbour(index),
        I::ResAccum { .. } => classes::accumulate(),
        I::PhaseGet { .. } => Step {
            a: columns.phase(),
            ..logic::copy(Ty::U32)
        },
        I::PhaseAdv { delta } => Step {
            d: columns.phase(),
            a: columns.phase(),
            ..classes::advance(delta)
        },
        I::BoundMap { .. } => classes::boundary(),
        I::ReduceAdd { ty, count, .. } => folded(Fold::Add, ty, count)?,
        I::ReduceMin { ty, count, .. } => folded(Fold::Min, ty, count)?,
        I::ReduceMax { ty, count, .. } => folded(Fold::Max, ty, count)?,
        I::ReduceMul { ty, count, .. } => folded(Fold::Mul, ty, count)?,
        I::Exp { ty, .. } => float::function(Function::Exp, ty)?,
        I::Log { ty, .. } => float::function(Function::Log, ty)?,
        I::Log2 { ty, .. } => float::function(Function::Log2, ty)?,
        I::Log10 { ty, .. } => float::function(Function::Log10, ty)?,
        I::Sqrt { ty, .. } => float::function(Function::Sqrt, ty)?,
        I::Rsqrt { ty, .. } => float::function(Function::Rsqrt, ty)?,
        I::Sin { ty, .. } => float::function(Function::Sin, ty)?,
        I::Cos { ty, .. } => float::function(Function::Cos, ty)?,
        I::Tan { ty, .. } => float::function(Function::Tan, ty)?,
        I::Tanh { ty, .. } => float::function(Function::Tanh, ty)?,
        I::Sigmoid { ty, .. } => float::function(Function::Sigmoid, ty)?,
        I::PoolAlloc { size, .. } => pool::allocate(size),
        I::PoolFree { .. } => pool::free(),
        _ if instruction.is_intrinsic() => whole_buffer(pc, instruction, columns),
        _ => return None,
    };
    Some(operands(instruction, step, columns))
}

/// Fills in the columns of the registers that an instruction reads, in their order, and writes.
fn operands(instruction: &Instruction, mut step: Step, columns: &mut Columns) -> Step {
    let addressed = matches!(
        instruction,
        Instruction::PoolLoad { .. } | Instruction::PoolStore { .. }
    );
    if !addressed && !instruction.is_memory_access() {
        let mut place = 0;
        instruction.for_each_use(|register, ty| {
            let column = columns.register(register, ty);
            match place {
                0 => step.a = column,
                1 => step.b = column,
                2 => step.c = column,
                _ => {}
            }
            place += 1;
        });
    }
    if let Some((register, ty)) = instruction.def() {
        step.d = columns.register(register, ty);
    }
    if let Some(predicate) = instruction.predicate_def() {
        step.d = columns.predicate(predicate);
    }
    step
}

fn whole_buffer(pc: usize, instruction: &Instruction, columns: &mut Columns) -> Step {
    let mut used = Vec::new();
    instruction.for_each_use(|register, ty| {
        used.push((register, columns.register(register, ty)));
    });
    columns.intrinsics.push(Intrinsic {
        pc,
        instruction: instruction.clone(),
        columns: used,
    });
    Step {
        value: columns.intrinsics.len() as u64 - 1,
        ..Step::fallible(intrinsic::step)
    }
}

fn folded(op: Fold, ty: Ty, count: u32) -> Option<Step> {
    if count == 0 {
        return fold::identity(op, ty);
    }
    Some(Step {
        value: u64::from(count),
        ..fold::fold(op, ty)?
    })
}

fn address(step: Step, address: Address, space: Space, columns: &mut Columns) -> Step {
    let shared = space == Space::Shared;
    let (handle, offset) = match address {
        Address::BufferOffset { handle, offset } => {
            (Source::Fixed(handle), Source::Fixed(offset as u64))
        }
        // The validator has seen that the coordinate exists.
        Address::PhiCoordinate { class, page, byte } => {
            let offset = atlas::boundary_offset(class, page, byte);
            let offset = offset.map_or(u64::MAX, |offset| offset as u64);
            (Source::Fixed(0), Source::Fixed(offset))
        }
        Address::RegisterIndirect { offset, .. } if offset < 0 => {
            return memory::negative(offset);
        }
        Address::RegisterIndirect { base, offset } => {
            let handle = if shared {
                Source::Fixed(0)
            } else {
                Source::Column(columns.register(base, Ty::U64))
            };
            (handle, Source::Fixed(u64::from(offset.unsigned_abs())))
        }
        Address::RegisterIndirectComputed {
            handle_reg,
            offset_reg,
        } => {
            let handle = if shared {
                Source::Fixed(0)
            } else {
                Source::Column(columns.register(handle_reg, Ty::U64))
            };
            (
                handle,
                Source::Column(columns.register(offset_reg, Ty::U64)),
            )
        }
    };
    Step {
        space,
        handle,
        offset,
        ..step
    }
}

fn pooled(step: Step, pool: Register, offset: Register, columns: &mut Columns) -> Step {
    Step {
        space: Space::Pool,
        handle: Source::Column(columns.register(pool, Ty::U64)),
        offset: Source::Column(columns.register(offset, Ty::U64)),
        ..step
    }
}
