//! Constants in programs: every bit is kept, and those of float types are values.

use hologram_backends::{Epsilon, Instruction, Predicate, Program, Register, Ty};

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
