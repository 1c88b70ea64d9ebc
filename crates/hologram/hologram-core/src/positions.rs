//! Positions of the smallest and the largest elements of strided views.

use std::sync::OnceLock;

use hologram_backends::backend::views::{BufferView, ExpressionViews, FoldForm};
pub use hologram_backends::expression::Extreme;
use hologram_backends::expression::View;
use hologram_backends::Ty;

use crate::buffer::DynBuffer;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::expression::{Expression, FoldOp, Step, StepOp, Strided};
use crate::layout::Layout;
use crate::shared::State;

/// Writes the index of the first extreme element of `source`, a view of `shape`, along `axis`, or among all elements in
/// row-major order, to `target`: `i64`, row-major over the other dimensions from its first element on. A NaN is both the smallest
/// and the largest element.
///
/// # Errors
/// A view outside its buffer; no such axis, or no elements along it; a target that is too small, of another type, or the memory
/// that is read; another executor's buffers; on a device with memory of its own elements of 64 bits and more than 2^32 - 1 of them
/// along the axis; what went wrong before.
pub fn positions(
    exec: &Executor,
    extreme: Extreme,
    shape: &[usize],
    axis: Option<usize>,
    source: &Strided<'_>,
    target: &DynBuffer,
) -> Result<()> {
    let foreign = |argument| Error::ForeignBuffer { argument };
    if !source.buffer.belongs_to(exec) {
        return Err(foreign("source"));
    }
    if !target.belongs_to(exec) {
        return Err(foreign("target"));
    }
    Layout::strided(shape, source.strides, source.offset, source.buffer.len())?;
    let invalid = |reason: String| Error::InvalidArgument {
        argument: "axis",
        reason,
    };
    let looked = match axis {
        Some(axis) => *shape
            .get(axis)
            .ok_or_else(|| invalid(format!("{axis}, there are {} dimensions", shape.len())))?,
        None => shape.iter().product(),
    };
    if looked == 0 {
        return Err(invalid("there are no elements along it".into()));
    }
    let kept = |&(d, _): &(usize, &usize)| axis.is_some_and(|axis| axis != d);
    let needed = shape.iter().enumerate().filter(kept);
    let needed = needed.map(|(_, &extent)| extent).product();
    if target.ty() != Ty::I64 {
        return Err(Error::TypeMismatch {
            argument: "target",
            expected: Ty::I64,
            actual: target.ty(),
        });
    }
    if target.len() < needed {
        return Err(Error::BufferTooSmall {
            argument: "target",
            needed,
            len: target.len(),
        });
    }
    if target.same_memory(source.buffer) {
        return Err(Error::Aliased {
            output: "target",
            input: "source",
        });
    }

    let mut state = exec.shared().lock();
    if exec.backend_type().is_host() {
        state.synchronize()?;
    }
    if state.backend.host_pointer(target.handle())?.is_none() {
        return on_device(&mut state, extreme, shape, axis, source, target);
    }
    let mut place = |argument, buffer: &DynBuffer| {
        let found = state.backend.host_pointer(buffer.handle())?;
        found.ok_or_else(|| Error::InvalidArgument {
            argument,
            reason: "places are found in the host's memory; this device has its own".into(),
        })
    };
    let (from, to) = (place("source", source.buffer)?, place("target", target)?);
    let size = source.buffer.element_size();
    let strides = source.strides.iter();
    let view = View {
        // Within the buffer where there is an element, as was checked; else not used.
        ptr: from.as_ptr().wrapping_add(source.offset * size),
        strides: strides.map(|s| s.wrapping_mul(size as isize)).collect(),
    };
    state.stats.expressions += 1;
    // SAFETY: the reach of the view, the length and the type of the target and that they are apart were checked; the buffers
    // live, and the lock keeps everything else on this executor from them.
    unsafe { extreme.positions(source.buffer.ty(), shape, axis, &view, to.as_ptr().cast()) };
    Ok(())
}

/// Starts on the device what was checked: a fold of words of an element and its index.
fn on_device(
    state: &mut State,
    extreme: Extreme,
    shape: &[usize],
    axis: Option<usize>,
    source: &Strided<'_>,
    target: &DynBuffer,
) -> Result<()> {
    let looked = |d: usize| axis.is_none_or(|axis| axis == d);
    let folded: Vec<bool> = (0..shape.len()).map(looked).collect();
    let (bytes, mut step) = (
        source.buffer.element_size() as isize,
        size_of::<i64>() as isize,
    );
    let mut strides = vec![0; shape.len()];
    for d in (0..shape.len()).rev().filter(|&d| !folded[d]) {
        strides[d] = step;
        step *= shape[d] as isize;
    }
    let along = source.strides.iter();
    let views = ExpressionViews {
        shape,
        views: vec![BufferView {
            buffer: source.buffer.handle(),
            offset: source.offset * source.buffer.element_size(),
            strides: along.map(|s| s.wrapping_mul(bytes)).collect(),
        }],
        scalars: &[],
        folded: &folded,
        target: Some(BufferView {
            buffer: target.handle(),
            offset: 0,
            strides,
        }),
        form: FoldForm::Position,
    };
    let expression = fold_of(extreme, source.buffer.ty())?;
    state.stats.expressions += 1;
    // SAFETY: the reach of the view, the length and the type of the target and that they are apart were checked.
    Ok(unsafe { state.backend.compute(expression, &views) }?)
}

/// The fold of elements of a type; halves are folded as `f32`.
fn fold_of(extreme: Extreme, ty: Ty) -> Result<&'static Expression> {
    static KNOWN: [[OnceLock<Expression>; Ty::ALL.len()]; 2] =
        [const { [const { OnceLock::new() }; Ty::ALL.len()] }; 2];
    let (op, row) = match extreme {
        Extreme::Minimum => (FoldOp::Minimum, 0),
        Extreme::Maximum => (FoldOp::Maximum, 1),
    };
    let place = &KNOWN[row][usize::from(ty.code())];
    if let Some(known) = place.get() {
        return Ok(known);
    }
    let steps = match ty.is_computable() {
        true => vec![],
        false => vec![Step {
            op: StepOp::Convert(Ty::F32),
            ty,
            args: vec![0],
        }],
    };
    let value = steps.len();
    let made = Expression::new(&[ty], &[], steps, vec![], Some((op, value)));
    let made = made.map_err(|error| Error::InvalidArgument {
        argument: "source",
        reason: error.to_string(),
    })?;
    Ok(place.get_or_init(|| made))
}
