//! Kernels on the CPU device, also in conformance mode, against the operations on host memory.

use openvm_metal_common::{Device, MetalBuffer, MetalContext};

use super::{run, DeviceError, DeviceSpan, LIBRARY};
use crate::host::{self, HostSpan};
use crate::{BinaryOp, LossOp, MapOp, Operation, ReduceOp, Ty};

fn context() -> MetalContext {
    MetalContext::shared_on(Device::Cpu, &[&LIBRARY]).expect("the CPU device")
}

/// Barrier kernels with real barriers.
fn conformance() -> MetalContext {
    MetalContext::shared_on(Device::CpuConformance, &[&LIBRARY]).expect("the CPU device")
}

/// Bytes that look random; floats are between -4 and 4.
fn random(ty: Ty, count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let mut unit = || (next() >> 11) as f64 / (1u64 << 50) as f64 - 4.0;
    let bytes = (0..count).flat_map(|_| match ty {
        Ty::F32 => (unit() as f32).to_le_bytes().to_vec(),
        Ty::F64 => unit().to_le_bytes().to_vec(),
        _ => (unit() * 1e18).to_bits().to_le_bytes()[..ty.size()].to_vec(),
    });
    bytes.collect()
}

fn elements(ty: Ty, bytes: &[u8]) -> Vec<f64> {
    let chunks = bytes.chunks_exact(ty.size());
    match ty {
        Ty::F32 => chunks
            .map(|c| f32::from_le_bytes(c.try_into().expect("4 bytes")).into())
            .collect(),
        Ty::F64 => chunks
            .map(|c| f64::from_le_bytes(c.try_into().expect("8 bytes")))
            .collect(),
        _ => chunks
            .map(|c| {
                c.iter()
                    .rev()
                    .fold(0.0, |sum, &b| sum * 256.0 + f64::from(b))
            })
            .collect(),
    }
}

/// Runs an operation on the device, its operands `shift` elements into one buffer each; the bytes
/// around the result must stay.
fn on_device(
    context: &MetalContext,
    operation: &Operation,
    read: &[Vec<u8>],
    shift: usize,
) -> (Vec<u8>, bool) {
    let stream = context.stream();
    let ty = operation.ty();
    let (lengths, _) = operation.lengths();
    let written = lengths[0] as usize * ty.size();
    let offset = shift * ty.size();
    let mut all = vec![vec![0xa5u8; written]];
    all.extend(read.iter().cloned());
    let buffers: Vec<MetalBuffer<u8>> = all
        .iter()
        .map(|bytes| {
            let mut padded = vec![0x5au8; offset];
            padded.extend_from_slice(bytes);
            padded.extend([0x5au8; 40]);
            MetalBuffer::from_host(&stream, &padded).expect("memory")
        })
        .collect();
    let spans: Vec<DeviceSpan<'_>> = buffers
        .iter()
        .map(|buffer| DeviceSpan {
            memory: buffer.as_slice(),
            offset,
        })
        .collect();
    let launched = run(operation, &stream, &spans).expect("encoded");
    let divided = launched.divided_by_zero(&stream).expect("finished");
    let out = buffers[0].to_host(&stream).expect("copied");
    let around = out[..offset].iter().chain(&out[offset + written..]);
    assert!(around.into_iter().all(|&b| b == 0x5a), "{operation:?}");
    (out[offset..offset + written].to_vec(), divided)
}

fn on_host(operation: &Operation, read: &[Vec<u8>]) -> Result<Vec<u8>, host::HostError> {
    let (lengths, _) = operation.lengths();
    // Words of eight bytes, so that every type is aligned.
    let words = |bytes: usize| vec![0u64; bytes.div_ceil(8)];
    let written = lengths[0] as usize * operation.ty().size();
    let mut all = vec![words(written)];
    for bytes in read {
        let mut copy = words(bytes.len());
        for (i, &byte) in bytes.iter().enumerate() {
            copy[i / 8] |= u64::from(byte) << (i % 8 * 8);
        }
        all.push(copy);
    }
    let spans: Vec<HostSpan> = all
        .iter_mut()
        .map(|words| HostSpan {
            ptr: words.as_mut_ptr().cast(),
            len: words.len() * 8,
        })
        .collect();
    // SAFETY: separate vectors that live.
    unsafe { host::run(operation, &spans) }?;
    let bytes = all[0].iter().flat_map(|word| word.to_le_bytes());
    Ok(bytes.take(written).collect())
}

/// Device and host agree: integers exactly, floats within `relative` (and `absolute`).
fn same(operation: &Operation, device: &[u8], host: &[u8], relative: f64, absolute: f64) {
    let ty = operation.ty();
    if ty.is_int() {
        assert!(device == host, "{operation:?}");
        return;
    }
    for (i, (x, y)) in elements(ty, device)
        .into_iter()
        .zip(elements(ty, host))
        .enumerate()
    {
        let close = x == y || (x.is_nan() && y.is_nan());
        let close = close || (x - y).abs() <= relative * y.abs() + absolute;
        assert!(close, "{operation:?} at {i}: {x:e}, on the host {y:e}");
    }
}

const COMPUTABLE: [Ty; 10] = [
    Ty::I8,
    Ty::I16,
    Ty::I32,
    Ty::I64,
    Ty::U8,
    Ty::U16,
    Ty::U32,
    Ty::U64,
    Ty::F32,
    Ty::F64,
];

/// Elements and elements before the operands: whole packs, parts of them, and unaligned ones.
const SIZES: [(u64, usize); 5] = [(0, 0), (1, 0), (1000, 0), (1027, 0), (259, 3)];

fn tolerance(ty: Ty) -> f64 {
    match ty {
        Ty::F32 => 4.0 * f64::from(f32::EPSILON),
        _ => 8.0 * f64::EPSILON,
    }
}

#[test]
fn elementwise() {
    let context = context();
    for ty in COMPUTABLE {
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

fn folds(context: &MetalContext, counts: &[u64]) {
    for ty in COMPUTABLE {
        for &count in counts {
            let read = [
                random(ty, count as usize, count),
                random(ty, count as usize, 9),
            ];
            for shift in [0, 1] {
                for &op in ReduceOp::ALL {
                    if op == ReduceOp::Product && ty.is_float() && count > 100 {
                        continue;
                    }
                    let operation = Operation::Reduce { op, ty, count };
                    let (device, _) = on_device(context, &operation, &read[..1], shift);
                    let host = on_host(&operation, &read[..1]).expect("no fault");
                    same(
                        &operation,
                        &device,
                        &host,
                        1e-4,
                        1e-4 * (count as f64).sqrt(),
                    );
                }
            }
            if ty.is_float() {
                for &op in LossOp::ALL {
                    let operation = Operation::Loss { op, ty, count };
                    let (device, _) = on_device(context, &operation, &read, 0);
                    let host = on_host(&operation, &read).expect("no fault");
                    same(&operation, &device, &host, 1e-5, 1e-6);
                }
            }
        }
    }
}

#[test]
fn reductions_and_losses() {
    folds(&context(), &[0, 1, 31, 1000, 70_001]);
}

#[test]
fn reductions_and_losses_with_barriers() {
    folds(&conformance(), &[3, 9001]);
}

fn rows(context: &MetalContext, shapes: &[(u32, u32)]) {
    for ty in [Ty::F32, Ty::F64] {
        for &(rows, cols) in shapes {
            let cells = rows as usize * cols as usize;
            let read = [
                random(ty, cells, 4),
                random(ty, cols as usize, 5),
                random(ty, cols as usize, 6),
            ];
            let softmax = Operation::Softmax { ty, rows, cols };
            let (device, _) = on_device(context, &softmax, &read[..1], 1);
            let host = on_host(&softmax, &read[..1]).expect("no fault");
            same(&softmax, &device, &host, 1e-5, 0.0);
            let norm = Operation::LayerNorm {
                ty,
                rows,
                cols,
                epsilon: 1e-5,
            };
            let (device, _) = on_device(context, &norm, &read, 0);
            let host = on_host(&norm, &read).expect("no fault");
            same(&norm, &device, &host, 1e-5, 1e-5);
        }
    }
}

#[test]
fn softmax_and_layer_norm() {
    rows(
        &context(),
        &[(0, 3), (3, 0), (1, 1), (7, 33), (3, 1000), (2, 9001)],
    );
}

#[test]
fn softmax_and_layer_norm_with_barriers() {
    rows(&conformance(), &[(3, 5), (2, 257), (2, 1030)]);
}

fn products(context: &MetalContext, shapes: &[[u32; 3]]) {
    for ty in [Ty::F32, Ty::F64] {
        for &[m, n, k] in shapes {
            for shift in [0, 1] {
                let operation = Operation::Gemm { ty, m, n, k };
                let read = [
                    random(ty, m as usize * k as usize, 7),
                    random(ty, k as usize * n as usize, 8),
                ];
                let (device, _) = on_device(context, &operation, &read, shift);
                let host = on_host(&operation, &read).expect("no fault");
                same(&operation, &device, &host, 1e-5, 2e-6 * f64::from(k));
            }
        }
    }
}

/// No rows, no depth, a vector, and the three tile sizes with whole and cut tiles.
const PRODUCTS: [[u32; 3]; 9] = [
    [0, 3, 3],
    [3, 2, 0],
    [1, 1, 1],
    [5, 1, 77],
    [33, 7, 19],
    [32, 64, 48],
    [600, 1000, 20],
    [1400, 1500, 3],
    [1408, 1536, 17],
];

#[test]
fn gemm() {
    products(&context(), &PRODUCTS);
}

#[test]
fn gemm_with_barriers() {
    products(&conformance(), &PRODUCTS[..6]);
    // The largest tile: as many threads as it was made for.
    products(&conformance(), &[[1408, 1409, 18]]);
}

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
        DeviceError::TooShort {
            operand: 0,
            needed: 64,
            len: 60
        }
    ));
    assert!(matches!(
        error(fill(1), &[]),
        DeviceError::TooShort { operand: 0, .. }
    ));
    assert!(matches!(
        error(fill(1), &[span(2)]),
        DeviceError::Misaligned {
            operand: 0,
            size: 4
        }
    ));
    let exp = Operation::Map {
        op: MapOp::Exp,
        ty: Ty::I32,
        count: 1,
    };
    assert!(matches!(
        error(exp, &[span(0), span(4)]),
        DeviceError::Type { ty: Ty::I32, .. }
    ));
    let divide = Operation::MapScalar {
        op: BinaryOp::Div,
        ty: Ty::U8,
        value: 256,
        count: 1,
    };
    assert!(matches!(
        error(divide, &[span(0), span(4)]),
        DeviceError::DivisionByZero
    ));
    assert_eq!(buffer.to_host(&stream).expect("copied"), [1u8; 64]);
}
