//! One block of elements through all steps.

use std::cell::RefCell;

use super::kernels::{self, Places};
use super::pitch;
use super::walk::{gather, scatter, Form, Space};
use super::{Expression, View, COLUMN_BYTES};

/// Bytes of a row that takes longer to gather than one more block of steps does.
const LONG_ROW: usize = 2048;

thread_local! {
    /// Columns of a thread, kept for the next piece.
    static SCRATCH: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// An expression with its views over one space.
pub(super) struct Bound<'a> {
    expression: &'a Expression,
    space: Space,
    /// Elements from one row to the next, where those between rows go through the steps too.
    pitch: Option<usize>,
    forms: Vec<Form>,
    operands: &'a [View],
    scalars: &'a [u64],
    outputs: &'a [View],
}

/// Columns, and where each value is at the moment.
pub(super) struct Scratch<'a> {
    columns: &'a mut [u64],
    values: Vec<*const u8>,
}

impl Scratch<'_> {
    fn column(&mut self, index: usize) -> *mut u8 {
        self.columns[index * (COLUMN_BYTES / 8)..]
            .as_mut_ptr()
            .cast()
    }

    /// Place of a value of the last block.
    pub fn value(&self, index: usize) -> *const u8 {
        self.values[index]
    }
}

impl<'a> Bound<'a> {
    /// `space` has the strides of the operands, then those of the outputs.
    pub fn new(
        expression: &'a Expression,
        space: Space,
        operands: &'a [View],
        scalars: &'a [u64],
        outputs: &'a [View],
    ) -> Self {
        let operand_types = expression.operand_types().iter().copied();
        let types = operand_types.chain(expression.output_types());
        let forms = types.enumerate();
        let forms = forms.map(|(view, ty)| space.form(view, ty.size()));
        Self {
            forms: forms.collect(),
            pitch: None,
            expression,
            space,
            operands,
            scalars,
            outputs,
        }
    }

    /// The same, where elements between rows may go through the steps: every step is defined for every number.
    pub fn with_pitch(mut self) -> Self {
        let operands = self.expression.operand_types().iter().zip(&self.forms);
        let operands = operands.map(|(ty, &form)| (ty.size(), form));
        self.pitch = pitch::of(&self.space, operands);
        if self.pitch.is_some() {
            let (read, written) = self.forms.split_at_mut(self.expression.operands);
            let strided = read.iter_mut().filter(|form| **form == Form::Strided);
            strided.for_each(|form| *form = Form::Dense);
            written.fill(Form::Strided);
        }
        self
    }

    /// Number of elements that go through the steps, those between rows among them.
    pub fn elements(&self) -> usize {
        let row = self.space.row();
        let count: usize = self.space.shape.iter().product();
        self.pitch
            .map_or(count, |pitch| (count / row - 1) * pitch + row)
    }

    /// Calls `work` with this thread's columns, in which scalars and operands of one element are spread out.
    pub fn with_scratch<R>(&self, work: impl FnOnce(&mut Scratch<'_>) -> R) -> R {
        let mut columns = SCRATCH.take();
        let needed = self.expression.column_count * (COLUMN_BYTES / 8);
        if columns.len() < needed {
            columns.resize(needed, 0);
        }
        let mut scratch = Scratch {
            columns: &mut columns,
            values: vec![std::ptr::null(); self.expression.types.len()],
        };
        for value in 0..self.expression.operands + self.expression.scalars {
            self.spread(&mut scratch, value);
        }
        let result = work(&mut scratch);
        SCRATCH.set(columns);
        result
    }

    /// Fills the column of a scalar or of an operand of one element.
    fn spread(&self, scratch: &mut Scratch<'_>, value: usize) {
        let size = self.expression.types[value].size();
        let bits = match value.checked_sub(self.expression.operands) {
            Some(scalar) => self.scalars[scalar].to_le_bytes(),
            None if self.forms[value] == Form::Single => {
                let mut bytes = [0; 8];
                // SAFETY: the view has an element of `size` bytes, as `Expression::run` was promised.
                unsafe {
                    let from = self.operands[value].ptr.cast_const();
                    std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), size);
                }
                bytes
            }
            None => return,
        };
        let column = scratch.column(value);
        // A block is no longer than the space.
        let count = self.expression.block.min(self.elements());
        // SAFETY: a column has room for a block of the widest type, and is aligned to 8 bytes.
        unsafe {
            match size {
                1 => fill(column, count, bits[0]),
                2 => fill(column.cast(), count, u16::from_le_bytes([bits[0], bits[1]])),
                4 => fill(column.cast(), count, u64::from_le_bytes(bits) as u32),
                _ => fill(column.cast(), count, u64::from_le_bytes(bits)),
            }
        }
        scratch.values[value] = column;
    }

    /// Elements at whose multiples a block ends: those of a row, if rows are long enough to be read where they are.
    pub fn row(&self) -> usize {
        let row = self.space.row();
        let views = self.forms.iter().zip(&self.expression.types).enumerate();
        let mut operands = views.take(self.expression.operands);
        let has_rows = operands.any(|(view, (&form, ty))| {
            let is_long = row.saturating_mul(ty.size()) >= LONG_ROW;
            form == Form::Strided && is_long && self.space.has_dense_rows(view, ty.size())
        });
        let is_copy = self.expression.steps.is_empty();
        if has_rows && !is_copy {
            row
        } else {
            usize::MAX
        }
    }

    /// Computes elements `at..at + len`, at most a block, and writes the outputs of them.
    ///
    /// # Safety
    /// Those of [`Expression::run`]; no other thread computes the same elements.
    pub unsafe fn compute(&self, scratch: &mut Scratch<'_>, at: usize, len: usize) {
        let expression = self.expression;
        let row = self.space.row();
        let in_row = at % row + len <= row;
        for (index, view) in self.operands.iter().enumerate() {
            let size = expression.types[index].size();
            scratch.values[index] = match self.forms[index] {
                Form::Single => continue,
                // SAFETY: the view has these elements.
                Form::Dense => unsafe { view.ptr.add(at * size) },
                // SAFETY: as above; the elements lie in one row.
                Form::Strided if in_row && self.space.has_dense_rows(index, size) => unsafe {
                    view.ptr.offset(self.space.offset(index, at))
                },
                Form::Strided => {
                    let column = match self.straight(index) {
                        // SAFETY: as above.
                        Some(output) => unsafe { self.outputs[output].ptr.add(at * size) },
                        None => scratch.column(index),
                    };
                    let strides = (&self.space.shape[..], &self.space.strides[index][..]);
                    // SAFETY: as above; the column holds a block.
                    unsafe { gather((view.ptr, size), strides, (at, len), column) };
                    column
                }
            };
        }
        let fixed = expression.operands + expression.scalars;
        for (index, step) in expression.steps.iter().enumerate() {
            let value = fixed + index;
            let mut args = [std::ptr::null(); 3];
            for (place, &arg) in args.iter_mut().zip(&step.args) {
                *place = scratch.values[arg];
            }
            let dst = match self.direct(value) {
                // SAFETY: as above.
                Some(output) => unsafe {
                    self.outputs[output]
                        .ptr
                        .add(at * expression.types[value].size())
                },
                None => scratch.column(expression.columns[index]),
            };
            let places = Places {
                dst,
                args,
                count: len,
            };
            // SAFETY: values lie in operands, outputs or columns, each of which has the block's elements; columns are not
            // given to a step while something reads them.
            unsafe { kernels::run(step, places) };
            scratch.values[value] = dst;
        }
        for (index, (&value, view)) in expression.outputs.iter().zip(self.outputs).enumerate() {
            let size = expression.types[value].size();
            let from = scratch.values[value];
            let place = expression.operands + index;
            // SAFETY: the view has these elements.
            unsafe {
                if self.forms[place] == Form::Dense {
                    let to = view.ptr.add(at * size);
                    if to.cast_const() != from {
                        std::ptr::copy_nonoverlapping(from, to, len * size);
                    }
                } else {
                    let strides = (&self.space.shape[..], &self.space.strides[place][..]);
                    let to = (view.ptr, size);
                    match self.pitch {
                        Some(pitch) => pitch::scatter(from, to, strides, pitch, (at, len)),
                        None => scatter(from, to, strides, (at, len)),
                    }
                }
            }
        }
    }

    /// The dense output that a value may be computed into.
    fn direct(&self, value: usize) -> Option<usize> {
        let outputs = &self.expression.outputs;
        let index = outputs.iter().position(|&output| output == value)?;
        (self.forms[self.expression.operands + index] == Form::Dense).then_some(index)
    }

    /// The dense output that an operand is gathered into, which nothing else reads then.
    fn straight(&self, operand: usize) -> Option<usize> {
        self.direct(operand)
    }
}

/// Sets `count` elements.
///
/// # Safety
/// They are there, aligned.
unsafe fn fill<T: Copy>(column: *mut T, count: usize, value: T) {
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts_mut(column, count) }.fill(value);
}
