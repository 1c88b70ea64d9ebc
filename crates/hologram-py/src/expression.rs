//! `hologram._hologram.Expression`: what `hologram.array` computes in one pass over memory.

use hologram_backends::Ty;
use hologram_core::expression::{self as core, Strided, Views};
use hologram_core::expression::{Expression, FoldOp, Step, StepOp};
use hologram_core::DynBuffer;
use pyo3::prelude::*;

use crate::buffer::PyBuffer;
use crate::dtype;
use crate::errors::{exception, OrRaise};
use crate::executor::PyExecutor;
use crate::names;

/// Steps on values, of which some are written and one may be folded.
#[pyclass(name = "Expression", module = "hologram", frozen)]
pub struct PyExpression {
    inner: Expression,
    scalars: Vec<Ty>,
}

/// A buffer, the element with all indices 0, and elements along each dimension.
type Viewed<'py> = (PyRef<'py, PyBuffer>, usize, Vec<isize>);
/// A view with its buffer, which lives as long.
type Held = (DynBuffer, usize, Vec<isize>);

fn ty(name: &str) -> PyResult<Ty> {
    names::find(name).ok_or_else(|| exception("DTypeError", format!("`{name}` is no element type")))
}

fn types(names: &[String]) -> PyResult<Vec<Ty>> {
    names.iter().map(|name| ty(name)).collect()
}

fn op(name: &str) -> PyResult<StepOp> {
    if let Some(to) = name.strip_prefix("convert.") {
        return Ok(StepOp::Convert(ty(to)?));
    }
    StepOp::from_name(name)
        .ok_or_else(|| exception("ArgumentError", format!("no operation `{name}`")))
}

fn held(views: Vec<Viewed<'_>>) -> PyResult<Vec<Held>> {
    let get = |(buffer, offset, strides): Viewed<'_>| Ok((buffer.get()?, offset, strides));
    views.into_iter().map(get).collect()
}

fn strided((buffer, offset, strides): &Held) -> Strided<'_> {
    Strided {
        buffer,
        offset: *offset,
        strides,
    }
}

#[pymethods]
impl PyExpression {
    /// Types of operands and scalars, steps as (operation, type, values), the values that are written, and the fold as
    /// (operation, value).
    #[new]
    fn new(
        operands: Vec<String>,
        scalars: Vec<String>,
        steps: Vec<(String, String, Vec<usize>)>,
        outputs: Vec<usize>,
        fold: Option<(String, usize)>,
    ) -> PyResult<Self> {
        let made = steps.into_iter().map(|(name, of, args)| {
            Ok(Step {
                op: op(&name)?,
                ty: ty(&of)?,
                args,
            })
        });
        let steps = made.collect::<PyResult<Vec<_>>>()?;
        let fold = fold.map(|(name, value)| {
            let found = FoldOp::from_name(&name);
            let unknown = || exception("ArgumentError", format!("no fold `{name}`"));
            found.map(|op| (op, value)).ok_or_else(unknown)
        });
        let scalars = types(&scalars)?;
        let inner = Expression::new(
            &types(&operands)?,
            &scalars,
            steps,
            outputs,
            fold.transpose()?,
        )
        .map_err(|error| exception("ArgumentError", error.to_string()))?;
        Ok(Self { inner, scalars })
    }

    /// Computes it over a shape; `folded` names the dimensions that the fold goes along, and `target` where it goes.
    #[pyo3(signature = (ex, shape, operands, scalars, outputs, folded = None, target = None))]
    #[expect(
        clippy::too_many_arguments,
        reason = "called by `hologram.array` alone"
    )]
    fn run(
        &self,
        py: Python<'_>,
        ex: &PyExecutor,
        shape: Vec<usize>,
        operands: Vec<Viewed<'_>>,
        scalars: Vec<Bound<'_, PyAny>>,
        outputs: Vec<Viewed<'_>>,
        folded: Option<Vec<bool>>,
        target: Option<Viewed<'_>>,
    ) -> PyResult<()> {
        let executor = ex.get()?;
        let (operands, outputs) = (held(operands)?, held(outputs)?);
        let target = held(target.into_iter().collect())?;
        let scalars = scalars.iter().zip(&self.scalars);
        let scalars = scalars.map(|(value, &ty)| dtype::to_bits(ty, value));
        let scalars = scalars.collect::<PyResult<Vec<_>>>()?;
        let folded = folded.unwrap_or_else(|| vec![false; shape.len()]);
        py.detach(|| {
            let operands: Vec<_> = operands.iter().map(strided).collect();
            let outputs: Vec<_> = outputs.iter().map(strided).collect();
            let views = Views {
                shape: &shape,
                operands: &operands,
                scalars: &scalars,
                outputs: &outputs,
                folded: &folded,
                target: target.first().map(strided),
            };
            core::run(&executor, &self.inner, &views)
        })
        .or_raise()
    }
}
