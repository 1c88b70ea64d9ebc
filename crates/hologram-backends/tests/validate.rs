//! What the validator accepts, and what it rejects with which pc and kind.

use hologram_backends::validate::{validate, validate_launch, Terminator};
use hologram_backends::{
    BackendError, Dim3, ExecutionParams, Instruction, Label, LaunchConfig, Predicate, Program,
    ProgramError, Register, Ty, ValidationError, ValidationErrorKind as Kind,
};

fn program(text: &str) -> Program {
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn rejected(program: &Program) -> ValidationError {
    match program.validate() {
        Err(BackendError::Validation(error)) => error,
        other => panic!("{other:?} for\n{program}"),
    }
}

fn rejects(text: &str, pc: usize, kind: Kind) {
    let error = rejected(&program(text));
    assert_eq!((error.pc, &error.kind), (pc, &kind), "{text}");
    let shown = program(text).instructions()[pc].to_string();
    assert_eq!(error.instruction, shown);
    let message = error.to_string();
    assert!(message.starts_with(&format!("pc {pc} (`{shown}`): ")));
}

fn accepts(text: &str) {
    let program = program(text);
    program
        .validate()
        .unwrap_or_else(|e| panic!("{e}\n{program}"));
}

fn register(index: u8) -> Register {
    Register::new(index)
}

#[test]
fn an_empty_program_and_jumps_to_the_end_are_valid() {
    accepts("");
    accepts("bra @end\n@end:");
    accepts("call @end\n@end:");
    accepts("@a: bra @a");
    accepts("mov_imm.u32 r1, 3\n@a: loop r1, @a");
}

#[test]
fn special_registers_are_preset() {
    accepts("mov.u32 r0, r252\nmov.u32 r0, r253\nmov.u32 r0, r254\nmov.u64 r0, r255");
    rejects(
        "mov.u64 r0, r254",
        0,
        Kind::TypeMismatch {
            register: register(254),
            expected: Ty::U64,
            actual: Ty::U32,
        },
    );
    // They can be written, with another type too.
    accepts("mov_imm.f32 r255, 0\nexp.f32 r0, r255");
}

#[test]
fn initial_registers_count_as_written() {
    let program = program("add.f64 r2, r1, r1");
    assert_eq!(
        rejected(&program).kind,
        Kind::UninitializedRegister(register(1))
    );
    assert!(validate(&program, &[(register(1), Ty::F64)]).is_ok());
    let wrong = validate(&program, &[(register(1), Ty::F64), (register(1), Ty::I8)]);
    assert!(matches!(
        wrong,
        Err(BackendError::Validation(ValidationError {
            pc: 0,
            kind: Kind::TypeMismatch { actual: Ty::I8, .. },
            ..
        }))
    ));
}

#[test]
fn every_operand_must_be_initialised() {
    let cases = [
        ("ldg.f32 r1, [r9 + 4]", 9),
        ("ldg.f32 r1, [r255 + r9]", 9),
        ("ldg.f32 r1, [r9 + r255]", 9),
        ("lds.f32 r1, [r200 + r9]", 9),
        ("stg.u64 r9, [buf1 + 0]", 9),
        ("sts.u64 r9, [buf1 + 0]", 9),
        ("cvt.f32.i32 r1, r9", 9),
        ("mad.u64 r1, r255, r255, r9", 9),
        ("shl.u64 r1, r255, r9", 9),
        ("not.u8 r1, r9", 9),
        ("set.eq.u32 p0, r9, r252", 9),
        ("loop r9, @e\n@e:", 9),
        ("mirror r1, r9", 9),
        ("nbr_count r1, r9", 9),
        ("nbr_get r1, r9, 3", 9),
        ("reduce_add.u32 r1, r252, 4", 255),
        ("tanh.f64 r1, r9", 9),
        ("pow.f64 r1, r9, r9", 9),
        ("pool_free r9", 9),
        ("pool_load.f32 r1, r255, r9", 9),
        ("pool_store.f32 r9, r255, r255", 9),
        ("gemm.f32 r255, r255, r9, 1, 1, 1", 9),
        ("map.relu.f32 r255, r9, 10", 9),
        ("map2.add.f32 r255, r255, r9, 10", 9),
        ("reduce.sum.f32 r9, r255, 10", 9),
        ("layer_norm.f32 r255, r255, r255, r9, 1, 1, 1e-5", 9),
        ("softmax.f32 r9, r255, 1, 1", 9),
    ];
    for (text, index) in cases {
        let error = rejected(&program(text));
        let uninitialized = error.kind == Kind::UninitializedRegister(register(index));
        // r255 holds a u64 where a fold over r252.. reads u32.
        let mismatch =
            matches!(error.kind, Kind::TypeMismatch { register: r, .. } if r == register(index));
        assert!(
            uninitialized || (index == 255 && mismatch),
            "{text}: {error}"
        );
        assert_eq!(error.pc, 0, "{text}");
    }
}

#[test]
fn shared_memory_ignores_the_handle() {
    // r200 is never written: only the offset is read.
    accepts("lds.f32 r1, [r200 + 4]\nsts.f32 r1, [r200 + r255]");
}

#[test]
fn both_sides_of_a_selection_and_the_predicate_are_read() {
    let p = Predicate::new(3).unwrap();
    rejects(
        "sel.u32 r1, p3, r252, r252",
        0,
        Kind::UninitializedPredicate(p),
    );
    rejects("bra @e, p3\n@e:", 0, Kind::UninitializedPredicate(p));
    rejects(
        "set.eq.u32 p3, r252, r252\nsel.u32 r1, p3, r252, r2",
        1,
        Kind::UninitializedRegister(register(2)),
    );
    accepts("unity_test p3, 0.5\nsel.u32 r1, p3, r252, r253");
}

#[test]
fn paths_are_joined() {
    let branch = "set.eq.u32 p0, r252, r253\nbra @other, p0\nmov_imm.i32 r1, 1\nbra @join\n\
                  @other: mov_imm.OTHER r1, 2\n@join: neg.i32 r2, r1";
    accepts(&branch.replace("OTHER", "i32"));
    rejects(
        &branch.replace("OTHER", "f32"),
        5,
        Kind::AmbiguousType {
            register: register(1),
            expected: Ty::I32,
        },
    );
    rejects(
        "set.eq.u32 p0, r252, r253\nbra @join, p0\nmov_imm.i32 r1, 1\n@join: neg.i32 r2, r1",
        3,
        Kind::UninitializedRegister(register(1)),
    );
    // Rewritten after the join.
    accepts(
        &branch
            .replace("OTHER", "f32")
            .replace("@join: ", "@join: mov_imm.i32 r1, 0\n"),
    );
}

#[test]
fn a_loop_carries_types_back() {
    let text = "mov_imm.u32 r9, 3\nmov_imm.i32 r1, 1\n@top: neg.i32 r2, r1\nmov_imm.f32 r1, 0\nloop r9, @top";
    rejects(
        text,
        2,
        Kind::AmbiguousType {
            register: register(1),
            expected: Ty::I32,
        },
    );
    accepts(&text.replace("mov_imm.f32", "mov_imm.i32"));
    // The count is a u32 after the loop.
    accepts("mov_imm.u32 r9, 3\n@top: loop r9, @top\nmov.u32 r1, r9");
}

#[test]
fn unreachable_code_is_not_read_but_its_types_are_checked() {
    accepts("exit\nneg.i32 r2, r1");
    accepts("bra @e\nneg.i32 r2, r1\n@e:");
    // Unsigned negation is never right.
    rejects(
        "exit\nneg.u32 r2, r1",
        1,
        Kind::UnsupportedType {
            ty: Ty::U32,
            allowed: "the signed integer types, f32 and f64",
        },
    );
}

#[test]
fn routines_pass_on_what_they_write() {
    accepts("call @f\nneg.i32 r2, r1\nexit\n@f: mov_imm.i32 r1, 4\nret");
    // Read in the routine, written by the caller; a second call retypes it.
    let text =
        "mov_imm.i32 r1, 4\ncall @f\nmov_imm.TYPE r1, 4\ncall @f\nexit\n@f: neg.i32 r2, r1\nret";
    accepts(&text.replace("TYPE", "i32"));
    rejects(
        &text.replace("TYPE", "i64"),
        5,
        Kind::AmbiguousType {
            register: register(1),
            expected: Ty::I32,
        },
    );
    // Written on one of the routine's ways only.
    rejects(
        "set.eq.u32 p0, r252, r253\ncall @f\nneg.i32 r2, r1\nexit\n\
         @f: bra @skip, p0\nmov_imm.i32 r1, 4\n@skip: ret",
        2,
        Kind::UninitializedRegister(register(1)),
    );
    // As above, but with a value of the same type before the call.
    accepts(
        "set.eq.u32 p0, r252, r253\nmov_imm.i32 r1, 9\ncall @f\nneg.i32 r2, r1\nexit\n\
         @f: bra @skip, p0\nmov_imm.i32 r1, 4\n@skip: ret",
    );
    // What is written for one caller does not leak to another's continuation.
    rejects(
        "call @f\nneg.i32 r2, r7\nmov_imm.i32 r7, 1\ncall @f\nexit\n@f: ret",
        1,
        Kind::UninitializedRegister(register(7)),
    );
}

#[test]
fn code_after_a_call_that_never_returns_is_unreachable() {
    accepts("call @f\nneg.i32 r2, r1\n@f: exit");
    accepts("call @f\nneg.i32 r2, r1\n@f: bra @f");
}

#[test]
fn recursion_is_followed() {
    let text = "set.eq.u32 p0, r252, r253\ncall @f\nneg.i32 r2, r1\nexit\n\
                @f: bra @leaf, p0\ncall @f\nret\n@leaf: BODY\nret";
    accepts(&text.replace("BODY", "mov_imm.i32 r1, 4"));
    rejects(
        &text.replace("BODY", "mov_imm.i64 r1, 4"),
        2,
        Kind::TypeMismatch {
            register: register(1),
            expected: Ty::I32,
            actual: Ty::I64,
        },
    );
}

#[test]
fn calls_nest_256_deep_and_no_deeper() {
    let chain = |depth: usize| {
        let mut text = "call @f1\nexit\n".to_owned();
        for i in 1..depth {
            text += &format!("@f{i}: call @f{}\nret\n", i + 1);
        }
        program(&format!("{text}@f{depth}: ret"))
    };
    assert!(chain(256).validate().is_ok());
    let error = rejected(&chain(257));
    assert_eq!((error.pc, error.kind), (0, Kind::CallDepth { depth: 257 }));
}

#[test]
fn labels_must_be_bound_within_the_program() {
    let mut unbound = Program::new();
    unbound.push(Instruction::Bra {
        target: Label::new("nowhere").unwrap(),
        pred: None,
    });
    let error = rejected(&unbound);
    assert_eq!(
        (error.pc, error.kind),
        (0, Kind::UndefinedLabel("nowhere".into()))
    );
    let mut past = program("exit");
    past.bind_label(Label::new("far").unwrap(), 2).unwrap();
    assert_eq!(
        past.validate(),
        Err(BackendError::Program(ProgramError::InvalidLabelTarget {
            label: "far".into(),
            index: 2,
            len: 1,
        }))
    );
    past.push(Instruction::Call {
        target: Label::new("far").unwrap(),
    });
    assert!(past.validate().is_ok(), "now it is the end");
}

#[test]
fn folds_end_at_r255() {
    let range = |count| Kind::ReduceRange {
        base: register(250),
        count,
    };
    rejects("reduce_add.u64 r0, r250, 7", 0, range(7));
    rejects("reduce_max.u64 r0, r250, 4294967295", 0, range(u32::MAX));
    accepts("reduce_mul.u64 r0, r255, 1\nreduce_min.u64 r0, r255, 0");
    accepts("reduce_mul.f32 r0, r9, 0");
}

#[test]
fn boundary_coordinates_are_checked() {
    let outside = |class, page, byte, size| Kind::BoundaryCoordinates {
        class,
        page,
        byte,
        size,
    };
    accepts("ldg.u8 r0, [phi 95:47:255]\nldg.f64 r0, [phi 0:47:248]\nldg.f64 r0, [phi 0:46:255]");
    rejects("ldg.u8 r0, [phi 96:0:0]", 0, outside(96, 0, 0, 1));
    rejects("ldg.u8 r0, [phi 0:48:0]", 0, outside(0, 48, 0, 1));
    rejects("ldg.f64 r0, [phi 3:47:249]", 0, outside(3, 47, 249, 8));
    rejects("stg.u64 r255, [phi 95:47:249]", 0, outside(95, 47, 249, 8));
    rejects("lds.u8 r0, [phi 0:0:0]", 0, Kind::SharedPhi);
    rejects("sts.u64 r255, [phi 0:0:0]", 0, Kind::SharedPhi);
}

#[test]
fn constants_and_sizes_of_whole_buffer_instructions() {
    rejects("unity_test p0, -1.0", 0, Kind::Epsilon("-1.0".into()));
    rejects(
        "unity_test p0, 0x7ff0000000000000",
        0,
        Kind::Epsilon("0x7ff0000000000000".into()),
    );
    rejects("gemm.f32 r255, r255, r255, 1, 0, 1", 0, Kind::IntrinsicSize);
    rejects("softmax.f64 r255, r255, 0, 4", 0, Kind::IntrinsicSize);
    rejects(
        "map.exp.f64 r255, r255, 0x1000000000000000",
        0,
        Kind::IntrinsicSize,
    );
    rejects(
        "layer_norm.f32 r255, r255, r255, r255, 0xffffffff, 0xffffffff, 0.0",
        0,
        Kind::IntrinsicSize,
    );
    accepts("gemm.f32 r255, r255, r255, 3, 4, 5\nreduce.sum.i32 r255, r255, 0");
}

#[test]
fn the_first_error_is_reported() {
    // Rules of single instructions come before those of registers.
    let error = rejected(&program("neg.i32 r2, r1\nfma.f16 r1, r1, r1, r1"));
    assert_eq!(error.pc, 1);
    let error = rejected(&program("neg.i32 r2, r1\nneg.i32 r3, r4"));
    assert_eq!(error.pc, 0);
}

#[test]
fn launches_are_checked_with_their_program() {
    let params = |launch| ExecutionParams::new(launch);
    let whole = program("map.relu.f32 r1, r1, 4");
    let one = params(LaunchConfig::default()).with_u64(register(1), 1);
    assert!(validate_launch(&whole, &one).is_ok());
    let many = params(LaunchConfig::linear(64, 32)).with_u64(register(1), 1);
    assert!(matches!(
        validate_launch(&whole, &many),
        Err(BackendError::Validation(ValidationError {
            pc: 0,
            kind: Kind::IntrinsicLanes { lanes: 64 },
            ..
        }))
    ));
    let empty = program("");
    let launches = [
        (Dim3::new(0, 1, 1), Dim3::linear(1), "grid.x"),
        (Dim3::new(1, 65_536, 1), Dim3::linear(1), "grid.y"),
        (Dim3::new(1, 1, 0), Dim3::linear(1), "grid.z"),
        (Dim3::linear(1), Dim3::linear(1025), "block.x"),
        (Dim3::linear(1), Dim3::new(1, 0, 1), "block.y"),
        (Dim3::linear(1), Dim3::new(1, 1, 1025), "block.z"),
        (Dim3::linear(1), Dim3::new(32, 33, 1), "lanes of a block"),
        (Dim3::new(u32::MAX, 1, 1), Dim3::linear(1), "blocks"),
        (
            Dim3::new(u32::MAX, 65_535, 65_535),
            Dim3::linear(1),
            "blocks",
        ),
    ];
    for (grid, block, name) in launches {
        let result = validate_launch(&empty, &params(LaunchConfig::new(grid, block)));
        assert!(
            matches!(&result, Err(BackendError::InvalidLaunchConfig { what, .. }) if *what == name),
            "{name}: {result:?}"
        );
    }
    let shared = LaunchConfig::default().with_shared_memory((32 << 10) + 1);
    assert!(matches!(
        validate_launch(&empty, &params(shared)),
        Err(BackendError::SharedMemoryAllocationFailed {
            requested: 32_769,
            available: 32_768,
        })
    ));
    let largest = LaunchConfig::new(Dim3::linear((1 << 31) - 1), Dim3::new(32, 32, 1))
        .with_shared_memory(32 << 10);
    assert!(validate_launch(&empty, &params(largest)).is_ok());
}

#[test]
fn the_graph_has_the_blocks_of_the_program() {
    let text = "mov_imm.u32 r1, 3\n@top: set.eq.u32 p0, r1, r1\nbra @out, p0\ncall @f\n\
                loop r1, @top\n@out: exit\n@f: ret";
    let cfg = validate(&program(text), &[]).unwrap();
    let found: Vec<_> = cfg
        .blocks()
        .iter()
        .map(|block| (block.pcs.clone(), block.terminator))
        .collect();
    assert_eq!(
        found,
        [
            (0..1, Terminator::Next),
            (1..3, Terminator::Branch(5)),
            (3..4, Terminator::Call(6)),
            (4..5, Terminator::Branch(1)),
            (5..6, Terminator::Exit),
            (6..7, Terminator::Return),
        ]
    );
    let next = |block| cfg.successors(block).collect::<Vec<_>>();
    assert_eq!(next(0), [1]);
    assert_eq!(next(1), [4, 2]);
    assert_eq!(next(2), [3], "a call is followed by where it returns to");
    assert_eq!(next(3), [1, 4]);
    assert!(next(4).is_empty() && next(5).is_empty());
    assert_eq!(cfg.block_starting_at(5), Some(4));
    assert_eq!(
        (cfg.block_starting_at(2), cfg.block_starting_at(7)),
        (None, None)
    );
}

#[test]
fn hostile_sizes_end_quickly() {
    // 4,000 routines that each go through the code of all others: quadratically many pairs.
    let n = 4_000;
    let mut text = String::new();
    for i in 0..n {
        text += &format!("@f{i}: call @f{}\n", (i * 7 + 1) % n);
    }
    let error = rejected(&program(&text));
    assert_eq!(error.kind, Kind::TooComplex);
    // A million instructions in a line, and as many blocks, are fine.
    let line = "mov_imm.i32 r1, 1\n".repeat(1 << 20);
    accepts(&line);
    let mut blocks = String::new();
    for i in 0..100_000 {
        blocks += &format!("bra @l{i}\n@l{i}:");
    }
    accepts(&blocks);
    // One instruction more is too long, as text and as a list.
    let long = format!("{line}exit");
    assert!(matches!(
        long.parse::<Program>(),
        Err(ProgramError::Syntax {
            line: 1_048_577,
            ..
        })
    ));
    let list = Program::from_instructions(vec![Instruction::Exit {}; (1 << 20) + 1]);
    assert!(matches!(
        list.validate(),
        Err(BackendError::Program(ProgramError::TooLong { .. }))
    ));
}
