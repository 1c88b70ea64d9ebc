//! Kernels on the CPU device, also in conformance mode, against the operations on host memory.

mod calls;
mod elementwise;
mod folds;
mod products;
mod rows;

use half::{bf16, f16};
use openvm_metal_common::{Device, InjectedFault, MetalBuffer, MetalContext};

use super::{run, DeviceError, DeviceSpan, LIBRARY};
use crate::host::{self, HostSpan};
use crate::{Operation, Ty};

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
        Ty::F16 => f16::from_f64(unit()).to_le_bytes().to_vec(),
        Ty::Bf16 => bf16::from_f64(unit()).to_le_bytes().to_vec(),
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
        Ty::F16 => chunks
            .map(|c| f16::from_le_bytes(c.try_into().expect("2 bytes")).into())
            .collect(),
        Ty::Bf16 => chunks
            .map(|c| bf16::from_le_bytes(c.try_into().expect("2 bytes")).into())
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

/// Device and host agree: integers exactly, floats within `relative` (and `absolute`), halves also to one place.
fn same(operation: &Operation, device: &[u8], host: &[u8], relative: f64, absolute: f64) {
    let ty = operation.ty();
    if ty.is_int() {
        assert!(device == host, "{operation:?}");
        return;
    }
    let relative = relative
        + match ty {
            Ty::F16 => f64::from(f16::EPSILON),
            Ty::Bf16 => f64::from(bf16::EPSILON),
            _ => 0.0,
        };
    // The place of the smallest halves.
    let absolute = if ty == Ty::F16 {
        absolute.max(6e-8)
    } else {
        absolute
    };
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

const FLOATS: [Ty; 4] = [Ty::F32, Ty::F64, Ty::F16, Ty::Bf16];
