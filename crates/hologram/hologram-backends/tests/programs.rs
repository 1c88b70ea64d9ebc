//! Programs as text, bytes and files: what is read, and how wrong input is refused.

use hologram_backends::program::serial::FORMAT_VERSION;
use hologram_backends::{
    Address, Condition, Instruction, Label, MapOp, Predicate, Program, ProgramBuilder,
    ProgramError, Register, Ty,
};

fn syntax(text: &str) -> (usize, String) {
    match text.parse::<Program>() {
        Err(ProgramError::Syntax { line, message }) => (line, message),
        other => panic!("{text:?}: {other:?}"),
    }
}

#[test]
fn text_is_read_with_comments_and_several_labels() {
    let text = "; a program\n@a: @b:\n  add.f32 r0 , r1,r2 # sum\n\n// nothing\n@end: exit ; out\n@last:\n";
    let program: Program = text.parse().unwrap();
    let r = Register::new;
    assert_eq!(
        program.instructions(),
        [
            Instruction::Add {
                ty: Ty::F32,
                dst: r(0),
                src1: r(1),
                src2: r(2)
            },
            Instruction::Exit {},
        ]
    );
    let at = |name| program.resolve_label(name);
    assert_eq!(
        [at("a"), at("b"), at("end"), at("last"), at("none")],
        [Some(0), Some(0), Some(1), Some(2), None]
    );
    assert_eq!(
        program.to_string(),
        "@a:\n@b:\n    add.f32 r0, r1, r2\n@end:\n    exit\n@last:\n"
    );
}

#[test]
fn every_address_and_number_form() {
    let address = |text: &str| match format!("ldg.u8 r0, {text}").parse::<Program>() {
        Ok(program) => match program.instructions() {
            [Instruction::Ldg { addr, .. }] => Ok(*addr),
            other => panic!("{other:?}"),
        },
        Err(error) => Err(error),
    };
    let base = Register::new(7);
    let indirect = |offset| Ok(Address::RegisterIndirect { base, offset });
    assert_eq!(address("[r7]"), indirect(0));
    assert_eq!(address("[r7+4]"), indirect(4));
    assert_eq!(address("[ r7 - 0x10 ]"), indirect(-16));
    assert_eq!(address("[r7 - 2147483648]"), indirect(i32::MIN));
    assert_eq!(
        address("[buf18446744073709551615 + 0xff]"),
        Ok(Address::BufferOffset {
            handle: u64::MAX,
            offset: 255
        })
    );
    assert_eq!(
        address("[phi 1:2:3]"),
        Ok(Address::PhiCoordinate {
            class: 1,
            page: 2,
            byte: 3
        })
    );
    for wrong in [
        "",
        "[]",
        "[r7",
        "r7]",
        "[r256]",
        "[r7 + p1]",
        "[r7 - r8]",
        "[r7 + 2147483648]",
        "[buf1 - 4]",
        "[buf1 + -4]",
        "[buf + 4]",
        "[phi 1:2]",
        "[phi 1:2:3:4]",
        "[phi 256:0:0]",
        "[é + 1]",
        "[r7 + é]",
    ] {
        assert!(address(wrong).is_err(), "{wrong}");
    }
    let value = |text: &str| match format!("mov_imm.u64 r0, {text}").parse::<Program>() {
        Ok(program) => match program.instructions() {
            [Instruction::MovImm { value, .. }] => Some(*value),
            other => panic!("{other:?}"),
        },
        Err(_) => None,
    };
    assert_eq!(value("-1"), Some(u64::MAX));
    assert_eq!(value("0xfFff"), Some(0xffff));
    assert_eq!(value("18446744073709551615"), Some(u64::MAX));
    assert_eq!(value("f32(1.5)"), Some(0x3fc0_0000));
    assert_eq!(value("f64(-2)"), Some(0xc000_0000_0000_0000));
    assert_eq!(value("f16(1)"), Some(0x3c00));
    assert_eq!(value("bf16(1)"), Some(0x3f80));
    assert_eq!(value("f32(inf)"), Some(0x7f80_0000));
    for wrong in [
        "",
        "1.5",
        "18446744073709551616",
        "-9223372036854775809",
        "0x",
        "f8(1)",
        "f32(x)",
        "f32 1",
    ] {
        assert_eq!(value(wrong), None, "{wrong}");
    }
}

#[test]
fn wrong_text_names_its_line() {
    let cases = [
        ("exit\nfoo r1", 2, "unknown instruction `foo`"),
        ("add r1, r2, r3", 1, "ty: missing type"),
        ("add.f33 r1, r2, r3", 1, "unknown type `f33`"),
        ("add.f32.f32 r1, r2, r3", 1, "one word too many"),
        ("add.f32 r1, r2", 1, "src2: missing register"),
        ("add.f32 r1, r2, r3, r4", 1, "one operand too many"),
        ("exit r1", 1, "one operand too many"),
        ("\n\nsel.f32 r1, p16, r2, r3", 3, "p0 to p15"),
        ("mov.i8 r256, r0", 1, "r0 to r255"),
        ("set.gt r0, r1", 1, "missing type"),
        ("bra end", 1, "needs a leading @"),
        ("bra @", 1, "is no name for a label"),
        ("@a exit", 1, "ends with a colon"),
        ("@é:", 1, "is no name for a label"),
        ("@a:\n@a:", 2, "bound twice"),
        ("bar_sync 256", 1, "does not fit u8"),
        ("mem_fence.galaxy", 1, "unknown scope"),
        ("map.cube.f32 r1, r2, 3", 1, "unknown operation"),
    ];
    for (text, line, part) in cases {
        let (found, message) = syntax(text);
        assert_eq!(found, line, "{text:?}");
        assert!(message.contains(part), "{text:?}: {message}");
    }
    assert_eq!(
        "exit\nbra @nowhere".parse::<Program>(),
        Err(ProgramError::UndefinedLabel {
            label: "nowhere".into(),
            pc: 1
        })
    );
}

fn small() -> Vec<u8> {
    "@a: mov_imm.u32 r1, 3\nloop r1, @a"
        .parse::<Program>()
        .unwrap()
        .to_bytes()
        .unwrap()
}

fn malformed(bytes: &[u8]) -> (usize, String) {
    match Program::from_bytes(bytes) {
        Err(ProgramError::Malformed { offset, message }) => (offset, message),
        other => panic!("{bytes:?}: {other:?}"),
    }
}

#[test]
fn wrong_bytes_are_refused() {
    let good = small();
    assert!(Program::from_bytes(&good).is_ok());
    for len in 0..good.len() {
        assert!(Program::from_bytes(&good[..len]).is_err(), "{len}");
    }
    let changed = |at: usize, new: &[u8]| {
        let mut bytes = good.clone();
        bytes[at..at + new.len()].copy_from_slice(new);
        bytes
    };
    assert_eq!(malformed(&changed(0, b"X")).0, 8);
    for version in [0, FORMAT_VERSION + 1, u16::MAX] {
        assert_eq!(
            Program::from_bytes(&changed(8, &version.to_le_bytes())),
            Err(ProgramError::UnsupportedVersion {
                found: version,
                supported: FORMAT_VERSION
            })
        );
    }
    // More instructions or labels than there are, without the memory for them.
    assert!(malformed(&changed(10, &1_000_000u32.to_le_bytes()))
        .1
        .contains("code"));
    assert!(malformed(&changed(14, &u32::MAX.to_le_bytes()))
        .1
        .contains("bytes wanted"));
    assert!(matches!(
        Program::from_bytes(&changed(10, &u32::MAX.to_le_bytes())),
        Err(ProgramError::TooLong {
            len: 0xffff_ffff,
            ..
        })
    ));
    let (offset, message) = malformed(&changed(18, &[0]));
    assert_eq!(
        (offset, message.as_str()),
        (19, "no instruction has code 0")
    );
    assert!(malformed(&changed(19, &[12]))
        .1
        .contains("no type has code 12"));
    let mut longer = good.clone();
    longer.push(0);
    assert!(malformed(&longer).1.contains("1 bytes follow"));
    let last = good.len() - 4;
    assert_eq!(
        Program::from_bytes(&changed(last, &[3])),
        Err(ProgramError::InvalidLabelTarget {
            label: "a".into(),
            index: 3,
            len: 2
        })
    );
    assert!(matches!(
        Program::from_bytes(&changed(last - 1, b" ")),
        Err(ProgramError::InvalidLabelName(_))
    ));
    assert!(matches!(
        Program::from_bytes(&changed(last - 1, b"b")),
        Err(ProgramError::UndefinedLabel { pc: 1, .. })
    ));
}

#[test]
fn files_hold_bytes_or_text() {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path();
    let path = dir.join("p.atlas");
    let program: Program = "@a: bra @a".parse().unwrap();
    program.save_to_file(&path).unwrap();
    assert_eq!(Program::load_from_file(&path).as_ref(), Ok(&program));
    std::fs::write(&path, program.to_string()).unwrap();
    assert_eq!(Program::load_from_file(&path).as_ref(), Ok(&program));
    std::fs::write(&path, b"exit\n\xff").unwrap();
    assert!(matches!(
        Program::load_from_file(&path),
        Err(ProgramError::Malformed { offset: 5, .. })
    ));
    for missing in [dir.join("none"), dir.to_path_buf()] {
        assert!(matches!(
            Program::load_from_file(&missing),
            Err(ProgramError::File { path, .. }) if path == missing.display().to_string()
        ));
    }
    assert!(matches!(
        program.save_to_file(dir),
        Err(ProgramError::File { .. })
    ));
}

#[test]
fn the_builder_reports_its_first_mistake() {
    let p0 = Predicate::new(0).unwrap();
    let mut builder = ProgramBuilder::new();
    builder
        .label("top")
        .push(Instruction::SetCc {
            ty: Ty::U32,
            cond: Condition::Ltu,
            dst: p0,
            src1: Register::LANE_X,
            src2: Register::BLOCK_X,
        })
        .bra("top", Some(p0))
        .call("end")
        .repeat(Register::LANE_X, "top")
        .label("end");
    assert_eq!((builder.len(), builder.is_empty()), (4, false));
    let built = builder.clone().build().unwrap();
    assert_eq!(
        built.to_string(),
        "@top:\n    set.ltu.u32 p0, r252, r253\n    bra @top, p0\n    call @end\n    loop r252, @top\n@end:\n"
    );
    builder.label("end").label("not a name").bra("lost", None);
    assert_eq!(
        builder.build(),
        Err(ProgramError::DuplicateLabel("end".into()))
    );
    let mut builder = ProgramBuilder::new();
    builder.bra("lost", None);
    assert!(matches!(
        builder.build(),
        Err(ProgramError::UndefinedLabel { pc: 0, .. })
    ));
    let mut builder = ProgramBuilder::new();
    builder.call("");
    assert!(matches!(
        builder.build(),
        Err(ProgramError::InvalidLabelName(_))
    ));
    assert!(Label::new(&"x".repeat(256)).is_err());
    assert_eq!(Predicate::new(16), Err(ProgramError::InvalidPredicate(16)));
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
