//! Passes on devices with memory of their own: `hologram.array.emission` writes programs of them.

use std::sync::atomic::{AtomicBool, Ordering};

use hologram_core::expression::{FoldOp, StepOp};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::device::Device;
use super::pass::Pass;
use super::value::Leaf;
use crate::buffer::PyBuffer;
use crate::dtype;
use crate::errors::exception;
use crate::names;

/// Whether every device runs programs.
static ALWAYS: AtomicBool = AtomicBool::new(false);

/// Names of steps that are neither conversions nor operations that know their own.
const NAMES: [&str; 17] = [
    "not",
    "sign",
    "trunc",
    "floor_div",
    "remainder",
    "maximum",
    "minimum",
    "and",
    "or",
    "xor",
    "shl",
    "shr",
    "eq",
    "ne",
    "lt",
    "le",
    "select",
];

/// Says whether every device runs programs, for tests.
#[pyfunction]
#[pyo3(signature = (always, /))]
pub fn by_programs(always: bool) {
    ALWAYS.store(always, Ordering::Relaxed);
}

/// Whether passes on a device are programs.
pub fn takes(device: &Device) -> bool {
    !device.on_host || ALWAYS.load(Ordering::Relaxed)
}

fn name(op: StepOp) -> PyResult<String> {
    Ok(match op {
        StepOp::Map(map) => map.name().into(),
        StepOp::Binary(binary) => binary.name().into(),
        StepOp::Convert(to) => format!("convert.{}", names::name(to)),
        other => {
            let mut known = NAMES.iter();
            let found = known.find(|name| StepOp::from_name(name) == Some(other));
            let unknown = || exception("UnsupportedError", format!("{other:?} in a program"));
            (*found.ok_or_else(unknown)?).into()
        }
    })
}

fn fold_name(op: FoldOp) -> &'static str {
    match op {
        FoldOp::Sum => "sum",
        FoldOp::Product => "product",
        FoldOp::Minimum => "minimum",
        FoldOp::Maximum => "maximum",
    }
}

fn buffer(py: Python<'_>, leaf: &Leaf) -> PyResult<Py<PyBuffer>> {
    Ok(leaf.storage.object(py)?.clone().unbind())
}

/// Runs a pass as programs.
///
/// # Errors
/// Those of `hologram.array.emission.run`.
pub fn run(py: Python<'_>, pass: &Pass<'_>) -> PyResult<()> {
    let strides = |leaf: &Leaf| PyTuple::new(py, leaf.strides.iter());
    let (mut buffers, mut leaves, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for leaf in &pass.steps.leaves {
        buffers.push(buffer(py, leaf)?);
        leaves.push((names::name(leaf.ty()), leaf.offset, strides(leaf)?));
    }
    for (value, leaf) in &pass.outputs {
        buffers.push(buffer(py, leaf)?);
        outputs.push((*value, leaf.offset, strides(leaf)?));
    }
    let numbers = pass.steps.numbers.iter().map(|number| {
        let value = dtype::from_bits(py, number.ty, number.bits)?;
        let text = value.bind(py).repr()?.unbind();
        // Of equal numbers 0.0 and -0.0 are two.
        Ok((names::name(number.ty), value, text))
    });
    let steps = pass.steps.steps.iter().map(|step| {
        let args = PyTuple::new(py, step.args.iter())?;
        Ok((name(step.op)?, names::name(step.ty), args))
    });
    let fold = pass.fold.as_ref().map(|fold| {
        let folded = PyTuple::new(py, fold.folded.iter())?;
        let target = strides(&fold.target)?;
        let op = fold_name(fold.op);
        Ok::<_, PyErr>((op, fold.value, folded, fold.target.offset, target))
    });
    let into = pass.fold.as_ref().map(|fold| buffer(py, &fold.target));
    let arguments = (
        pass.device.object(py),
        PyTuple::new(py, pass.shape.iter())?,
        PyTuple::new(py, leaves)?,
        PyTuple::new(py, numbers.collect::<PyResult<Vec<_>>>()?)?,
        PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?,
        PyTuple::new(py, outputs)?,
        fold.transpose()?,
        buffers,
        into.transpose()?,
    );
    py.import("hologram.array.emission")?
        .call_method1("run", arguments)?;
    Ok(())
}
