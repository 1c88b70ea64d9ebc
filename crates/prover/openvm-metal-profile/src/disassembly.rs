//! Instructions as text.

use openvm_circuit::arch::instructions::{instruction::Instruction, LocalOpcode, SystemOpcode};
use openvm_rv32im_transpiler::{
    BaseAluOpcode, BranchEqualOpcode, BranchLessThanOpcode, DivRemOpcode, LessThanOpcode,
    MulHOpcode, MulOpcode, Rv32AuipcOpcode, Rv32HintStoreOpcode, Rv32JalLuiOpcode, Rv32JalrOpcode,
    Rv32LoadStoreOpcode, ShiftOpcode,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::F;
use p3_field::PrimeField32;

/// Names of registers in RISC-V's calling convention.
pub const REGISTERS: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4",
    "a5", "a6", "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4",
    "t5", "t6",
];

/// An opcode of `T`, by its name in OpenVM, if `opcode` is one.
fn name<T: LocalOpcode + std::fmt::Debug + Copy>(opcode: usize, all: &[T]) -> Option<String> {
    let found = all
        .iter()
        .find(|local| local.global_opcode().as_usize() == opcode)?;
    Some(format!("{found:?}").to_lowercase())
}

/// The name of an instruction with a constant in place of the last register.
fn immediate(name: &str) -> String {
    match name {
        "sltu" => "sltiu".into(),
        name => format!("{name}i"),
    }
}

/// An instruction of the virtual machine in the form of RISC-V's assembler: `lw a0, 8(sp)`. Jumps and branches name the address that
/// they go to. Instructions of other extensions are given by opcode and operands.
pub fn disassemble(instruction: &Instruction<F>, pc: u32) -> String {
    let opcode = instruction.opcode.as_usize();
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
    let register = |operand: u32| REGISTERS.get(operand as usize / 4).copied().unwrap_or("?");
    let signed = |operand: u32| match operand > F::ORDER_U32 / 2 {
        true => i64::from(operand) - i64::from(F::ORDER_U32),
        false => i64::from(operand),
    };
    let target = |operand: u32| format!("{:#x}", i64::from(pc) + signed(operand));
    // 16 bits and a sign.
    let half =
        |value: u32, sign: u32| i64::from(value as u16) - if sign == 0 { 0 } else { 0x1_0000 };

    if opcode == SystemOpcode::TERMINATE.global_opcode().as_usize() {
        return format!("terminate {c}");
    }
    if opcode == SystemOpcode::PHANTOM.global_opcode().as_usize() {
        // The low half of the third operand numbers what is asked of the host; a no-op is 0.
        return match c as u16 {
            0 => "nop".into(),
            number => format!("phantom {number:#x}, {}, {}", register(a), register(b)),
        };
    }
    let arithmetic = name(
        opcode,
        &[
            BaseAluOpcode::ADD,
            BaseAluOpcode::SUB,
            BaseAluOpcode::XOR,
            BaseAluOpcode::OR,
            BaseAluOpcode::AND,
        ],
    )
    .or_else(|| {
        name(
            opcode,
            &[ShiftOpcode::SLL, ShiftOpcode::SRL, ShiftOpcode::SRA],
        )
    })
    .or_else(|| name(opcode, &[LessThanOpcode::SLT, LessThanOpcode::SLTU]));
    // Products and quotients have no immediates, and their fifth operand says nothing.
    let product = name(opcode, &[MulOpcode::MUL])
        .or_else(|| {
            name(
                opcode,
                &[MulHOpcode::MULH, MulHOpcode::MULHSU, MulHOpcode::MULHU],
            )
        })
        .or_else(|| {
            name(
                opcode,
                &[
                    DivRemOpcode::DIV,
                    DivRemOpcode::DIVU,
                    DivRemOpcode::REM,
                    DivRemOpcode::REMU,
                ],
            )
        });
    if let Some(name) = product {
        return format!("{name} {}, {}, {}", register(a), register(b), register(c));
    }
    if let Some(name) = arithmetic {
        return match e {
            // 24 bits, with the sign repeated.
            0 => format!(
                "{} {}, {}, {}",
                immediate(&name),
                register(a),
                register(b),
                ((c << 8) as i32) >> 8
            ),
            _ => format!("{name} {}, {}, {}", register(a), register(b), register(c)),
        };
    }
    let branch = name(opcode, &[BranchEqualOpcode::BEQ, BranchEqualOpcode::BNE]).or_else(|| {
        name(
            opcode,
            &[
                BranchLessThanOpcode::BLT,
                BranchLessThanOpcode::BLTU,
                BranchLessThanOpcode::BGE,
                BranchLessThanOpcode::BGEU,
            ],
        )
    });
    if let Some(name) = branch {
        return format!("{name} {}, {}, {}", register(a), register(b), target(c));
    }
    use Rv32LoadStoreOpcode::{LOADB, LOADBU, LOADH, LOADHU, LOADW, STOREB, STOREH, STOREW};
    let access = [
        (LOADW, "lw"),
        (LOADBU, "lbu"),
        (LOADHU, "lhu"),
        (LOADB, "lb"),
        (LOADH, "lh"),
        (STOREW, "sw"),
        (STOREH, "sh"),
        (STOREB, "sb"),
    ];
    let access = access
        .iter()
        .find(|(local, _)| local.global_opcode().as_usize() == opcode);
    if let Some((_, name)) = access {
        let name = if e == 3 { "reveal" } else { name };
        return format!("{name} {}, {}({})", register(a), half(c, g), register(b));
    }
    if opcode == Rv32JalLuiOpcode::JAL.global_opcode().as_usize() {
        return match f {
            0 => format!("j {}", target(c)),
            _ => format!("jal {}, {}", register(a), target(c)),
        };
    }
    if opcode == Rv32JalLuiOpcode::LUI.global_opcode().as_usize() {
        return format!("lui {}, {c:#x}", register(a));
    }
    if opcode == Rv32JalrOpcode::JALR.global_opcode().as_usize() {
        let to = if f == 0 { "zero" } else { register(a) };
        return format!("jalr {to}, {}({})", half(c, g), register(b));
    }
    if opcode == Rv32AuipcOpcode::AUIPC.global_opcode().as_usize() {
        return format!("auipc {}, {:#x}", register(a), c >> 4);
    }
    if let Some(name) = name(
        opcode,
        &[
            Rv32HintStoreOpcode::HINT_STOREW,
            Rv32HintStoreOpcode::HINT_BUFFER,
        ],
    ) {
        return format!("{name} {}, {}", register(a), register(b));
    }
    format!("opcode {opcode:#x} {a}, {b}, {c}, {d}, {e}, {f}, {g}")
}

#[cfg(test)]
mod tests {
    use openvm_rv32im_transpiler::{Rv32ITranspilerExtension, Rv32MTranspilerExtension};
    use openvm_transpiler::TranspilerExtension;

    use super::*;

    /// Words and their text by GNU's assembler, at address 0x1000.
    #[test]
    fn words_of_risc_v() {
        for (word, text) in [
            (0xff85_0513, "addi a0, a0, -8"),
            (0x4035_5513, "srai a0, a0, 3"),
            (0x0015_3513, "sltiu a0, a0, 1"),
            (0x02c5_8533, "mul a0, a1, a2"),
            (0x02c5_d533, "divu a0, a1, a2"),
            (0x02c5_9533, "mulh a0, a1, a2"),
            (0x40b5_0533, "sub a0, a0, a1"),
            (0x00c1_2783, "lw a5, 12(sp)"),
            (0xfe14_2e23, "sw ra, -4(s0)"),
            (0x0005_0863, "beq a0, zero, 0x1010"),
            (0xfe05_1ee3, "bne a0, zero, 0xffc"),
            (0x0080_00ef, "jal ra, 0x1008"),
            (0x0000_006f, "j 0x1000"),
            (0x0000_8067, "jalr zero, 0(ra)"),
            (0x1234_55b7, "lui a1, 0x12345"),
            (0x0000_1297, "auipc t0, 0x1"),
            (0x0000_0013, "nop"),
        ] {
            let instruction =
                TranspilerExtension::<F>::process_custom(&Rv32ITranspilerExtension, &[word])
                    .or_else(|| {
                        TranspilerExtension::<F>::process_custom(&Rv32MTranspilerExtension, &[word])
                    })
                    .and_then(|output| output.instructions.into_iter().next().flatten())
                    .unwrap_or_else(|| panic!("{text}"));
            assert_eq!(disassemble(&instruction, 0x1000), text, "{word:#010x}");
        }
    }
}
