//! Dense copies of strided views, and conversions: programs of a lane for each element.

use std::fmt::Write;

use hologram_backends::{ExecutionParams, LaunchConfig, Program, Register, Ty};

use super::raw;
use crate::buffer::DynBuffer;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::expression::{self, Expression, Step, StepOp, Strided, Views};
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
        return raw::copy(exec, src.slice(merged.offset(), n)?, dst.span(), n);
    }
    if exec.backend_type().is_host() {
        return gather_on_host(exec, src, &merged, dst);
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
        return raw::copy(exec, src.span(), dst.span(), n);
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
    if let (true, Some(steps)) = (exec.backend_type().is_host(), cast_steps(from, to)) {
        let last = steps.len();
        return in_one_pass(exec, steps, last, (src, 0, &[1]), dst, &[n]);
    }
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
fn lane_program(
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
fn gather_on_host(
    exec: &Executor,
    src: &DynBuffer,
    layout: &Layout,
    dst: &DynBuffer,
) -> Result<()> {
    let from = (src, layout.offset(), layout.strides());
    in_one_pass(exec, Vec::new(), 0, from, dst, layout.shape())
}

/// Steps of a conversion that rounds once; `None` of numbers with more bits than `f32` to halves.
fn cast_steps(from: Ty, to: Ty) -> Option<Vec<Step>> {
    let step = |from: Ty, to: Ty, arg: usize| Step {
        op: StepOp::Convert(to),
        ty: from,
        args: vec![arg],
    };
    let half = |ty: Ty| !ty.is_computable();
    if half(to) && from != Ty::F32 && from.size() > 2 {
        return None;
    }
    Some(
        match half(from) && to != Ty::F32 || half(to) && from != Ty::F32 {
            true => vec![step(from, Ty::F32, 0), step(Ty::F32, to, 1)],
            false => vec![step(from, to, 0)],
        },
    )
}

/// Value number `value` of steps on the elements of a view, dense and row-major from element 0 of `dst` on.
fn in_one_pass(
    exec: &Executor,
    steps: Vec<Step>,
    value: usize,
    (src, offset, strides): (&DynBuffer, usize, &[isize]),
    dst: &DynBuffer,
    shape: &[usize],
) -> Result<()> {
    let made = Expression::new(&[src.ty()], &[], steps, vec![value], None);
    let expression = made.map_err(|error| Error::InvalidArgument {
        argument: "src",
        reason: error.to_string(),
    })?;
    let dense = Layout::contiguous(shape)?;
    expression::run(
        exec,
        &expression,
        &Views {
            shape,
            operands: &[Strided {
                buffer: src,
                offset,
                strides,
            }],
            scalars: &[],
            outputs: &[Strided {
                buffer: dst,
                offset: 0,
                strides: dense.strides(),
            }],
            folded: &vec![false; shape.len()],
            target: None,
        },
    )
}
