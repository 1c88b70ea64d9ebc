//! `Step`: an instruction of RV32IM with its operands decoded.

use openvm_circuit::arch::{
    instructions::{
        instruction::Instruction,
        riscv::{RV32_IMM_AS, RV32_MEMORY_AS, RV32_REGISTER_AS},
        LocalOpcode, SystemOpcode,
    },
    ExecutionError,
};
use openvm_rv32im_transpiler::{
    BaseAluOpcode, BranchEqualOpcode, BranchLessThanOpcode, DivRemOpcode, LessThanOpcode,
    MulHOpcode, MulOpcode, Rv32AuipcOpcode, Rv32JalLuiOpcode, Rv32JalrOpcode, Rv32LoadStoreOpcode,
    ShiftOpcode,
};
use openvm_stark_backend::p3_field::PrimeField32;

use super::records::Chip;
use crate::prelude::F;

/// Bytes of a register, which is the distance between registers in their address space.
const REGISTER_BYTES: u32 = 4;

/// Operation of a step. `I` stands for an immediate as the second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Op {
    Add,
    AddI,
    Sub,
    Xor,
    XorI,
    Or,
    OrI,
    And,
    AndI,
    Sll,
    SllI,
    Srl,
    SrlI,
    Sra,
    SraI,
    Slt,
    SltI,
    Sltu,
    SltuI,
    /// Writes the immediate, as AUIPC does.
    Lui,
    Auipc,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
    Div,
    Divu,
    Rem,
    Remu,
    LoadByte,
    LoadByteUnsigned,
    LoadHalf,
    LoadHalfUnsigned,
    LoadWord,
    StoreByte,
    StoreHalf,
    StoreWord,
    // From here on a step ends its block.
    Beq,
    Bne,
    Blt,
    Bltu,
    Bge,
    Bgeu,
    /// Jump without a link.
    Jump,
    Jal,
    /// Jump to the address in a register without a link.
    JumpRegister,
    Jalr,
    /// The end of the program; the immediate is the exit code.
    End,
    /// An instruction of one of OpenVM's executors; the immediate is its number among these.
    Executor,
    /// No instruction.
    Gap,
}

impl Op {
    /// True if the next step may be another one than that behind this one, or if the step's rows are counted when it is executed.
    pub fn ends_block(self) -> bool {
        self as u8 >= Self::Beq as u8
    }

    /// The chip that has the rows of the steps; nothing if an executor knows.
    pub fn chip(self) -> Option<Chip> {
        use Op::*;
        Some(match self {
            Add | AddI | Sub | Xor | XorI | Or | OrI | And | AndI => Chip::BaseAlu,
            Sll | SllI | Srl | SrlI | Sra | SraI => Chip::Shift,
            Slt | SltI | Sltu | SltuI => Chip::LessThan,
            Lui | Jump | Jal => Chip::JalLui,
            Auipc => Chip::Auipc,
            Mul => Chip::Mul,
            Mulh | Mulhsu | Mulhu => Chip::MulH,
            Div | Divu | Rem | Remu => Chip::DivRem,
            LoadByteUnsigned | LoadHalfUnsigned | LoadWord => Chip::LoadStore,
            StoreByte | StoreHalf | StoreWord => Chip::LoadStore,
            LoadByte | LoadHalf => Chip::LoadSignExtend,
            Beq | Bne => Chip::BranchEqual,
            Blt | Bltu | Bge | Bgeu => Chip::BranchLessThan,
            JumpRegister | Jalr => Chip::Jalr,
            End | Executor | Gap => return None,
        })
    }
}

/// An instruction with its operands decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(super) struct Step {
    pub op: Op,
    /// Numbers of registers: of the result or the stored value, and of the operands.
    pub a: u8,
    pub b: u8,
    pub c: u8,
    /// Immediate; the place of the target among the steps for branches and jumps.
    pub immediate: u32,
}

impl Step {
    /// A step with no operands but an immediate.
    pub fn of(op: Op, immediate: u32) -> Self {
        Self {
            op,
            a: 0,
            b: 0,
            c: 0,
            immediate,
        }
    }

    /// Decodes the instruction at place `index` of a program whose first instruction is at `base` and which has `count` places. Nothing if it is
    /// none of RV32IM, or one that needs a look at each execution: it is left to OpenVM's executor.
    pub fn decode(
        instruction: &Instruction<F>,
        base: u32,
        index: usize,
        count: usize,
    ) -> Option<Self> {
        let [a, b, c, d, e, f, g] = [
            instruction.a,
            instruction.b,
            instruction.c,
            instruction.d,
            instruction.e,
            instruction.f,
            instruction.g,
        ]
        .map(|operand| operand.as_canonical_u32());
        let opcode = instruction.opcode;
        if opcode == SystemOpcode::TERMINATE.global_opcode() {
            return Some(Self::of(Op::End, c));
        }
        let at = |offset: u32| {
            let number = opcode.as_usize().checked_sub(offset as usize)?;
            u32::try_from(number).ok()
        };
        let of_class = |class: usize, kinds: u32| at(class as u32).filter(|&kind| kind < kinds);
        let with_two = |op: Op, immediate: u32| {
            Some(Self {
                a: register(a)?,
                b: register(b)?,
                ..Self::of(op, immediate)
            })
        };
        let with_three = |op: Op| {
            let c = register(c)?;
            with_two(op, 0).map(|step| Self { c, ..step })
        };
        let sign_extended = || c.wrapping_add(g.wrapping_mul(0xffff_0000));
        let (registers, immediates) = (e == RV32_REGISTER_AS, e == RV32_IMM_AS);

        // Instructions with two operands, the second of which is a register or an immediate.
        let with_immediate = [
            (BaseAluOpcode::CLASS_OFFSET, 0, Op::Add, Some(Op::AddI)),
            (BaseAluOpcode::CLASS_OFFSET, 1, Op::Sub, None),
            (BaseAluOpcode::CLASS_OFFSET, 2, Op::Xor, Some(Op::XorI)),
            (BaseAluOpcode::CLASS_OFFSET, 3, Op::Or, Some(Op::OrI)),
            (BaseAluOpcode::CLASS_OFFSET, 4, Op::And, Some(Op::AndI)),
            (ShiftOpcode::CLASS_OFFSET, 0, Op::Sll, Some(Op::SllI)),
            (ShiftOpcode::CLASS_OFFSET, 1, Op::Srl, Some(Op::SrlI)),
            (ShiftOpcode::CLASS_OFFSET, 2, Op::Sra, Some(Op::SraI)),
            (LessThanOpcode::CLASS_OFFSET, 0, Op::Slt, Some(Op::SltI)),
            (LessThanOpcode::CLASS_OFFSET, 1, Op::Sltu, Some(Op::SltuI)),
        ];
        for (class, kind, op, op_immediate) in with_immediate {
            if at(class as u32) != Some(kind) {
                continue;
            }
            if d != RV32_REGISTER_AS {
                return None;
            }
            return match (registers, immediates, op_immediate) {
                (true, _, _) => with_three(op),
                // The highest byte is that below it, as in `imm_to_bytes` of OpenVM.
                (_, true, Some(op)) if c < 1 << 24 => with_two(op, c | (c >> 16) << 24),
                _ => None,
            };
        }

        // Instructions with two registers as operands.
        let two_registers = of_class(MulOpcode::CLASS_OFFSET, 1)
            .map(|_| Op::Mul)
            .or_else(|| {
                let ops = [Op::Mulh, Op::Mulhsu, Op::Mulhu];
                of_class(MulHOpcode::CLASS_OFFSET, 3).map(|kind| ops[kind as usize])
            })
            .or_else(|| {
                let ops = [Op::Div, Op::Divu, Op::Rem, Op::Remu];
                of_class(DivRemOpcode::CLASS_OFFSET, 4).map(|kind| ops[kind as usize])
            });
        if let Some(op) = two_registers {
            return with_three(op).filter(|_| d == RV32_REGISTER_AS);
        }

        use Rv32LoadStoreOpcode::{LOADB, LOADBU, LOADH, LOADHU, LOADW, STOREB, STOREH, STOREW};
        for (kind, op) in [
            (LOADW, Op::LoadWord),
            (LOADBU, Op::LoadByteUnsigned),
            (LOADHU, Op::LoadHalfUnsigned),
            (STOREW, Op::StoreWord),
            (STOREH, Op::StoreHalf),
            (STOREB, Op::StoreByte),
            (LOADB, Op::LoadByte),
            (LOADH, Op::LoadHalf),
        ] {
            if opcode != kind.global_opcode() {
                continue;
            }
            // A load without a result changes nothing but what it touches: rare.
            let is_plain = d == RV32_REGISTER_AS && e == RV32_MEMORY_AS && f == 1;
            let is_plain = is_plain && c < 1 << 16 && g < 2;
            return with_two(op, sign_extended()).filter(|_| is_plain);
        }

        let pc = base.wrapping_add(4 * index as u32);
        let target = |offset: u32| {
            let offset = match offset > F::ORDER_U32 / 2 {
                true => offset.wrapping_sub(F::ORDER_U32),
                false => offset,
            };
            let target = pc.wrapping_add(offset).wrapping_sub(base);
            let place = target / 4;
            (target.is_multiple_of(4) && (place as usize) < count).then_some(place)
        };
        let branch = of_class(BranchEqualOpcode::CLASS_OFFSET, 2)
            .map(|kind| [Op::Beq, Op::Bne][kind as usize])
            .or_else(|| {
                let ops = [Op::Blt, Op::Bltu, Op::Bge, Op::Bgeu];
                of_class(BranchLessThanOpcode::CLASS_OFFSET, 4).map(|kind| ops[kind as usize])
            });
        if let Some(op) = branch {
            return with_two(op, target(c)?).filter(|_| d == RV32_REGISTER_AS);
        }
        if opcode == Rv32JalLuiOpcode::JAL.global_opcode() {
            let op = if f == 0 { Op::Jump } else { Op::Jal };
            return Some(Self {
                a: if f == 0 { 0 } else { register(a)? },
                ..Self::of(op, target(c)?)
            });
        }
        if opcode == Rv32JalLuiOpcode::LUI.global_opcode() {
            return (f != 0 && c < 1 << 20).then_some(Self {
                a: register(a)?,
                ..Self::of(Op::Lui, c << 12)
            });
        }
        if opcode == Rv32AuipcOpcode::AUIPC.global_opcode() {
            return (d == RV32_REGISTER_AS && c < 1 << 24).then_some(Self {
                a: register(a)?,
                ..Self::of(Op::Auipc, pc.wrapping_add(c << 8))
            });
        }
        if opcode == Rv32JalrOpcode::JALR.global_opcode() {
            let op = if f == 0 { Op::JumpRegister } else { Op::Jalr };
            return (d == RV32_REGISTER_AS && c < 1 << 16 && g < 2).then_some(Self {
                a: if f == 0 { 0 } else { register(a)? },
                b: register(b)?,
                ..Self::of(op, sign_extended())
            });
        }
        None
    }
}

/// The place of the instruction at `pc` in a program whose first instruction is at `base` and which has `places` places; the place behind the last one
/// is taken as well.
///
/// # Errors
/// [`ExecutionError::Unreachable`].
pub(super) fn place_of(pc: u32, base: u32, places: usize) -> Result<usize, ExecutionError> {
    let offset = pc.wrapping_sub(base);
    let place = offset as usize / 4;
    match offset.is_multiple_of(4) && place <= places {
        true => Ok(place),
        false => Err(ExecutionError::Unreachable(pc)),
    }
}

/// The number of the register at an address of the registers' space, if it is one.
fn register(address: u32) -> Option<u8> {
    let number = address / REGISTER_BYTES;
    (address.is_multiple_of(REGISTER_BYTES) && number < 32).then_some(number as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Other operands are left to OpenVM's executors: there they are bytes of any place among the registers.
    #[test]
    fn registers_are_those_that_a_step_names() {
        for address in 0..1 << 10 {
            let is_register = address % 4 == 0 && address < 128;
            let expected = is_register.then_some((address / 4) as u8);
            assert_eq!(register(address), expected, "{address}");
        }
        assert_eq!(register(u32::MAX), None);
    }
}
