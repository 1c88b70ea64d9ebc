//! Operations by name; `hologram.ops` has one function for each, which a test compares with [`operations`].

use hologram_backends::{BinaryOp, LossOp, MapOp, Operation, ReduceOp};
use hologram_core::ops::raw;
use hologram_core::{strided, DynBuffer, Executor};
use pyo3::prelude::*;

use crate::arguments::{self, size};
use crate::buffer::PyBuffer;
use crate::dtype;
use crate::errors::{exception, OrRaise};
use crate::executor::PyExecutor;

/// The value called `name`, if the operation has it.
fn named<T>(name: &str, find: fn(&str) -> Option<T>) -> PyResult<T> {
    find(name).ok_or_else(|| exception("ArgumentError", format!("no operation `{name}`")))
}

/// Elements to use: `n`, or the length that all buffers have.
fn length(n: Option<&Bound<'_, PyAny>>, buffers: &[&DynBuffer]) -> PyResult<usize> {
    if let Some(n) = arguments::optional_size("n", n)? {
        return Ok(n);
    }
    let len = buffers.first().map_or(0, |buffer| buffer.len());
    if buffers.iter().any(|buffer| buffer.len() != len) {
        let lens: Vec<_> = buffers.iter().map(|buffer| buffer.len()).collect();
        let message = format!("n: give it, the buffers have {lens:?} elements");
        return Err(exception("ShapeError", message));
    }
    Ok(len)
}

/// Target of a fold: `out`, or a new element.
fn output(
    py: Python<'_>,
    exec: &Executor,
    out: Option<&PyBuffer>,
    like: &DynBuffer,
) -> PyResult<DynBuffer> {
    match out {
        Some(out) => out.get(),
        None => py.detach(|| exec.allocate_dyn(like.ty(), 1)).or_raise(),
    }
}

/// Element 0 as a number.
fn first(py: Python<'_>, buffer: &DynBuffer) -> PyResult<Py<PyAny>> {
    let mut bytes = [0; 8];
    let size = buffer.element_size();
    py.detach(|| buffer.read_bytes(0, &mut bytes[..size]))
        .or_raise()?;
    dtype::from_bits(py, buffer.ty(), u64::from_le_bytes(bytes))
}

/// The table of whole-buffer operations: mnemonic, names of the operation that it may have, what it computes.
#[pyfunction]
pub fn operations() -> Vec<(&'static str, Vec<&'static str>, &'static str)> {
    let row = |form: &hologram_backends::Form| {
        let mut words = std::iter::zip(form.words, form.choices);
        let named = words.find(|(&word, _)| word == "op");
        let names = named.map_or_else(Vec::new, |(_, names)| names.to_vec());
        (form.mnemonic, names, form.meaning.trim())
    };
    Operation::FORMS.iter().map(row).collect()
}

#[pyfunction]
#[pyo3(signature = (ex, op, a, c, n = None))]
pub fn unary(
    py: Python<'_>,
    ex: &PyExecutor,
    op: &str,
    a: &PyBuffer,
    c: &PyBuffer,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let op = named(op, MapOp::from_name)?;
    let (exec, a, c) = (ex.get()?, a.get()?, c.get()?);
    let n = length(n, &[&a, &c])?;
    py.detach(|| raw::map(&exec, op, a.span(), c.span(), n))
        .or_raise()
}

#[pyfunction]
#[pyo3(signature = (ex, op, a, b, c, n = None))]
pub fn binary(
    py: Python<'_>,
    ex: &PyExecutor,
    op: &str,
    a: &PyBuffer,
    b: &PyBuffer,
    c: &PyBuffer,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let op = named(op, BinaryOp::from_name)?;
    let (exec, a, b, c) = (ex.get()?, a.get()?, b.get()?, c.get()?);
    let n = length(n, &[&a, &b, &c])?;
    py.detach(|| raw::map2(&exec, op, a.span(), b.span(), c.span(), n))
        .or_raise()
}

#[pyfunction]
#[pyo3(signature = (ex, op, a, c, scalar, n = None))]
pub fn scalar(
    py: Python<'_>,
    ex: &PyExecutor,
    op: &str,
    a: &PyBuffer,
    c: &PyBuffer,
    scalar: &Bound<'_, PyAny>,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let op = named(op, BinaryOp::from_name)?;
    let (exec, a, c) = (ex.get()?, a.get()?, c.get()?);
    let n = length(n, &[&a, &c])?;
    let bits = dtype::to_bits(a.ty(), scalar)?;
    py.detach(|| raw::map_scalar(&exec, op, a.span(), c.span(), bits, n))
        .or_raise()
}

#[pyfunction]
#[pyo3(signature = (ex, a, c, low, high, n = None))]
pub fn clip(
    py: Python<'_>,
    ex: &PyExecutor,
    a: &PyBuffer,
    c: &PyBuffer,
    low: &Bound<'_, PyAny>,
    high: &Bound<'_, PyAny>,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (exec, a, c) = (ex.get()?, a.get()?, c.get()?);
    let n = length(n, &[&a, &c])?;
    let bounds = (dtype::to_bits(a.ty(), low)?, dtype::to_bits(a.ty(), high)?);
    py.detach(|| raw::clip(&exec, a.span(), c.span(), bounds, n))
        .or_raise()
}

#[pyfunction]
#[pyo3(signature = (ex, src, dst, n = None))]
pub fn copy(
    py: Python<'_>,
    ex: &PyExecutor,
    src: &PyBuffer,
    dst: &PyBuffer,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (exec, src, dst) = (ex.get()?, src.get()?, dst.get()?);
    let n = length(n, &[&src, &dst])?;
    py.detach(|| raw::copy(&exec, src.span(), dst.span(), n))
        .or_raise()
}

#[pyfunction]
#[pyo3(signature = (ex, src, dst, n = None))]
pub fn cast(
    py: Python<'_>,
    ex: &PyExecutor,
    src: &PyBuffer,
    dst: &PyBuffer,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let (exec, src, dst) = (ex.get()?, src.get()?, dst.get()?);
    let n = length(n, &[&src, &dst])?;
    py.detach(|| strided::cast(&exec, &src, &dst, n)).or_raise()
}

#[pyfunction]
#[pyo3(signature = (ex, op, input, output = None, n = None))]
pub fn reduce(
    py: Python<'_>,
    ex: &PyExecutor,
    op: &str,
    input: &PyBuffer,
    output: Option<&PyBuffer>,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let op = named(op, ReduceOp::from_name)?;
    let (exec, input) = (ex.get()?, input.get()?);
    let out = self::output(py, &exec, output, &input)?;
    let n = length(n, &[&input])?;
    py.detach(|| raw::reduce(&exec, op, input.span(), out.span(), n))
        .or_raise()?;
    first(py, &out)
}

#[pyfunction]
#[pyo3(signature = (ex, op, predicted, target, output = None, n = None))]
pub fn loss(
    py: Python<'_>,
    ex: &PyExecutor,
    op: &str,
    predicted: &PyBuffer,
    target: &PyBuffer,
    output: Option<&PyBuffer>,
    n: Option<&Bound<'_, PyAny>>,
) -> PyResult<Py<PyAny>> {
    let op = named(op, LossOp::from_name)?;
    let (exec, predicted, target) = (ex.get()?, predicted.get()?, target.get()?);
    let out = self::output(py, &exec, output, &predicted)?;
    let n = length(n, &[&predicted, &target])?;
    py.detach(|| raw::loss(&exec, op, predicted.span(), target.span(), out.span(), n))
        .or_raise()?;
    first(py, &out)
}

#[pyfunction]
pub fn softmax(
    py: Python<'_>,
    ex: &PyExecutor,
    input: &PyBuffer,
    output: &PyBuffer,
    rows: &Bound<'_, PyAny>,
    cols: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (exec, input, output) = (ex.get()?, input.get()?, output.get()?);
    let (rows, cols) = (size("rows", rows)?, size("cols", cols)?);
    py.detach(|| raw::softmax(&exec, input.span(), output.span(), rows, cols))
        .or_raise()
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "arguments of Python")]
pub fn layer_norm(
    py: Python<'_>,
    ex: &PyExecutor,
    input: &PyBuffer,
    gamma: &PyBuffer,
    beta: &PyBuffer,
    output: &PyBuffer,
    rows: &Bound<'_, PyAny>,
    cols: &Bound<'_, PyAny>,
    epsilon: f64,
) -> PyResult<()> {
    let (exec, input, output) = (ex.get()?, input.get()?, output.get()?);
    let (gamma, beta) = (gamma.get()?, beta.get()?);
    let (rows, cols) = (size("rows", rows)?, size("cols", cols)?);
    let norm = raw::LayerNorm {
        input: input.span(),
        gamma: gamma.span(),
        beta: beta.span(),
        output: output.span(),
        rows,
        cols,
        epsilon,
    };
    py.detach(|| raw::layer_norm(&exec, norm)).or_raise()
}

#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "arguments of Python")]
pub fn gemm(
    py: Python<'_>,
    ex: &PyExecutor,
    a: &PyBuffer,
    b: &PyBuffer,
    c: &PyBuffer,
    m: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
    k: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (exec, a, b, c) = (ex.get()?, a.get()?, b.get()?, c.get()?);
    let (m, n, k) = (size("m", m)?, size("n", n)?, size("k", k)?);
    py.detach(|| raw::gemm(&exec, a.span(), b.span(), c.span(), (m, k, n)))
        .or_raise()
}

#[pyfunction]
pub fn matvec(
    py: Python<'_>,
    ex: &PyExecutor,
    a: &PyBuffer,
    x: &PyBuffer,
    y: &PyBuffer,
    m: &Bound<'_, PyAny>,
    n: &Bound<'_, PyAny>,
) -> PyResult<()> {
    let (exec, a, x, y) = (ex.get()?, a.get()?, x.get()?, y.get()?);
    let (m, n) = (size("m", m)?, size("n", n)?);
    py.detach(|| raw::matvec(&exec, a.span(), x.span(), y.span(), (m, n)))
        .or_raise()
}
