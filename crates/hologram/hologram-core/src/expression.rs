//! Elementwise expressions and folds of strided views, in one pass over memory.

use hologram_backends::backend::views::{BufferView, ExpressionViews, FoldForm};
use hologram_backends::expression::View;
pub use hologram_backends::expression::{Expression, ExpressionError, FoldOp, Step, StepOp};
use hologram_backends::Ty;

use crate::buffer::DynBuffer;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::layout::Layout;
use crate::shared::State;

/// Elements of a buffer: the first one, and elements from one index to the next along each dimension.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    /// Memory.
    pub buffer: &'a DynBuffer,
    /// Element with all indices 0.
    pub offset: usize,
    /// Elements along each dimension; 0 for broadcasts.
    pub strides: &'a [isize],
}

impl Strided<'_> {
    /// First and last byte of elements over a shape; `None` of no elements.
    fn bytes(&self, shape: &[usize]) -> Option<(i128, i128)> {
        let size = self.buffer.element_size() as i128;
        let (mut low, mut high) = (self.offset as i128, self.offset as i128);
        for (&extent, &stride) in shape.iter().zip(self.strides) {
            let reach = (extent as i128 - 1) * stride as i128;
            low += reach.min(0);
            high += reach.max(0);
        }
        let some = !shape.contains(&0);
        some.then_some((low * size, (high + 1) * size - 1))
    }

    pub(crate) fn overlaps(&self, other: &Self, shape: &[usize]) -> bool {
        if !self.buffer.same_memory(other.buffer) {
            return false;
        }
        match (self.bytes(shape), other.bytes(shape)) {
            (Some(a), Some(b)) => a.0 <= b.1 && b.0 <= a.1,
            _ => false,
        }
    }

    fn same(&self, other: &Self, shape: &[usize]) -> bool {
        let mut dims = shape.iter().zip(self.strides.iter().zip(other.strides));
        self.offset == other.offset
            && self.buffer.ty().size() == other.buffer.ty().size()
            && dims.all(|(&extent, (a, b))| extent == 1 || (a == b && *a != 0))
    }
}

/// Views that an expression reads and writes.
#[derive(Clone, Copy, Debug)]
pub struct Views<'a> {
    /// Extents of all views.
    pub shape: &'a [usize],
    /// Operands that are read.
    pub operands: &'a [Strided<'a>],
    /// Bits of the scalars.
    pub scalars: &'a [u64],
    /// Outputs that are written.
    pub outputs: &'a [Strided<'a>],
    /// Dimensions that are folded; none without a fold.
    pub folded: &'a [bool],
    /// Target of the fold; its strides along folded dimensions are 0.
    pub target: Option<Strided<'a>>,
}

/// Computes an expression: by vector code where the executor's memory is the host's, else by a kernel of the device, which is
/// started and not waited for. Kernels are compiled when a structure of steps and views is first seen.
///
/// # Errors
/// Views of other types or outside their buffers; what is written overlaps what is read, unless it is the very same view and
/// the only output; another executor's buffers; a step or type that the device does not have; what went wrong before.
pub fn run(exec: &Executor, expression: &Expression, views: &Views<'_>) -> Result<()> {
    let read = (views.operands, expression.operand_types().to_vec());
    let written = (views.outputs, expression.output_types());
    let folded = (
        views.target.as_slice(),
        expression.fold_type().into_iter().collect(),
    );
    for (argument, (given, types)) in [("operands", read), ("outputs", written), ("target", folded)]
    {
        check(exec, argument, given, &types, views.shape)?;
    }
    count("scalars", views.scalars.len(), expression.scalars())?;
    count("folded", views.folded.len(), views.shape.len())?;
    check_apart(views)?;

    let mut state = exec.shared().lock();
    let mut all = views.operands.iter().chain(views.outputs);
    let Some(any) = all.next().or(views.target.as_ref()) else {
        return Ok(());
    };
    if exec.backend_type().is_host() {
        state.synchronize()?;
    }
    state.stats.expressions += 1;
    if state.backend.host_pointer(any.buffer.handle())?.is_none() {
        return on_device(&mut state, expression, views);
    }
    on_host(&mut state, expression, views)
}

/// Computes on the host's memory what was checked.
fn on_host(state: &mut State, expression: &Expression, views: &Views<'_>) -> Result<()> {
    let mut place = |strided: &Strided<'_>| -> Result<View> {
        let size = strided.buffer.element_size();
        let found = state.backend.host_pointer(strided.buffer.handle())?;
        let ptr = found.ok_or_else(|| Error::InvalidArgument {
            argument: "operands",
            reason: "some lie in the host's memory, others on a device".into(),
        })?;
        Ok(View {
            // Within the buffer where there is an element, as was checked; else not used.
            ptr: ptr.as_ptr().wrapping_add(strided.offset * size),
            strides: bytes(strided),
        })
    };
    let operands = views
        .operands
        .iter()
        .map(&mut place)
        .collect::<Result<Vec<_>>>()?;
    let outputs = views
        .outputs
        .iter()
        .map(&mut place)
        .collect::<Result<Vec<_>>>()?;
    let target = views
        .target
        .iter()
        .map(&mut place)
        .collect::<Result<Vec<_>>>()?;
    // SAFETY: types and reaches of all views were checked, their buffers live, and the lock keeps everything else on this
    // executor from them; what is written overlaps what is read only where it is the same view.
    unsafe {
        expression.run(
            views.shape,
            &operands,
            views.scalars,
            &outputs,
            views.folded,
            target.first(),
        );
    }
    Ok(())
}

/// Starts on the device what was checked.
fn on_device(state: &mut State, expression: &Expression, views: &Views<'_>) -> Result<()> {
    let place = |strided: &Strided<'_>| BufferView {
        buffer: strided.buffer.handle(),
        offset: strided.offset * strided.buffer.element_size(),
        strides: bytes(strided),
    };
    let given = ExpressionViews {
        shape: views.shape,
        views: views
            .operands
            .iter()
            .chain(views.outputs)
            .map(place)
            .collect(),
        scalars: views.scalars,
        folded: views.folded,
        target: views.target.as_ref().map(place),
        form: FoldForm::Value,
    };
    // SAFETY: types and reaches of all views were checked; what is written overlaps what is read only where it is the same view.
    // Buffers that are dropped are freed behind what was started.
    Ok(unsafe { state.backend.compute(expression, &given) }?)
}

/// Bytes along each dimension.
pub(crate) fn bytes(strided: &Strided<'_>) -> Vec<isize> {
    let size = strided.buffer.element_size() as isize;
    strided
        .strides
        .iter()
        .map(|s| s.wrapping_mul(size))
        .collect()
}

fn count(argument: &'static str, actual: usize, expected: usize) -> Result<()> {
    if actual == expected {
        return Ok(());
    }
    Err(Error::LengthMismatch {
        argument,
        expected,
        actual,
    })
}

fn check(
    exec: &Executor,
    argument: &'static str,
    given: &[Strided<'_>],
    types: &[Ty],
    shape: &[usize],
) -> Result<()> {
    count(argument, given.len(), types.len())?;
    for (strided, &expected) in given.iter().zip(types) {
        let actual = strided.buffer.ty();
        if !strided.buffer.belongs_to(exec) {
            return Err(Error::ForeignBuffer { argument });
        }
        if actual != expected {
            return Err(Error::TypeMismatch {
                argument,
                expected,
                actual,
            });
        }
        Layout::strided(shape, strided.strides, strided.offset, strided.buffer.len())?;
    }
    Ok(())
}

/// No two indices name one element: each dimension goes further than all that are closer together reach.
pub(crate) fn check_distinct(shape: &[usize], strides: &[isize], what: &str) -> Result<()> {
    let dims = shape.iter().zip(strides).filter(|(&extent, _)| extent > 1);
    let mut dims: Vec<(usize, usize)> = dims.map(|(&e, s)| (s.unsigned_abs(), e)).collect();
    dims.sort_unstable();
    let mut reach = 0usize;
    for (stride, extent) in dims {
        if stride <= reach {
            let message = format!("{what} whose elements lie on one another or are broadcast");
            return Err(Error::InvalidView(message));
        }
        reach = reach.saturating_add(stride.saturating_mul(extent - 1));
    }
    Ok(())
}

/// Checks that an output lies apart from all other views, or is the one view that is read there.
fn check_apart(views: &Views<'_>) -> Result<()> {
    let shape = views.shape;
    let aliased = |output, input| Err(Error::Aliased { output, input });
    for (index, output) in views.outputs.iter().enumerate() {
        check_distinct(shape, output.strides, "an output")?;
        let alone = views.outputs.len() == 1 && views.target.is_none();
        let fits = |operand: &Strided<'_>| {
            !output.overlaps(operand, shape) || (alone && output.same(operand, shape))
        };
        if !views.operands.iter().all(fits) {
            return aliased("outputs", "operands");
        }
        let mut others = views.outputs[index + 1..].iter().chain(&views.target);
        if others.any(|other| output.overlaps(other, shape)) {
            return aliased("outputs", "another output");
        }
    }
    if let Some(target) = &views.target {
        let kept = |(&extent, &folded): (&usize, &bool)| if folded { 1 } else { extent };
        let kept: Vec<usize> = shape.iter().zip(views.folded).map(kept).collect();
        check_distinct(&kept, target.strides, "a target")?;
    }
    let mut targets = views.target.iter();
    if targets.any(|target| views.operands.iter().any(|o| target.overlaps(o, shape))) {
        return aliased("target", "operands");
    }
    Ok(())
}
