//! Elementwise operations of every type at sizes that fill no pack, and special values.

use super::*;
use crate::{BinaryOp, MapOp};

/// Elements and elements before the operands: whole packs, parts of them, and unaligned ones.
const SIZES: [(u64, usize); 5] = [(0, 0), (1, 0), (1000, 0), (1027, 0), (259, 3)];

fn tolerance(ty: Ty) -> f64 {
    match ty {
        Ty::F32 | Ty::F16 | Ty::Bf16 => 4.0 * f64::from(f32::EPSILON),
        _ => 8.0 * f64::EPSILON,
    }
}

#[test]
fn elementwise() {
    let context = context();
    for ty in Ty::ALL {
        for (count, shift) in SIZES {
            let n = count as usize;
            let operands = [random(ty, n, 1), random(ty, n, 2)];
            let mut operations: Vec<Operation> = Vec::new();
            operations.extend(
                MapOp::ALL
                    .iter()
                    .map(|&op| Operation::Map { op, ty, count }),
            );
            let value = u64::from_le_bytes(random(Ty::F64, 1, 3).try_into().expect("8 bytes")) | 1;
            for &op in BinaryOp::ALL {
                operations.push(Operation::MapBinary { op, ty, count });
                operations.push(Operation::MapScalar {
                    op,
                    ty,
                    value,
                    count,
                });
            }
            let (low, high) = match ty {
                Ty::F32 => (u64::from((-1.0f32).to_bits()), u64::from(2.0f32.to_bits())),
                Ty::F64 => ((-1.0f64).to_bits(), 2.0f64.to_bits()),
                Ty::F16 => (0xbc00, 0x4000),
                Ty::Bf16 => (0xbf80, 0x4000),
                _ => (5, 100),
            };
            operations.push(Operation::Clip {
                ty,
                low,
                high,
                count,
            });
            operations.push(Operation::Fill { ty, value, count });
            for operation in operations {
                if operation.check_types().is_err() {
                    continue;
                }
                let (_, used) = operation.lengths();
                let read = &operands[..used - 1];
                let (device, divided) = on_device(&context, &operation, read, shift);
                match on_host(&operation, read) {
                    Ok(host) => {
                        assert!(!divided, "{operation:?}");
                        // The exponent of gelu is a cubic: its error counts as often as it is large.
                        let factor = match operation {
                            Operation::Map {
                                op: MapOp::Gelu, ..
                            } => 16.0,
                            _ => 1.0,
                        };
                        same(&operation, &device, &host, factor * tolerance(ty), 1e-300);
                    }
                    Err(error) => {
                        assert_eq!(error, host::HostError::DivisionByZero);
                        assert!(divided, "{operation:?}");
                    }
                }
            }
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
            let (out, divided) = on_device(&context, &by_operand, &read, 0);
            assert!(!divided && out == expected, "{ty:?}");
            for value in [1, 2, 3, 7, top / 2 + 1, top - 1, top] {
                let by_value = Operation::MapScalar {
                    op,
                    ty,
                    value,
                    count,
                };
                let (out, _) = on_device(&context, &by_value, std::slice::from_ref(&a), 0);
                let quotients = bytes(pairs.iter().map(|p| p.0 / value).collect());
                assert!(out == quotients, "{ty:?} by {value}");
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
    let (out, _) = on_device(&context(), &operation, &[], 1);
    assert_eq!(out, [0x80, 0x3f].repeat(21));
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
    let bytes: Vec<u8> = special.iter().flat_map(|x| x.to_le_bytes()).collect();
    for &op in MapOp::ALL {
        let operation = Operation::Map {
            op,
            ty: Ty::F32,
            count: special.len() as u64,
        };
        let (device, _) = on_device(&context(), &operation, std::slice::from_ref(&bytes), 0);
        let host = on_host(&operation, std::slice::from_ref(&bytes)).expect("no fault");
        same(&operation, &device, &host, tolerance(Ty::F32), 1e-44);
    }
}
