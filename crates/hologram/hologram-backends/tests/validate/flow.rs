//! Initialisation and types of registers along the control flow.

use hologram_backends::validate::{validate, Terminator};
use hologram_backends::{
    BackendError, Predicate, Ty, ValidationError, ValidationErrorKind as Kind,
};

use super::{accepts, program, register, rejected, rejects};

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
