//! Operations on operands whose type is known at run time. The typed functions beside this module
//! are made of these.

use hologram_backends::{BinaryOp, Epsilon, FaultKind, IntrinsicCall, LossOp, MapOp, ReduceOp, Ty};

use crate::buffer::Span;
use crate::error::{Error, Result};
use crate::executor::Executor;

/// Checks that the operands belong to the executor, have the type and are long enough.
fn check(exec: &Executor, ty: Ty, operands: &[(&'static str, Span<'_>, usize)]) -> Result<()> {
    for &(argument, span, needed) in operands {
        if !span.buffer().belongs_to(exec) {
            return Err(Error::ForeignBuffer { argument });
        }
        let actual = span.buffer().ty();
        if actual != ty {
            return Err(Error::TypeMismatch {
                argument,
                expected: ty,
                actual,
            });
        }
        if span.len() < needed {
            return Err(Error::BufferTooSmall {
                argument,
                needed,
                len: span.len(),
            });
        }
    }
    Ok(())
}

/// Starts a call whose operands were checked, the written one last.
fn call(
    exec: &Executor,
    operands: &[(&'static str, Span<'_>, usize)],
    call: &IntrinsicCall,
) -> Result<()> {
    let bytes = |handle| {
        let mut spans = operands.iter().map(|(_, span, _)| span.buffer());
        let buffer = spans.find(|buffer| buffer.handle() == handle)?;
        Some(buffer.size_bytes() as u64)
    };
    let overlap = match call.check_form() {
        Ok(()) => call.check_operands(bytes),
        // The backend says so.
        Err(_) => Ok(()),
    };
    if let Err(FaultKind::OverlappingOperands { read, .. }) = overlap {
        let shared = operands
            .iter()
            .find(|(_, span, _)| span.buffer().handle().raw() == read);
        let (input, output) = (shared.map(|o| o.0), operands.last().map(|o| o.0));
        if let (Some(input), Some(output)) = (input, output) {
            return Err(Error::Aliased { output, input });
        }
    }
    exec.call(call)
}

fn extent(what: &'static str, value: usize) -> Result<u32> {
    u32::try_from(value).map_err(|_| Error::TooLarge {
        what,
        elements: value as u128,
    })
}

fn product(what: &'static str, a: usize, b: usize) -> Result<usize> {
    a.checked_mul(b).ok_or(Error::TooLarge {
        what,
        elements: a as u128 * b as u128,
    })
}

/// `dst[i]` = `op` of `src[i]` for `n` elements; in place is allowed.
///
/// # Errors
/// Wrong operands; a type that `op` does not allow.
pub fn map(exec: &Executor, op: MapOp, src: Span<'_>, dst: Span<'_>, n: usize) -> Result<()> {
    let ty = src.buffer().ty();
    let operands = [("a", src, n), ("c", dst, n)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Map {
        op,
        ty,
        dst: dst.operand(),
        src: src.operand(),
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// `dst[i]` = `a[i]` `op` `b[i]` for `n` elements; in place is allowed.
///
/// # Errors
/// Wrong operands; a type that `op` does not allow; an integer division by zero.
pub fn map2(
    exec: &Executor,
    op: BinaryOp,
    a: Span<'_>,
    b: Span<'_>,
    dst: Span<'_>,
    n: usize,
) -> Result<()> {
    let ty = a.buffer().ty();
    let operands = [("a", a, n), ("b", b, n), ("c", dst, n)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::MapBinary {
        op,
        ty,
        dst: dst.operand(),
        a: a.operand(),
        b: b.operand(),
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// `dst[i]` = `src[i]` `op` `value` for `n` elements; `value` is the bits of an element.
///
/// # Errors
/// Wrong operands; a type that `op` does not allow; an integer division by zero.
pub fn map_scalar(
    exec: &Executor,
    op: BinaryOp,
    src: Span<'_>,
    dst: Span<'_>,
    value: u64,
    n: usize,
) -> Result<()> {
    let ty = src.buffer().ty();
    let operands = [("a", src, n), ("c", dst, n)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::MapScalar {
        op,
        ty,
        dst: dst.operand(),
        src: src.operand(),
        value,
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// `dst[i]` = `src[i]` bounded by `low` and `high`, the bits of elements.
///
/// # Errors
/// Wrong operands; a type that is not computed with.
pub fn clip(
    exec: &Executor,
    src: Span<'_>,
    dst: Span<'_>,
    (low, high): (u64, u64),
    n: usize,
) -> Result<()> {
    let ty = src.buffer().ty();
    let operands = [("a", src, n), ("c", dst, n)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Clip {
        ty,
        dst: dst.operand(),
        src: src.operand(),
        low,
        high,
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// `dst[i]` = `value`, the bits of an element.
///
/// # Errors
/// Wrong operands.
pub fn fill(exec: &Executor, dst: Span<'_>, value: u64, n: usize) -> Result<()> {
    let ty = dst.buffer().ty();
    let operands = [("dst", dst, n)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Fill {
        ty,
        dst: dst.operand(),
        value,
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// `dst[i]` = `src[i]` for `n` elements.
///
/// # Errors
/// Wrong operands; ranges that overlap.
pub fn copy(exec: &Executor, src: Span<'_>, dst: Span<'_>, n: usize) -> Result<()> {
    let ty = src.buffer().ty();
    check(exec, ty, &[("src", src, n), ("dst", dst, n)])?;
    let len = n * ty.size();
    let (from, to) = (src.byte_offset(), dst.byte_offset());
    if src.buffer().same_memory(dst.buffer()) && from < to + len && to < from + len {
        return Err(Error::Aliased {
            output: "dst",
            input: "src",
        });
    }
    let mut state = exec.shared().lock();
    state
        .backend
        .copy_buffer(src.buffer().handle(), from, dst.buffer().handle(), to, len)?;
    state.stats.bytes_on_device += len as u64;
    Ok(())
}

/// `dst[0]` = fold of `n` elements of `src`.
///
/// # Errors
/// Wrong operands; a type that is not computed with.
pub fn reduce(exec: &Executor, op: ReduceOp, src: Span<'_>, dst: Span<'_>, n: usize) -> Result<()> {
    let ty = src.buffer().ty();
    let operands = [("input", src, n), ("output", dst, 1)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Reduce {
        op,
        ty,
        dst: dst.operand(),
        src: src.operand(),
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// `dst[0]` = mean loss over `n` predictions and targets.
///
/// # Errors
/// Wrong operands; another type than `f32` and `f64`.
pub fn loss(
    exec: &Executor,
    op: LossOp,
    predicted: Span<'_>,
    target: Span<'_>,
    dst: Span<'_>,
    n: usize,
) -> Result<()> {
    let ty = predicted.buffer().ty();
    let operands = [
        ("predicted", predicted, n),
        ("target", target, n),
        ("output", dst, 1),
    ];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Loss {
        op,
        ty,
        dst: dst.operand(),
        predicted: predicted.operand(),
        target: target.operand(),
        count: n as u64,
    };
    call(exec, &operands, &operation)
}

/// Each of `rows` rows of `cols`: exp(x - max) / sum of them; in place is allowed.
///
/// # Errors
/// Wrong operands; another type than `f32` and `f64`.
pub fn softmax(
    exec: &Executor,
    src: Span<'_>,
    dst: Span<'_>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    let ty = src.buffer().ty();
    let n = product("rows x cols", rows, cols)?;
    let operands = [("input", src, n), ("output", dst, n)];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Softmax {
        ty,
        dst: dst.operand(),
        src: src.operand(),
        rows: extent("rows", rows)?,
        cols: extent("cols", cols)?,
    };
    call(exec, &operands, &operation)
}

/// Operands and sizes of [`layer_norm`].
#[derive(Clone, Copy, Debug)]
pub struct LayerNorm<'a> {
    /// `rows` x `cols`, read.
    pub input: Span<'a>,
    /// Factors, `cols`.
    pub gamma: Span<'a>,
    /// Summands, `cols`.
    pub beta: Span<'a>,
    /// `rows` x `cols`, written; may be the input.
    pub output: Span<'a>,
    /// Rows.
    pub rows: usize,
    /// Elements of a row.
    pub cols: usize,
    /// Added to the variance; finite, not negative.
    pub epsilon: f64,
}

/// Each row: (x - mean) / sqrt(variance + epsilon) * gamma + beta.
///
/// # Errors
/// Wrong operands; another type than `f32` and `f64`.
pub fn layer_norm(exec: &Executor, norm: LayerNorm<'_>) -> Result<()> {
    let ty = norm.input.buffer().ty();
    if !(norm.epsilon.is_finite() && norm.epsilon >= 0.0) {
        return Err(Error::InvalidArgument {
            argument: "epsilon",
            reason: format!("{}, must be finite and not negative", norm.epsilon),
        });
    }
    let n = product("rows x cols", norm.rows, norm.cols)?;
    let operands = [
        ("input", norm.input, n),
        ("gamma", norm.gamma, norm.cols),
        ("beta", norm.beta, norm.cols),
        ("output", norm.output, n),
    ];
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::LayerNorm {
        ty,
        dst: norm.output.operand(),
        src: norm.input.operand(),
        gamma: norm.gamma.operand(),
        beta: norm.beta.operand(),
        rows: extent("rows", norm.rows)?,
        cols: extent("cols", norm.cols)?,
        epsilon: Epsilon::new(norm.epsilon),
    };
    call(exec, &operands, &operation)
}

/// `c` (m x n) = `a` (m x k) times `b` (k x n), all row-major; `sizes` is (m, k, n).
///
/// # Errors
/// Wrong operands; `c` shares memory with a factor; a type that is no float.
pub fn gemm(
    exec: &Executor,
    a: Span<'_>,
    b: Span<'_>,
    c: Span<'_>,
    sizes @ (m, k, n): (usize, usize, usize),
) -> Result<()> {
    let operands = [
        ("a", a, product("m x k", m, k)?),
        ("b", b, product("k x n", k, n)?),
        ("c", c, product("m x n", m, n)?),
    ];
    multiply(exec, operands, sizes)
}

/// `y` (m) = `a` (m x n, row-major) times `x` (n).
///
/// # Errors
/// Wrong operands; `y` shares memory with a factor; a type that is no float.
pub fn matvec(
    exec: &Executor,
    a: Span<'_>,
    x: Span<'_>,
    y: Span<'_>,
    (m, n): (usize, usize),
) -> Result<()> {
    let operands = [("a", a, product("m x n", m, n)?), ("x", x, n), ("y", y, m)];
    multiply(exec, operands, (m, n, 1))
}

/// The product of two matrices: left and right factor, then what is written.
fn multiply(
    exec: &Executor,
    operands: [(&'static str, Span<'_>, usize); 3],
    (m, k, n): (usize, usize, usize),
) -> Result<()> {
    let [a, b, c] = operands.map(|(_, span, _)| span);
    let ty = a.buffer().ty();
    check(exec, ty, &operands)?;
    let operation = IntrinsicCall::Gemm {
        ty,
        c: c.operand(),
        a: a.operand(),
        b: b.operand(),
        m: extent("m", m)?,
        n: extent("n", n)?,
        k: extent("k", k)?,
    };
    call(exec, &operands, &operation)
}
