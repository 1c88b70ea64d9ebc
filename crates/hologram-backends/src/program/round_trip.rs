//! Tests: every instruction survives bytes and text.

use crate::hostile::{self, Numbers};
use crate::isa::{Epsilon, Instruction, Label, MapOp, Predicate, Reader, Register, Ty};
use crate::program::Program;

/// Random instructions with a code; jumps by hand, since their labels are names.
fn samples(code: u8, mnemonic: &str, numbers: &mut Numbers) -> Vec<Instruction> {
    let label = |name: &str| Label::new(name).unwrap();
    let longest = "x".repeat(255);
    match mnemonic {
        "bra" => ["a", "A.b$_9", &longest]
            .into_iter()
            .flat_map(|name| {
                [None, Some(Predicate::new(15).unwrap())].map(|pred| Instruction::Bra {
                    target: label(name),
                    pred,
                })
            })
            .collect(),
        "call" => vec![Instruction::Call {
            target: label(&longest),
        }],
        "loop" => vec![Instruction::Loop {
            count: Register::new(255),
            body: label("0"),
        }],
        _ => {
            let mut found = Vec::new();
            for _ in 0..20_000 {
                found.extend(hostile::decoded(code, numbers));
                if found.len() == 300 {
                    break;
                }
            }
            found
        }
    }
}

#[test]
fn every_instruction_survives_bytes_and_text() {
    let mut numbers = Numbers::new(11);
    for &(code, mnemonic) in Instruction::ALL {
        let samples = samples(code, mnemonic, &mut numbers);
        assert!(!samples.is_empty(), "{mnemonic}");
        for instruction in samples {
            assert_eq!(
                (instruction.opcode(), instruction.mnemonic()),
                (code, mnemonic)
            );
            let mut bytes = Vec::new();
            instruction.encode(&mut bytes);
            assert_eq!(bytes[0], code);
            let mut input = Reader::new(&bytes);
            assert_eq!(Instruction::decode(&mut input).as_ref(), Ok(&instruction));
            assert_eq!(input.remaining(), 0, "{instruction}");
            for len in 0..bytes.len() {
                assert!(
                    Instruction::decode(&mut Reader::new(&bytes[..len])).is_err(),
                    "{len} of {} bytes of {instruction}",
                    bytes.len()
                );
            }
            let text = instruction.to_string();
            assert_eq!(
                Instruction::parse(&text).as_ref(),
                Ok(&instruction),
                "{text}"
            );
            assert!(
                Instruction::parse(&format!("{text}, r0, r0")).is_err(),
                "{text}"
            );
            let without = text.split_once('.').map(|(_, rest)| rest);
            assert!(without.is_none_or(|rest| Instruction::parse(rest).is_err()));
        }
    }
}

#[test]
fn codes_and_mnemonics_are_unique() {
    let mut codes: Vec<u8> = Instruction::ALL.iter().map(|&(code, _)| code).collect();
    codes.dedup();
    assert!(codes.is_sorted());
    assert_eq!(codes.len(), Instruction::ALL.len());
    let mut names: Vec<&str> = Instruction::ALL.iter().map(|&(_, name)| name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Instruction::ALL.len());
}

#[test]
fn codes_of_fields_are_unique() {
    for (code, ty) in Ty::ALL.into_iter().enumerate() {
        assert_eq!(
            (ty.code() as usize, Ty::from_name(ty.name())),
            (code, Some(ty))
        );
    }
    for (code, &op) in MapOp::ALL.iter().enumerate() {
        assert_eq!(MapOp::from_code(code as u8), Some(op));
        assert_eq!(MapOp::from_name(op.name()), Some(op));
    }
    assert_eq!(Ty::from_code(12), None);
    assert_eq!(MapOp::from_code(MapOp::ALL.len() as u8), None);
}

#[test]
fn constants_keep_every_bit() {
    for bits in [0, 1, 1 << 63, 0x7ff8_0000_0000_0001, u64::MAX, 0x3ff8 << 48] {
        let program = Program::from_instructions(vec![
            Instruction::UnityTest {
                dst: Predicate::new(0).unwrap(),
                epsilon: Epsilon::from_bits(bits),
            },
            Instruction::MovImm {
                ty: Ty::F64,
                dst: Register::new(0),
                value: bits,
            },
        ]);
        assert_eq!(program.to_string().parse(), Ok(program.clone()));
        let bytes = program.to_bytes().unwrap();
        assert_eq!(Program::from_bytes(&bytes), Ok(program));
    }
}

#[test]
fn constants_of_float_types_are_values() {
    let parse = |text: &str| text.parse::<Program>().map(|p| p.instructions()[0].clone());
    let bits = |text: &str| match parse(text).unwrap() {
        Instruction::MovImm { value, .. }
        | Instruction::Fill { value, .. }
        | Instruction::ParallelMapScalar { value, .. } => value,
        other => panic!("{other}"),
    };
    let f32s = [
        ("2", 2.0f32),
        ("-1.5", -1.5),
        ("1e-3", 1e-3),
        ("0", 0.0),
        ("-0.0", -0.0),
        ("inf", f32::INFINITY),
        ("16777217", 16_777_216.0),
        ("f32(2.5)", 2.5),
        ("0x40490fdb", std::f32::consts::PI),
    ];
    for (text, value) in f32s {
        let expected = u64::from(value.to_bits());
        assert_eq!(bits(&format!("mov_imm.f32 r0, {text}")), expected, "{text}");
        assert_eq!(bits(&format!("fill.f32 r1, {text}, 9")), expected, "{text}");
        let scaled = format!("map_scalar.mul.f32 r1, r2, {text}, 9");
        assert_eq!(bits(&scaled), expected, "{text}");
    }
    assert_eq!(bits("mov_imm.f64 r0, 0.1"), 0.1f64.to_bits());
    assert_eq!(bits("mov_imm.f16 r0, 1.5"), 0x3e00);
    assert_eq!(bits("mov_imm.bf16 r0, 1.5"), 0x3fc0);
    // Counts and integers stay what they are; an integer register may hold a float's bits.
    assert_eq!(bits("mov_imm.u32 r0, 2"), 2);
    assert_eq!(bits("mov_imm.u32 r0, f32(1.0)"), 0x3f80_0000);
    let fill = parse("fill.f32 r1, 2, 10").unwrap();
    assert_eq!(fill.to_string(), "fill.f32 r1, 2.0, 10");
    assert!(matches!(fill, Instruction::Fill { count: 10, .. }));
    let clip = parse("clip.f64 r1, r2, -1, 1, 7").unwrap();
    assert_eq!(clip.to_string(), "clip.f64 r1, r2, -1.0, 1.0, 7");
    for wrong in [
        "mov_imm.f32 r0, two",
        "mov_imm.f32 r0, f64(1.5)",
        "mov_imm.i32 r0, 1.5",
        "fill.f32 r1, 2, 1.5",
    ] {
        assert!(parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn random_programs_survive_bytes_and_text() {
    let mut numbers = Numbers::new(5);
    for _ in 0..500 {
        let program = hostile::program(&mut numbers);
        assert_eq!(program.to_string().parse(), Ok(program.clone()));
        let bytes = program.to_bytes().unwrap();
        assert_eq!(Program::from_bytes(&bytes), Ok(program.clone()));
        for len in [0, 7, 8, 17, bytes.len() - 1] {
            assert!(len >= bytes.len() || Program::from_bytes(&bytes[..len]).is_err());
        }
    }
}
