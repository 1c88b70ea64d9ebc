//! Sums, products and extremes of the elements up to each, along a dimension of strided views.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use hologram_backends::backend::views::{BufferView, ExpressionViews, FoldForm};
use hologram_backends::expression::{scan, View};
use hologram_backends::Ty;

use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::expression::{bytes, check_distinct, Expression, FoldOp, Step, StepOp, Strided};
use crate::layout::Layout;
use crate::shared::State;

/// Writes to each element of `target` the fold of the elements of `source` up to it along `axis`, itself included. Both are views
/// of `shape`; elements are converted to the type of the target first. Integers wrap; floats are added in an order that depends on
/// the shape and the device alone. Devices with memory of their own are given kernels, which are started and not waited for.
///
/// # Errors
/// A view outside its buffer; no such axis; a target of halves, that is broadcast or that overlaps the source; another executor's
/// buffers; a type that the device does not have, as Apple GPUs have no `f64`; what went wrong before.
pub fn run(
    exec: &Executor,
    op: FoldOp,
    shape: &[usize],
    axis: usize,
    source: &Strided<'_>,
    target: &Strided<'_>,
) -> Result<()> {
    for (argument, view) in [("source", source), ("target", target)] {
        if !view.buffer.belongs_to(exec) {
            return Err(Error::ForeignBuffer { argument });
        }
        Layout::strided(shape, view.strides, view.offset, view.buffer.len())?;
    }
    if axis >= shape.len() {
        return Err(Error::InvalidArgument {
            argument: "axis",
            reason: format!("{axis}, there are {} dimensions", shape.len()),
        });
    }
    let ty = target.buffer.ty();
    if !ty.is_computable() {
        return Err(Error::UnsupportedType {
            operation: "a scan",
            ty,
            allowed: "the integer types, f32 and f64",
        });
    }
    check_distinct(shape, target.strides, "a target")?;
    if target.overlaps(source, shape) {
        return Err(Error::Aliased {
            output: "target",
            input: "source",
        });
    }
    if shape.contains(&0) {
        return Ok(());
    }

    let mut state = exec.shared().lock();
    if exec.backend_type().is_host() {
        state.synchronize()?;
    }
    state.stats.expressions += 1;
    if state
        .backend
        .host_pointer(target.buffer.handle())?
        .is_none()
    {
        return on_device(&mut state, op, shape, axis, source, target);
    }
    on_host(&mut state, op, shape, axis, source, target)
}

/// Starts on the device what was checked.
fn on_device(
    state: &mut State,
    op: FoldOp,
    shape: &[usize],
    axis: usize,
    source: &Strided<'_>,
    target: &Strided<'_>,
) -> Result<()> {
    let view = |strided: &Strided<'_>| BufferView {
        buffer: strided.buffer.handle(),
        offset: strided.offset * strided.buffer.element_size(),
        strides: bytes(strided),
    };
    let folded: Vec<bool> = (0..shape.len()).map(|d| d == axis).collect();
    let views = ExpressionViews {
        shape,
        views: vec![view(source), view(target)],
        scalars: &[],
        folded: &folded,
        target: None,
        form: FoldForm::Scan,
    };
    let expression = fold_of(op, source.buffer.ty(), target.buffer.ty())?;
    // SAFETY: reaches and types of both views were checked, and that they are apart.
    Ok(unsafe { state.backend.compute(&expression, &views) }?)
}

/// Computes on the host's memory what was checked: elements are converted to the target, and folded there.
fn on_host(
    state: &mut State,
    op: FoldOp,
    shape: &[usize],
    axis: usize,
    source: &Strided<'_>,
    target: &Strided<'_>,
) -> Result<()> {
    let mut view = |argument, strided: &Strided<'_>| -> Result<View> {
        let found = state.backend.host_pointer(strided.buffer.handle())?;
        let ptr = found.ok_or_else(|| Error::InvalidArgument {
            argument,
            reason: "one view lies in the host's memory, the other on a device".into(),
        })?;
        let at = strided.offset * strided.buffer.element_size();
        Ok(View {
            // Within the buffer: there are elements, and their reach was checked.
            ptr: ptr.as_ptr().wrapping_add(at),
            strides: bytes(strided),
        })
    };
    let (from, to) = (view("source", source)?, view("target", target)?);
    let (read, ty) = (source.buffer.ty(), target.buffer.ty());
    let steps = conversion(read, ty);
    let converted = steps.len();
    let convert = made(Expression::new(&[read], &[], steps, vec![converted], None))?;
    let written = [View {
        ptr: to.ptr,
        strides: to.strides.clone(),
    }];
    let folded = vec![false; shape.len()];
    // SAFETY: reaches and types of both views were checked, and that they are apart; their buffers live, and the lock keeps
    // everything else on this executor from them.
    unsafe { convert.run(shape, &[from], &[], &written, &folded, None) };
    // SAFETY: as above; the elements of the target are of its type, and no two of them lie on one another.
    unsafe { scan(op, ty, shape, axis, &to) };
    Ok(())
}

/// Steps that convert value 0.
fn conversion(from: Ty, to: Ty) -> Vec<Step> {
    let mut types = vec![from];
    if !from.is_computable() && to != Ty::F32 {
        // Halves are converted to `f32` alone.
        types.push(Ty::F32);
    }
    if from != to {
        types.push(to);
    }
    let steps = types.windows(2).enumerate().map(|(k, pair)| Step {
        op: StepOp::Convert(pair[1]),
        ty: pair[0],
        args: vec![k],
    });
    steps.collect()
}

fn made(
    expression: std::result::Result<Expression, hologram_backends::expression::ExpressionError>,
) -> Result<Expression> {
    expression.map_err(|error| Error::InvalidArgument {
        argument: "source",
        reason: error.to_string(),
    })
}

/// The fold of elements that are converted; the same one each time, since kernels are known by it.
fn fold_of(op: FoldOp, from: Ty, to: Ty) -> Result<Expression> {
    type Known = HashMap<(FoldOp, Ty, Ty), Expression>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(found) = known.get(&(op, from, to)) {
        return Ok(found.clone());
    }
    let steps = conversion(from, to);
    let fold = Some((op, steps.len()));
    let made = made(Expression::new(&[from], &[], steps, vec![], fold))?;
    known.insert((op, from, to), made.clone());
    Ok(made)
}
