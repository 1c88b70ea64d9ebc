//! Elementwise operations of every type at sizes that fill no pack, and special values.

use hologram_conformance::operations::{difference, elementwise, on_device, on_host, Tolerance};
use hologram_kernels::{BinaryOp, MapOp, Operation, Ty};

use crate::{conformance, context, same};

/// Elements and elements before the operands: whole packs, parts of them, and unaligned ones.
const SIZES: [(u64, usize); 5] = [(0, 0), (1, 0), (1000, 0), (1027, 0), (259, 3)];

#[test]
fn every_elementwise_operation() {
    for ty in Ty::ALL {
        for (count, shift) in SIZES {
            same(&context(), elementwise(ty, count, shift));
        }
    }
}

/// Quotients of the largest dividends: drivers that divide by a reciprocal have been seen to be one off there.
#[test]
fn quotients_of_the_largest_dividends() {
    for (ty, bits) in [(Ty::U32, 32), (Ty::U64, 64), (Ty::I32, 31), (Ty::I64, 63)] {
        let top = u64::MAX >> (64 - bits);
        let divisors = (1..40)
            .chain((1..bits).flat_map(|k| [(1 << k) - 1, 1 << k, (1 << k) + 1]))
            .chain((0..6).map(|k| top - k))
            .filter(|&b: &u64| 0 < b && b <= top);
        let dividends = |b: u64| {
            // Multiples of the divisor near the top, and their neighbours: where a quotient changes.
            let most = top / b * b;
            [
                top,
                top - 1,
                top - 2,
                most,
                most - 1,
                most - b,
                most - b / 2,
            ]
        };
        let pairs: Vec<(u64, u64)> = divisors
            .flat_map(|b| dividends(b).map(|a| (a, b)))
            .collect();
        let bytes = |values: Vec<u64>| -> Vec<u8> {
            let bytes = values.iter().map(|v| v.to_le_bytes());
            bytes.flat_map(|b| b[..ty.size()].to_vec()).collect()
        };
        let a = bytes(pairs.iter().map(|p| p.0).collect());
        let b = bytes(pairs.iter().map(|p| p.1).collect());
        let expected = bytes(pairs.iter().map(|p| p.0 / p.1).collect());
        let (op, count) = (BinaryOp::Div, pairs.len() as u64);
        let by_operand = Operation::MapBinary { op, ty, count };
        let read = [a.clone(), b];
        assert_eq!(on_host(&by_operand, &read).expect("no fault"), expected);
        for context in [context(), conformance()] {
            let out = on_device(&context, &by_operand, &read, 0).expect("it runs");
            assert!(!out.divided_by_zero && out.bytes == expected, "{ty:?}");
            for value in [1, 2, 3, 7, top / 2 + 1, top - 1, top] {
                let by_value = Operation::MapScalar {
                    op,
                    ty,
                    value,
                    count,
                };
                let read = std::slice::from_ref(&a);
                let out = on_device(&context, &by_value, read, 0).expect("it runs");
                let quotients = bytes(pairs.iter().map(|p| p.0 / value).collect());
                assert!(out.bytes == quotients, "{ty:?} by {value}");
            }
        }
    }
}

#[test]
fn half_floats_are_filled() {
    let operation = Operation::Fill {
        ty: Ty::Bf16,
        value: 0x3f80,
        count: 21,
    };
    let out = on_device(&context(), &operation, &[], 1).expect("it runs");
    assert_eq!(out.bytes, [0x80, 0x3f].repeat(21));
    assert!(out.around_is_whole);
}

#[test]
fn special_values() {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        f32::NEG_INFINITY,
        f32::NAN,
        1e30,
        -1e30,
        1e-40,
        88.8,
        -104.0,
        2.5,
        3.5,
    ];
    let tolerance = Tolerance {
        relative: 4.0 * f64::from(f32::EPSILON),
        absolute: 1e-44,
        flushes: false,
    };
    let bytes: Vec<u8> = special.iter().flat_map(|x| x.to_le_bytes()).collect();
    for &op in MapOp::ALL {
        let operation = Operation::Map {
            op,
            ty: Ty::F32,
            count: special.len() as u64,
        };
        let read = std::slice::from_ref(&bytes);
        let device = on_device(&context(), &operation, read, 0).expect("it runs");
        let host = on_host(&operation, read).expect("no fault");
        let found = difference(Ty::F32, &device.bytes, &host, tolerance);
        assert_eq!(found, None, "{op}");
    }
}
