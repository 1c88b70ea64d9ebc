//! Calls: made from instructions, checked, shown.

use super::*;
use crate::error::{BackendError, FaultKind};
use crate::handle::BufferHandle;
use crate::isa::{BinaryOp, Epsilon, Instruction, LossOp, MapOp, ReduceOp, Register, Ty};

fn buffer(raw: u64) -> Operand {
    Operand::from(BufferHandle::from_raw(raw))
}

/// Buffers 1 to 4 of 64 bytes, and the boundary pool.
fn sizes(handle: BufferHandle) -> Option<u64> {
    match (handle.raw(), handle.as_class()) {
        (0, _) => Some(96 * 12_288),
        (_, Some(_)) => Some(12_288),
        (1..=4, _) => Some(64),
        _ => None,
    }
}

fn add(dst: Operand, a: Operand, b: Operand, count: u64) -> IntrinsicCall {
    IntrinsicCall::MapBinary {
        op: BinaryOp::Add,
        ty: Ty::F32,
        dst,
        a,
        b,
        count,
    }
}

#[test]
fn from_instructions() {
    let handle = |r: Register| Ok::<_, ()>(u64::from(r.index()));
    let r = Register::new;
    let of = |text: &str| {
        let program: crate::Program = text.parse().expect("assembly");
        let instruction = program.instructions()[0].clone();
        assert!(instruction.is_intrinsic());
        assert_eq!(instruction.to_string(), text);
        let bytes = program.to_bytes().expect("bytes");
        assert_eq!(
            crate::Program::from_bytes(&bytes).expect("program"),
            program
        );
        IntrinsicCall::from_instruction(&instruction, handle)
            .unwrap()
            .expect("a call")
    };
    assert_eq!(
        of("map_scalar.add.f32 r1, r2, 1.0, 7"),
        IntrinsicCall::MapScalar {
            op: BinaryOp::Add,
            ty: Ty::F32,
            dst: buffer(1),
            src: buffer(2),
            value: 0x3f80_0000,
            count: 7,
        }
    );
    assert_eq!(
        of("clip.i32 r1, r2, 3, 9, 7").to_string(),
        "clip.i32 [buffer 1], [buffer 2], 0x3, 0x9, 7"
    );
    assert_eq!(
        of("fill.u8 r1, 255, 7").to_string(),
        "fill.u8 [buffer 1], 0xff, 7"
    );
    assert_eq!(
        of("loss.cross_entropy.f64 r1, r2, r3, 7"),
        IntrinsicCall::Loss {
            op: LossOp::CrossEntropy,
            ty: Ty::F64,
            dst: buffer(1),
            predicted: buffer(2),
            target: buffer(3),
            count: 7,
        }
    );
    assert_eq!(
        of("gemm.f32 r1, r2, r3, 4, 5, 6"),
        IntrinsicCall::Gemm {
            ty: Ty::F32,
            a: buffer(1),
            b: buffer(2),
            c: buffer(3),
            m: 4,
            n: 5,
            k: 6,
        }
    );
    for text in [
        "map.gelu.f32 r1, r2, 3",
        "map2.atan2.f64 r1, r2, r3, 3",
        "reduce.sum.i16 r1, r2, 3",
        "softmax.f32 r1, r2, 3, 4",
        "layer_norm.f32 r1, r2, r3, r4, 3, 4, 1e-5",
    ] {
        let _ = of(text);
    }
    let none = Instruction::Exit {};
    assert_eq!(IntrinsicCall::from_instruction(&none, handle), Ok(None));
    let failing = Instruction::Fill {
        ty: Ty::U8,
        dst: r(9),
        value: 0,
        count: 1,
    };
    assert_eq!(
        IntrinsicCall::from_instruction(&failing, |r| Err(r.index())),
        Err(9)
    );
}

#[test]
fn operands_are_checked() {
    let ok = |call: IntrinsicCall| call.check(sizes).expect("valid");
    let fault = |call: IntrinsicCall| match call.check(sizes) {
        Err(BackendError::Fault(fault)) => fault.kind,
        other => panic!("{call}: {other:?}"),
    };
    ok(add(buffer(1), buffer(2), buffer(3), 16));
    ok(add(buffer(1), buffer(1), buffer(1), 16));
    ok(add(buffer(1), buffer(2), buffer(2), 0));
    let at = |raw, offset| Operand::new(BufferHandle::from_raw(raw), offset);
    ok(add(at(1, 32), at(1, 0), at(1, 32), 8));
    assert_eq!(
        fault(add(buffer(1), buffer(2), buffer(9), 16)),
        FaultKind::InvalidBufferHandle { handle: 9 }
    );
    assert_eq!(
        fault(add(buffer(1), at(2, 4), buffer(3), 16)),
        FaultKind::BufferOutOfBounds {
            handle: 2,
            offset: 4,
            size: 64,
            buffer_size: 64
        }
    );
    assert_eq!(
        fault(add(buffer(1), buffer(2), buffer(3), u64::MAX)),
        FaultKind::BufferOutOfBounds {
            handle: 1,
            offset: 0,
            size: u64::MAX,
            buffer_size: 64
        }
    );
    assert_eq!(
        fault(add(buffer(1), at(2, 6), buffer(3), 4)),
        FaultKind::MisalignedOperand {
            handle: 2,
            offset: 6,
            size: 4
        }
    );
    assert_eq!(
        fault(add(at(1, 4), at(1, 0), buffer(3), 4)),
        FaultKind::OverlappingOperands {
            written: 1,
            read: 1
        }
    );
    // A class is a part of the boundary pool.
    let class = Operand::from(BufferHandle::class(2).expect("class"));
    ok(add(class, at(0, 2 * 12_288), buffer(3), 4));
    assert_eq!(
        fault(add(class, at(0, 2 * 12_288 - 4), buffer(3), 4)),
        FaultKind::OverlappingOperands {
            written: class.buffer.raw(),
            read: 0
        }
    );
    let gemm = IntrinsicCall::Gemm {
        ty: Ty::F32,
        c: buffer(1),
        a: buffer(1),
        b: buffer(2),
        m: 4,
        n: 4,
        k: 4,
    };
    assert_eq!(
        fault(gemm),
        FaultKind::OverlappingOperands {
            written: 1,
            read: 1
        }
    );
    ok(IntrinsicCall::Reduce {
        op: ReduceOp::Sum,
        ty: Ty::F32,
        dst: buffer(1),
        src: buffer(1),
        count: 16,
    });
}

#[test]
fn forms_are_checked() {
    let invalid = |call: IntrinsicCall| match call.check(sizes) {
        Err(BackendError::InvalidIntrinsic { reason, .. }) => reason,
        other => panic!("{call}: {other:?}"),
    };
    let map = IntrinsicCall::Map {
        op: MapOp::Gelu,
        ty: Ty::I32,
        dst: buffer(1),
        src: buffer(2),
        count: 1,
    };
    assert_eq!(
        invalid(map),
        "type i32 is not allowed, only the float types"
    );
    let norm = |epsilon| IntrinsicCall::LayerNorm {
        ty: Ty::F32,
        dst: buffer(1),
        src: buffer(1),
        gamma: buffer(2),
        beta: buffer(3),
        rows: 1,
        cols: 4,
        epsilon: Epsilon::new(epsilon),
    };
    norm(0.0).check(sizes).expect("valid");
    assert!(invalid(norm(-1.0)).starts_with("epsilon"));
    assert!(invalid(norm(f64::NAN)).starts_with("epsilon"));
}

#[test]
fn the_cpu_backend_runs_calls() {
    use crate::backend::Backend;
    let mut backend = crate::cpu::CpuBackend::new();
    let bytes =
        |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|x| x.to_le_bytes()).collect() };
    let a = backend.allocate_buffer(16).expect("memory");
    let class = BufferHandle::class(3).expect("class");
    backend
        .copy_to_buffer(a, &bytes(&[1.0, -2.0, 3.0, 4.0]))
        .expect("copy");
    let call = IntrinsicCall::MapScalar {
        op: BinaryOp::Mul,
        ty: Ty::F32,
        dst: Operand::new(class, 4),
        src: Operand::new(a, 4),
        value: u64::from(0.5f32.to_bits()),
        count: 3,
    };
    let ticket = backend.submit_intrinsic(&call).expect("submitted");
    backend.wait(ticket).expect("no fault");
    let mut out = [0; 20];
    backend.copy_from_buffer(class, &mut out).expect("copy");
    assert_eq!(out.to_vec(), bytes(&[0.0, -1.0, 1.5, 2.0, 0.0]));
    let divide = IntrinsicCall::MapScalar {
        op: BinaryOp::Div,
        ty: Ty::U32,
        dst: a.into(),
        src: a.into(),
        value: 0,
        count: 1,
    };
    match backend.submit_intrinsic(&divide) {
        Err(BackendError::Fault(fault)) => assert_eq!(fault.kind, FaultKind::DivisionByZero),
        other => panic!("{other:?}"),
    }
}
