//! The computation of steps: one pass over memory.

use std::sync::Arc;

use hologram_backends::Ty;
use hologram_core::expression::{self, FoldOp, Views};
use pyo3::prelude::*;

use super::device::Device;
use super::linearise::Steps;
use super::plan::plan;
use super::shape::Shape;
use super::storage::Storage;
use super::value::Leaf;
use crate::errors::OrRaise;

/// A fold of a value of a pass.
pub struct Fold {
    /// The operation.
    pub op: FoldOp,
    /// Flags of the folded dimensions.
    pub folded: Vec<bool>,
    /// Target of the fold; its strides along these dimensions are 0.
    pub target: Leaf,
}

/// Values that are computed over a shape.
pub struct Pass<'a> {
    /// Device of all memory.
    pub device: &'a Device,
    /// Extents of everything.
    pub shape: &'a [usize],
    /// Steps that are computed.
    pub steps: &'a Steps,
    /// Numbers of the values that are written, and where.
    pub outputs: Vec<(usize, Leaf)>,
    /// The fold, and the number of its value.
    pub fold: Option<(usize, Fold)>,
}

impl Pass<'_> {
    /// Computes it; Python's other threads run meanwhile.
    ///
    /// # Errors
    /// Those of [`expression::run`] and of [`Device::executor`].
    pub fn run(&self, py: Python<'_>) -> PyResult<()> {
        if self.fold.is_none() && self.shape.contains(&0) {
            return Ok(());
        }
        let written: Vec<usize> = self.outputs.iter().map(|&(value, _)| value).collect();
        let fold = self.fold.as_ref().map(|(value, fold)| (fold.op, *value));
        let plan = plan(self.steps, &written, fold)?;
        let executor = self.device.executor(py)?;
        let operands: Vec<_> = self.steps.leaves.iter().map(Leaf::strided).collect();
        let scalars: Vec<u64> = self.steps.numbers.iter().map(|n| n.bits).collect();
        let outputs: Vec<_> = self.outputs.iter().map(|(_, at)| at.strided()).collect();
        let unfolded;
        let folded = match &self.fold {
            Some((_, fold)) => &fold.folded,
            None => {
                unfolded = vec![false; self.shape.len()];
                &unfolded
            }
        };
        let views = Views {
            shape: self.shape,
            operands: &operands,
            scalars: &scalars,
            outputs: &outputs,
            folded,
            target: self.fold.as_ref().map(|(_, fold)| fold.target.strided()),
        };
        py.detach(|| expression::run(&executor, &plan, &views))
            .or_raise()
    }
}

/// Memory for results, row-major, all of which is written next.
///
/// # Errors
/// Those of [`Storage::allocate`].
pub fn place(py: Python<'_>, device: &Arc<Device>, shape: &Shape, ty: Ty) -> PyResult<Leaf> {
    Ok(Leaf {
        storage: Storage::allocate(py, device, shape.size(), ty, false)?,
        offset: 0,
        strides: shape.dense().clone(),
    })
}
