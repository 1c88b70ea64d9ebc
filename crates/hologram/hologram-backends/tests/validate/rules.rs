//! Rules of single instructions, of labels, calls and launches.

use hologram_backends::validate::validate_launch;
use hologram_backends::{
    BackendError, Dim3, ExecutionParams, Instruction, Label, LaunchConfig, Program, ProgramError,
    ValidationError, ValidationErrorKind as Kind,
};

use super::{accepts, program, register, rejected, rejects};

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
