//! An operation on a device and on the host, and the difference of the results.

use half::{bf16, f16};
use hologram_kernels::device::{self, DeviceError, DeviceSpan};
use hologram_kernels::host::{self, HostError, HostSpan};
use hologram_kernels::{Operation, Ty};
use openvm_metal_common::{MetalBuffer, MetalContext};

use crate::Numbers;

/// Byte before and after the operands of [`on_device`].
const AROUND: u8 = 0x5a;
/// Bytes behind each operand.
const BEHIND: usize = 40;

/// Bytes of `count` elements that look random; floats are between -4 and 4.
pub fn random(ty: Ty, count: usize, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let mut unit = || (numbers.bits() >> 11) as f64 / (1u64 << 50) as f64 - 4.0;
    let bytes = (0..count).flat_map(|_| match ty {
        Ty::F32 => (unit() as f32).to_le_bytes().to_vec(),
        Ty::F64 => unit().to_le_bytes().to_vec(),
        Ty::F16 => f16::from_f64(unit()).to_le_bytes().to_vec(),
        Ty::Bf16 => bf16::from_f64(unit()).to_le_bytes().to_vec(),
        _ => (unit() * 1e18).to_bits().to_le_bytes()[..ty.size()].to_vec(),
    });
    bytes.collect()
}

/// Little-endian elements as numbers; integers as if they had no sign.
pub fn elements(ty: Ty, bytes: &[u8]) -> Vec<f64> {
    let word = |c: &[u8]| c.iter().rev().fold(0u64, |w, &b| w << 8 | u64::from(b));
    let value = |c: &[u8]| match ty {
        Ty::F32 => f64::from(f32::from_bits(word(c) as u32)),
        Ty::F64 => f64::from_bits(word(c)),
        Ty::F16 => f16::from_bits(word(c) as u16).to_f64(),
        Ty::Bf16 => bf16::from_bits(word(c) as u16).to_f64(),
        _ => word(c) as f64,
    };
    bytes.chunks_exact(ty.size()).map(value).collect()
}

/// Result of an operation on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceResult {
    /// Bytes of the operand that is written.
    pub bytes: Vec<u8>,
    /// An integer was divided by zero.
    pub divided_by_zero: bool,
    /// Bytes in front of and behind the written operand are as before.
    pub around_is_whole: bool,
}

/// Runs an operation on a device, each operand in a buffer of its own from element `shift` on.
///
/// # Errors
/// The device's, or that it has no kernel for the operation.
pub fn on_device(
    context: &MetalContext,
    operation: &Operation,
    read: &[Vec<u8>],
    shift: usize,
) -> Result<DeviceResult, DeviceError> {
    let stream = context.stream();
    let (lengths, _) = operation.lengths();
    let written = lengths[0] as usize * operation.ty().size();
    let offset = shift * operation.ty().size();
    let result = vec![0xa5u8; written];
    let mut buffers: Vec<MetalBuffer<u8>> = Vec::new();
    for bytes in std::iter::once(&result).chain(read) {
        let mut padded = vec![AROUND; offset];
        padded.extend_from_slice(bytes);
        padded.extend([AROUND; BEHIND]);
        buffers.push(MetalBuffer::from_host(&stream, &padded).map_err(DeviceError::Device)?);
    }
    let span = |buffer| DeviceSpan {
        memory: MetalBuffer::as_slice(buffer),
        offset,
    };
    let spans: Vec<DeviceSpan<'_>> = buffers.iter().map(span).collect();
    let launched = device::run(operation, &stream, &spans)?;
    let divided_by_zero = launched
        .divided_by_zero(&stream)
        .map_err(DeviceError::Device)?;
    let out = buffers[0].to_host(&stream).map_err(DeviceError::Device)?;
    let (before, rest) = out.split_at(offset);
    let (bytes, behind) = rest.split_at(written);
    Ok(DeviceResult {
        bytes: bytes.to_vec(),
        divided_by_zero,
        around_is_whole: before.iter().chain(behind).all(|&b| b == AROUND),
    })
}

/// Runs an operation on the host's memory: the bytes of the operand that is written.
///
/// # Errors
/// A division by zero.
pub fn on_host(operation: &Operation, read: &[Vec<u8>]) -> Result<Vec<u8>, HostError> {
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
    // SAFETY: each span is a vector of its own with `len` bytes, which lives until the operation has ended.
    unsafe { host::run(operation, &spans) }?;
    let bytes = all[0].iter().flat_map(|word| word.to_le_bytes());
    Ok(bytes.take(written).collect())
}

/// Greatest difference of a float from the host's `y`: `relative * |y| + absolute`, and one place of a half more.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Part relative to the host's value.
    pub relative: f64,
    /// Besides.
    pub absolute: f64,
    /// Zeros stand for subnormals of `f32` and `bf16`: the device flushes them.
    pub flushes: bool,
}

impl Tolerance {
    /// With the rounding of a type of two bytes.
    fn rounded(self, ty: Ty) -> Self {
        let place = match ty {
            Ty::F16 => f64::from(f16::EPSILON),
            Ty::Bf16 => f64::from(bf16::EPSILON),
            _ => 0.0,
        };
        // The place of the smallest halves.
        let least = if ty == Ty::F16 { 6e-8 } else { 0.0 };
        Self {
            relative: self.relative + place,
            absolute: self.absolute.max(least),
            ..self
        }
    }
}

/// The first element of the device that is not the host's, in words; `None` if all are.
pub fn difference(ty: Ty, device: &[u8], host: &[u8], tolerance: Tolerance) -> Option<String> {
    compared(ty, device, host, tolerance).err()
}

/// Number of elements that are right with subnormals flushed alone.
///
/// # Errors
/// The first element of the device that is not the host's, in words.
pub fn compared(ty: Ty, device: &[u8], host: &[u8], tolerance: Tolerance) -> Result<usize, String> {
    if device.len() != host.len() {
        return Err(format!(
            "{} bytes, on the host {}",
            device.len(),
            host.len()
        ));
    }
    if ty.is_int() {
        let size = ty.size();
        let Some(at) = device.iter().zip(host).position(|(d, h)| d != h) else {
            return Ok(0);
        };
        let at = at / size;
        let hex = |bytes: &[u8]| {
            let digits = bytes[at * size..][..size].iter().rev();
            digits.map(|b| format!("{b:02x}")).collect::<String>()
        };
        return Err(format!(
            "at {at}: 0x{}, on the host 0x{}",
            hex(device),
            hex(host)
        ));
    }
    let Tolerance {
        relative,
        absolute,
        flushes,
    } = tolerance.rounded(ty);
    let flushes = flushes && matches!(ty, Ty::F32 | Ty::Bf16);
    let close = |x: f64, y: f64| {
        let equal = x == y || (x.is_nan() && y.is_nan());
        equal || (x - y).abs() <= relative * y.abs() + absolute
    };
    let mut flushed = 0;
    let pairs = elements(ty, device).into_iter().zip(elements(ty, host));
    for (at, (x, y)) in pairs.enumerate() {
        if close(x, y) {
            continue;
        }
        if !(flushes && x == 0.0 && y.abs() < f64::from(f32::MIN_POSITIVE)) {
            return Err(format!("at {at}: {x:e}, on the host {y:e}"));
        }
        flushed += 1;
    }
    Ok(flushed)
}
