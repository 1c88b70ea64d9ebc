//! Operands that are the result; what is refused.

use hologram_conformance::operations::{elements, random};
use hologram_kernels::device::{run, DeviceError, DeviceSpan};
use hologram_kernels::{host, BinaryOp, MapOp, Operation, Ty};
use openvm_metal_common::MetalBuffer;

use crate::context;

#[test]
fn in_place() {
    let context = context();
    let stream = context.stream();
    let bytes = random(Ty::F32, 777, 1);
    let buffer = MetalBuffer::from_host(&stream, &bytes).expect("memory");
    let span = DeviceSpan {
        memory: buffer.as_slice(),
        offset: 0,
    };
    let double = Operation::MapBinary {
        op: BinaryOp::Add,
        ty: Ty::F32,
        count: 777,
    };
    run(&double, &stream, &[span, span, span])
        .expect("encoded")
        .divided_by_zero(&stream)
        .expect("finished");
    let out = elements(Ty::F32, &buffer.to_host(&stream).expect("copied"));
    let expected: Vec<f64> = elements(Ty::F32, &bytes).iter().map(|x| 2.0 * x).collect();
    assert_eq!(out, expected);
}

#[test]
fn errors() {
    let context = context();
    let stream = context.stream();
    let buffer = MetalBuffer::from_host(&stream, &[1u8; 64]).expect("memory");
    let span = |offset| DeviceSpan {
        memory: buffer.as_slice(),
        offset,
    };
    let fill = |count| Operation::Fill {
        ty: Ty::U32,
        value: 0,
        count,
    };
    let error = |operation: Operation, spans: &[DeviceSpan<'_>]| {
        run(&operation, &stream, spans).err().expect("an error")
    };
    assert!(matches!(
        error(fill(16), &[span(4)]),
        DeviceError::Call(host::HostError::TooShort {
            operand: 0,
            needed: 64,
            len: 60
        })
    ));
    assert!(matches!(
        error(fill(1), &[]),
        DeviceError::Call(host::HostError::TooShort { operand: 0, .. })
    ));
    assert!(matches!(
        error(fill(1), &[span(2)]),
        DeviceError::Call(host::HostError::Misaligned {
            operand: 0,
            size: 4
        })
    ));
    let exp = Operation::Map {
        op: MapOp::Exp,
        ty: Ty::I32,
        count: 1,
    };
    assert!(matches!(
        error(exp, &[span(0), span(4)]),
        DeviceError::Call(host::HostError::Type { ty: Ty::I32, .. })
    ));
    let divide = Operation::MapScalar {
        op: BinaryOp::Div,
        ty: Ty::U8,
        value: 256,
        count: 1,
    };
    assert!(matches!(
        error(divide, &[span(0), span(4)]),
        DeviceError::Call(host::HostError::DivisionByZero)
    ));
    assert_eq!(buffer.to_host(&stream).expect("copied"), [1u8; 64]);
}
