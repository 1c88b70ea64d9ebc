//! Results of a device against those of the host.

use half::{bf16, f16};
use hologram_kernels::device::{self, DeviceSpan};
use hologram_kernels::host::{self, HostSpan};
use hologram_kernels::{BinaryOp, MapOp, Operation, Ty};
use openvm_metal_common::{CommandStream, MetalBuffer};

use super::operations::elementwise;
use super::{bytes_of, data, Outcome, F32};

const FLOATS: [Ty; 4] = [F32, Ty::F64, Ty::F16, Ty::Bf16];

/// Every operation at a size that fills no tile, against the host.
pub fn check_device(stream: &CommandStream) -> Outcome<()> {
    let mut operations: Vec<Operation> = elementwise(100_003).into_iter().map(|o| o.1).collect();
    for &op in MapOp::ALL {
        for ty in FLOATS {
            operations.push(Operation::Map {
                op,
                ty,
                count: 100_003,
            });
        }
    }
    for &op in BinaryOp::ALL {
        for ty in FLOATS {
            operations.push(Operation::MapBinary {
                op,
                ty,
                count: 100_003,
            });
        }
    }
    for (m, n, k) in [
        (1, 1, 1),
        (33, 65, 70),
        (300, 1, 5000),
        (1000, 999, 1001),
        (2047, 2049, 130),
        (1288, 1400, 264),
    ] {
        for ty in FLOATS {
            operations.push(Operation::Gemm { ty, m, n, k });
        }
    }
    let count = operations.len();
    for operation in operations {
        let size = operation.ty().size();
        let mut host: Vec<Vec<u64>> = Vec::new();
        let mut buffers = Vec::new();
        for bytes in bytes_of(&operation) {
            let values = data(bytes.div_ceil(size));
            let raw: Vec<u8> = match operation.ty() {
                Ty::F16 => values
                    .iter()
                    .flat_map(|&x| f16::from_f32(x).to_le_bytes())
                    .collect(),
                Ty::Bf16 => values
                    .iter()
                    .flat_map(|&x| bf16::from_f32(x).to_le_bytes())
                    .collect(),
                Ty::F64 => values
                    .iter()
                    .flat_map(|&x| f64::from(x).to_le_bytes())
                    .collect(),
                _ => data(bytes.div_ceil(4))
                    .iter()
                    .flat_map(|x| x.to_le_bytes())
                    .collect(),
            };
            buffers.push(MetalBuffer::from_host(stream, &raw)?);
            let words = raw.chunks(8).map(|c| {
                c.iter()
                    .rev()
                    .fold(0u64, |word, &byte| word << 8 | u64::from(byte))
            });
            host.push(words.collect());
        }
        let spans: Vec<DeviceSpan<'_>> = buffers
            .iter()
            .map(|buffer| DeviceSpan {
                memory: buffer.as_slice(),
                offset: 0,
            })
            .collect();
        let launched = device::run(&operation, stream, &spans)?;
        if launched.divided_by_zero(stream)? {
            return Err(format!("{operation:?}: division by zero").into());
        }
        let written = bytes_of(&operation)[0];
        let out = buffers[0].to_host(stream)?;
        let spans: Vec<HostSpan> = host
            .iter_mut()
            .map(|words| HostSpan {
                ptr: words.as_mut_ptr().cast(),
                len: words.len() * 8,
            })
            .collect();
        // SAFETY: separate vectors that live.
        unsafe { host::run(&operation, &spans) }?;
        let expected: Vec<u8> = host[0].iter().flat_map(|word| word.to_le_bytes()).collect();
        compare(&operation, &out[..written], &expected[..written])?;
    }
    println!("{count} operations agree with the host");
    Ok(())
}

fn compare(operation: &Operation, device: &[u8], host: &[u8]) -> Outcome<()> {
    let ty = operation.ty();
    if ty.is_int() {
        return if device == host {
            Ok(())
        } else {
            Err(format!("{operation:?} differs").into())
        };
    }
    let values = |bytes: &[u8]| -> Vec<f64> {
        let chunks = bytes.chunks_exact(ty.size());
        match ty {
            Ty::F16 => chunks
                .map(|c| f16::from_le_bytes([c[0], c[1]]).into())
                .collect(),
            Ty::Bf16 => chunks
                .map(|c| bf16::from_le_bytes([c[0], c[1]]).into())
                .collect(),
            F32 => chunks
                .map(|c| f32::from_le_bytes([c[0], c[1], c[2], c[3]]).into())
                .collect(),
            _ => chunks
                .map(|c| f64::from_le_bytes([c[0], c[1], c[2], c[3], c[4], c[5], c[6], c[7]]))
                .collect(),
        }
    };
    // Normalised values are differences of numbers around 1: their errors do not shrink with them.
    let least = match operation {
        Operation::LayerNorm { .. } => 1.0,
        _ => 1e-3,
    };
    let bound = match operation {
        Operation::LayerNorm { .. } => 1e-5,
        Operation::Map { .. } | Operation::MapBinary { .. } if ty == Ty::F64 => 2e-15,
        Operation::Map { .. } | Operation::MapBinary { .. } => 5e-7,
        _ => 1e-4,
    };
    let bound = bound
        + match ty {
            Ty::F16 => f64::from(f16::EPSILON),
            Ty::Bf16 => f64::from(bf16::EPSILON),
            _ => 0.0,
        };
    for (i, (x, y)) in values(device).into_iter().zip(values(host)).enumerate() {
        if x != y && (x - y).abs() > bound * (least + y.abs()) {
            return Err(format!("{operation:?} at {i}: {x:e}, on the host {y:e}").into());
        }
    }
    Ok(())
}
