//! Sums, products and extremes of the elements up to each, along a dimension of strided views.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use hologram_backends::backend::views::{BufferView, ExpressionViews, FoldForm};
use hologram_backends::expression::View;
use hologram_backends::Ty;

use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::expression::{bytes, Expression, FoldOp, Step, StepOp, Strided};
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
    let broadcast = |(&extent, &stride): (&usize, &isize)| extent > 1 && stride == 0;
    if shape.iter().zip(target.strides).any(broadcast) {
        return Err(Error::InvalidView("a target that is broadcast".into()));
    }
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
    macro_rules! scan {
        ($t:ty, $sum:expr, $product:expr) => {{
            let of: fn($t, $t) -> $t = match op {
                FoldOp::Sum => $sum,
                FoldOp::Product => $product,
                // What is equal to nothing, not even itself, is a NaN.
                #[allow(clippy::eq_op)]
                FoldOp::Minimum => |a, b| if b < a || b != b { b } else { a },
                #[allow(clippy::eq_op)]
                FoldOp::Maximum => |a, b| if b > a || b != b { b } else { a },
            };
            // SAFETY: as above; the elements of the target are `$t`.
            unsafe { fold_up(shape, axis, &to, of) }
        }};
    }
    macro_rules! integers {
        ($t:ty) => {
            scan!($t, <$t>::wrapping_add, <$t>::wrapping_mul)
        };
    }
    match ty {
        Ty::I8 => integers!(i8),
        Ty::I16 => integers!(i16),
        Ty::I32 => integers!(i32),
        Ty::I64 => integers!(i64),
        Ty::U8 => integers!(u8),
        Ty::U16 => integers!(u16),
        Ty::U32 => integers!(u32),
        Ty::U64 => integers!(u64),
        Ty::F32 => scan!(f32, |a, b| a + b, |a, b| a * b),
        Ty::F64 => scan!(f64, |a, b| a + b, |a, b| a * b),
        // Refused before.
        Ty::F16 | Ty::Bf16 => {}
    }
    Ok(())
}

/// Makes each element but the first along `axis` the fold of the one before it and itself.
///
/// # Safety
/// The elements of `view` over `shape` are `T` in live memory that nobody else uses.
unsafe fn fold_up<T: Copy>(shape: &[usize], axis: usize, view: &View, of: fn(T, T) -> T) {
    let length = shape[axis];
    let rows: usize = shape.iter().product::<usize>() / length;
    for row in 0..rows {
        let (mut rest, mut at) = (row, view.ptr);
        for d in (0..shape.len()).rev().filter(|&d| d != axis) {
            let index = (rest % shape[d]) as isize;
            rest /= shape[d];
            at = at.wrapping_offset(index.wrapping_mul(view.strides[d]));
        }
        // SAFETY: indices lie within the shape; elements may lie at any byte.
        let mut folded = unsafe { at.cast::<T>().read_unaligned() };
        for _ in 1..length {
            at = at.wrapping_offset(view.strides[axis]);
            // SAFETY: as above.
            unsafe {
                folded = of(folded, at.cast::<T>().read_unaligned());
                at.cast::<T>().write_unaligned(folded);
            }
        }
    }
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
