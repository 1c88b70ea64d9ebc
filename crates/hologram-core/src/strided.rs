//! Dense copies of strided views, and conversions: programs of a lane for each element.

use std::fmt::Write;

use hologram_backends::{ExecutionParams, LaunchConfig, Program, Register, Ty};

use crate::buffer::DynBuffer;
use crate::device::BackendType;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::layout::Layout;

/// Registers of the extents, and of the strides in bytes, dimension by dimension. Merged dimensions
/// have at least 2 indices each, so there are fewer than 64.
const EXTENTS: usize = 16;
const STRIDES: usize = 96;
/// Lanes of a block.
const BLOCK: u32 = 256;

/// Copies the view `layout` of `src` to `dst`, dense and row-major from element 0 on.
///
/// # Errors
/// Buffers of different types, a `dst` that is too short, out of memory, the device.
pub fn gather(exec: &Executor, src: &DynBuffer, layout: &Layout, dst: &DynBuffer) -> Result<()> {
    let n = layout.numel();
    if dst.ty() != src.ty() {
        return Err(Error::TypeMismatch {
            argument: "dst",
            expected: src.ty(),
            actual: dst.ty(),
        });
    }
    dst.slice(0, n)?;
    let merged = layout.coalesced();
    if n == 0 {
        return Ok(());
    }
    if merged.is_contiguous() {
        return crate::ops::raw::copy(exec, src.slice(merged.offset(), n)?, dst.span(), n);
    }
    if exec.backend_type() == BackendType::Cpu {
        return gather_on_host(src, &merged, dst);
    }
    let (program, params) = lane_program(src, &merged, dst)?;
    exec.submit(&program, &params)
}

/// Writes `n` elements of `src` to `dst`, converted to its type as `cvt` does: integers are cut or
/// extended, floats rounded to the nearest, floats to integers truncated and bounded, NaN is 0.
///
/// # Errors
/// Buffers that are too short or of another executor, the device.
pub fn cast(exec: &Executor, src: &DynBuffer, dst: &DynBuffer, n: usize) -> Result<()> {
    if src.ty() == dst.ty() {
        return crate::ops::raw::copy(exec, src.span(), dst.span(), n);
    }
    for (argument, buffer) in [("src", src), ("dst", dst)] {
        if !buffer.belongs_to(exec) {
            return Err(Error::ForeignBuffer { argument });
        }
        if buffer.len() < n {
            return Err(Error::BufferTooSmall {
                argument,
                needed: n,
                len: buffer.len(),
            });
        }
    }
    if n == 0 {
        return Ok(());
    }
    let (from, to) = (src.ty(), dst.ty());
    let text = format!(
        "set.ge.u64 p0, r255, r3\n bra @end, p0\n mul.u64 r6, r255, r4\n ldg.{from} r7, [r1 + r6]\n \
         cvt.{to}.{from} r8, r7\n mul.u64 r6, r255, r5\n stg.{to} r8, [r2 + r6]\n@end:\n"
    );
    let params = ExecutionParams::new(LaunchConfig::linear(n as u64, BLOCK))
        .with_u64(Register::new(1), src.handle().raw())
        .with_u64(Register::new(2), dst.handle().raw())
        .with_u64(Register::new(3), n as u64)
        .with_u64(Register::new(4), from.size() as u64)
        .with_u64(Register::new(5), to.size() as u64);
    exec.submit(&text.parse()?, &params)
}

/// A lane for each element: it finds its index in each dimension, loads and stores.
pub(crate) fn lane_program(
    src: &DynBuffer,
    layout: &Layout,
    dst: &DynBuffer,
) -> Result<(Program, ExecutionParams)> {
    let size = src.element_size();
    let ty = match size {
        1 => Ty::U8,
        2 => Ty::U16,
        4 => Ty::U32,
        _ => Ty::U64,
    };
    let n = layout.numel() as u64;
    let mut text = String::from(
        "set.ge.u64 p0, r255, r3\n bra @end, p0\n mov.u64 r5, r255\n mov.u64 r6, r4\n",
    );
    let mut params = ExecutionParams::new(LaunchConfig::linear(n, BLOCK))
        .with_u64(Register::new(1), src.handle().raw())
        .with_u64(Register::new(2), dst.handle().raw())
        .with_u64(Register::new(3), n)
        .with_u64(Register::new(4), (layout.offset() * size) as u64)
        .with_u64(Register::new(10), size as u64);
    for d in (0..layout.ndim()).rev() {
        let (extent, stride) = (EXTENTS + d, STRIDES + d);
        // r5: index over dimensions 0 to d. Writing to a string cannot fail.
        let _ = if d > 0 {
            write!(
                text,
                "div.u64 r7, r5, r{extent}\n mul.u64 r8, r7, r{extent}\n sub.u64 r8, r5, r8\n \
                 mul.u64 r8, r8, r{stride}\n add.u64 r6, r6, r8\n mov.u64 r5, r7\n"
            )
        } else {
            write!(text, "mul.u64 r8, r5, r{stride}\n add.u64 r6, r6, r8\n")
        };
        // Negative strides wrap, as the additions do.
        let bytes = (layout.strides()[d] as i64).wrapping_mul(size as i64) as u64;
        params = params
            .with_u64(Register::new(extent as u8), layout.shape()[d] as u64)
            .with_u64(Register::new(stride as u8), bytes);
    }
    let _ = write!(
        text,
        "ldg.{ty} r9, [r1 + r6]\n mul.u64 r8, r255, r10\n stg.{ty} r9, [r2 + r8]\n@end:\n"
    );
    Ok((text.parse()?, params))
}

/// The same for a backend whose memory is the host's.
fn gather_on_host(src: &DynBuffer, layout: &Layout, dst: &DynBuffer) -> Result<()> {
    let size = src.element_size();
    let (low, high) = layout.reach();
    let mut input = vec![0u8; (high - low + 1) * size];
    src.read_bytes(low * size, &mut input)?;
    let mut output = vec![0u8; layout.numel() * size];
    let first = layout.offset() - low;
    match size {
        1 => walk::<1>(&input, &mut output, layout, first),
        2 => walk::<2>(&input, &mut output, layout, first),
        4 => walk::<4>(&input, &mut output, layout, first),
        _ => walk::<8>(&input, &mut output, layout, first),
    }
    dst.write_bytes(0, &output)
}

/// Elements of `SIZE` bytes in row-major order of `layout`, which begins at element `first`.
fn walk<const SIZE: usize>(input: &[u8], output: &mut [u8], layout: &Layout, first: usize) {
    let (shape, strides) = (layout.shape(), layout.strides());
    let last = shape.len() - 1;
    let mut index = vec![0usize; last];
    let mut row = first;
    for line in output.chunks_exact_mut(shape[last] * SIZE) {
        let mut at = row;
        for element in line.chunks_exact_mut(SIZE) {
            element.copy_from_slice(&input[at * SIZE..at * SIZE + SIZE]);
            at = at.wrapping_add_signed(strides[last]);
        }
        // The next index over all dimensions but the last, the last of them fastest.
        for d in (0..last).rev() {
            index[d] += 1;
            row = row.wrapping_add_signed(strides[d]);
            if index[d] < shape[d] {
                break;
            }
            row = row.wrapping_add_signed(strides[d].wrapping_mul(-(shape[d] as isize)));
            index[d] = 0;
        }
    }
}
