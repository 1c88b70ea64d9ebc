//! Elementwise expressions of strided views in one pass over memory, and folds of them.
//!
//! A block of elements goes through all steps while it lies in the cache; blocks are computed by all cores. Operands are read
//! where they are if they are dense or have long rows, else a block of them is gathered. Results do not depend on the
//! number of threads.

mod block;
mod copy;
mod divide;
mod extremes;
mod fold;
mod fold_rows;
mod kernels;
mod ordered;
mod pitch;
mod position;
mod power;
mod scan;
mod steps;
#[cfg(test)]
mod tests;
mod walk;
mod whole;

pub use position::Extreme;
pub use scan::scan;
pub use steps::{FoldOp, Step, StepOp};

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Mutex;

use super::parallel::ranges;
use crate::Ty;
use block::Bound;
use walk::Space;

/// Most operands, scalars and steps together.
pub const MOST_VALUES: usize = 512;

/// A view of elements: the first one, and bytes from one index to the next along each dimension.
#[derive(Clone, Debug)]
pub struct View {
    /// The element with all indices 0, aligned to its size.
    pub ptr: *mut u8,
    /// Bytes along each dimension: multiples of the element's size.
    pub strides: Vec<isize>,
}

// SAFETY: a view is a place; `Expression::run` says who may use it.
unsafe impl Sync for View {}

/// Errors of an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// Too many values.
    #[error("{0} operands, scalars and steps, at most {MOST_VALUES} are possible")]
    TooLarge(usize),
    /// An operation that a type does not have.
    #[error("step {step}: {op:?} is not defined for {ty}")]
    Type {
        /// Number of the step.
        step: usize,
        /// The operation.
        op: StepOp,
        /// The type.
        ty: Ty,
    },
    /// A step with too few or too many values, or one that is read as another type or before it is there.
    #[error("step {step}: its values do not fit its operation")]
    Values {
        /// Number of the step.
        step: usize,
    },
    /// A result or fold that names no value.
    #[error("value {0} does not exist")]
    Missing(usize),
}

/// Steps on values, of which some are written and one may be folded.
#[derive(Clone, Debug)]
pub struct Expression {
    operands: usize,
    scalars: usize,
    steps: Vec<Step>,
    /// Types of operands, scalars and results of steps.
    types: Vec<Ty>,
    outputs: Vec<usize>,
    fold: Option<(FoldOp, usize)>,
    /// Places of the results of steps, after the columns of operands and scalars.
    columns: Vec<usize>,
    column_count: usize,
    /// Elements that go through all steps together.
    block: usize,
    id: u64,
}

impl Expression {
    /// Checks and plans an expression: types of operands and scalars, steps, the values that are written and the one that is
    /// folded.
    ///
    /// # Errors
    /// Every [`ExpressionError`].
    pub fn new(
        operands: &[Ty],
        scalars: &[Ty],
        steps: Vec<Step>,
        outputs: Vec<usize>,
        fold: Option<(FoldOp, usize)>,
    ) -> Result<Self, ExpressionError> {
        let count = operands.len() + scalars.len() + steps.len();
        if count > MOST_VALUES {
            return Err(ExpressionError::TooLarge(count));
        }
        let mut types: Vec<Ty> = operands.iter().chain(scalars).copied().collect();
        for (index, step) in steps.iter().enumerate() {
            let (op, ty) = (step.op, step.ty);
            let halves = |a: Ty, b: Ty| !a.is_computable() && b != Ty::F32;
            let fits = match op {
                StepOp::Convert(to) => !halves(ty, to) && !halves(to, ty),
                _ => op.allows(ty),
            };
            if !fits {
                return Err(ExpressionError::Type {
                    step: index,
                    op,
                    ty,
                });
            }
            let known = step.args.len() == op.reads()
                && step.args.iter().enumerate().all(|(i, &arg)| {
                    let expected = match op {
                        StepOp::Select if i == 0 => Ty::U8,
                        _ => ty,
                    };
                    types.get(arg) == Some(&expected)
                });
            if !known {
                return Err(ExpressionError::Values { step: index });
            }
            types.push(op.result(ty));
        }
        let named = outputs.iter().copied().chain(fold.map(|(_, value)| value));
        if let Some(missing) = named.clone().find(|&value| value >= count) {
            return Err(ExpressionError::Missing(missing));
        }
        if let Some((_, value)) = fold.filter(|&(_, value)| !types[value].is_computable()) {
            return Err(ExpressionError::Missing(value));
        }
        let fixed = operands.len() + scalars.len();
        let kept: Vec<usize> = named.collect();
        let (columns, column_count) = plan_columns(&steps, fixed, &kept);
        let widest = types.iter().map(|ty| ty.size()).max().unwrap_or(1).max(2);
        let id = number(Structure {
            operands: operands.len(),
            types: types.clone(),
            steps: steps.clone(),
            outputs: outputs.clone(),
            fold,
        });
        Ok(Self {
            id,
            operands: operands.len(),
            scalars: scalars.len(),
            steps,
            types,
            outputs,
            fold,
            columns,
            column_count,
            block: COLUMN_BYTES / widest,
        })
    }

    /// A number that no expression of other steps, types and values has in this process; equal ones mostly have the same.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// The steps.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Types of all values: operands, scalars, results of steps.
    pub fn types(&self) -> &[Ty] {
        &self.types
    }

    /// The values that are written.
    pub fn outputs(&self) -> &[usize] {
        &self.outputs
    }

    /// The fold, and the value that it folds.
    pub fn fold(&self) -> Option<(FoldOp, usize)> {
        self.fold
    }

    /// Types of the operands.
    pub fn operand_types(&self) -> &[Ty] {
        &self.types[..self.operands]
    }

    /// Number of scalars.
    pub fn scalars(&self) -> usize {
        self.scalars
    }

    /// Types of the values that are written.
    pub fn output_types(&self) -> Vec<Ty> {
        self.outputs
            .iter()
            .map(|&value| self.types[value])
            .collect()
    }

    /// Type of the fold, if there is one.
    pub fn fold_type(&self) -> Option<Ty> {
        self.fold.map(|(_, value)| self.types[value])
    }

    /// True if an operand is written as it is, and nothing else.
    fn is_copy(&self) -> bool {
        self.steps.is_empty() && self.outputs == [0] && self.operands == 1
    }

    /// Time of an element, in bytes that are read or written in that time.
    fn weight(&self) -> usize {
        let moved = self
            .operand_types()
            .iter()
            .map(|ty| ty.size())
            .sum::<usize>();
        let written = self
            .outputs
            .iter()
            .map(|&v| self.types[v].size())
            .sum::<usize>();
        let computed: usize = self.steps.iter().map(|s| s.op.cost() * s.ty.size()).sum();
        moved + written + computed
    }

    /// Computes the elements of a space of `shape`: `operands` are read, `outputs` written, and the fold along the
    /// dimensions that `folded` names goes to `target`, whose strides along those do not count.
    ///
    /// # Safety
    /// Views are as many as the types say, with a stride for each dimension, aligned, and lie in live memory; nobody else uses
    /// what is written, and nobody writes what is read or lies between its rows. All of it is initialised, at least
    /// with zeros. What is written may be exactly the view of an operand where there is one output and no fold, else it overlaps
    /// nothing; no two indices name one element of an output.
    pub unsafe fn run(
        &self,
        shape: &[usize],
        operands: &[View],
        scalars: &[u64],
        outputs: &[View],
        folded: &[bool],
        target: Option<&View>,
    ) {
        let count: usize = shape.iter().product();
        let strides: Vec<Vec<isize>> = operands
            .iter()
            .chain(outputs)
            .map(|view| view.strides.clone())
            .collect();
        if let (Some((op, _)), Some(target)) = (self.fold, target) {
            let views = fold::Views {
                shape,
                strides,
                operands,
                scalars,
                outputs,
                folded,
                target,
            };
            // SAFETY: the caller's promises.
            return unsafe { fold::run(self, op, &views) };
        }
        if count == 0 {
            return;
        }
        let space = Space::merged(shape, &strides, &vec![0; shape.len()]);
        if let (true, [from], [to]) = (self.is_copy(), operands, outputs) {
            let size = self.types[0].size();
            // SAFETY: the caller's promises; a view that is walked across is not the dense one that is written.
            if unsafe {
                copy::rows(&space, size, from, to) || copy::transposed(&space, size, from, to)
            } {
                return;
            }
        }
        let bound = Bound::new(self, space, operands, scalars, outputs).with_pitch();
        let (count, row) = (bound.elements(), bound.row());
        ranges(count, self.weight(), |range| {
            bound.with_scratch(|scratch| {
                let mut at = range.start;
                while at < range.end {
                    let len = self.block.min(range.end - at).min(row - at % row);
                    // SAFETY: the caller's promises; ranges are disjoint.
                    unsafe { bound.compute(scratch, at, len) };
                    at += len;
                }
            });
            true
        });
    }
}

/// Properties that distinguish expressions.
#[derive(PartialEq, Eq, Hash)]
struct Structure {
    operands: usize,
    types: Vec<Ty>,
    steps: Vec<Step>,
    outputs: Vec<usize>,
    fold: Option<(FoldOp, usize)>,
}

/// Most structures whose numbers are known.
const MOST_NUMBERED: usize = 4096;

/// The number of a structure; one that was forgotten gets a new one.
fn number(structure: Structure) -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    static KNOWN: Mutex<Option<HashMap<Structure, u64>>> = Mutex::new(None);
    let next = || NEXT.fetch_add(1, Ordering::Relaxed);
    // A forked process may find it locked for ever, and a number of its own costs little.
    let Ok(mut known) = KNOWN.try_lock() else {
        return next();
    };
    let known = known.get_or_insert_default();
    if known.len() >= MOST_NUMBERED {
        known.clear();
    }
    *known.entry(structure).or_insert_with(next)
}

/// Bytes of a column: some of them stay in the first level of the cache.
const COLUMN_BYTES: usize = 8192;

/// A column for the result of each step, used again when nothing reads the value any more.
fn plan_columns(steps: &[Step], fixed: usize, kept: &[usize]) -> (Vec<usize>, usize) {
    let mut last = vec![0; fixed + steps.len()];
    for (index, step) in steps.iter().enumerate() {
        step.args.iter().for_each(|&arg| last[arg] = index);
    }
    kept.iter().for_each(|&value| last[value] = usize::MAX);
    let (mut columns, mut free, mut count) = (Vec::new(), Vec::new(), fixed);
    for (index, step) in steps.iter().enumerate() {
        let column = free.pop().unwrap_or_else(|| {
            count += 1;
            count - 1
        });
        columns.push(column);
        let mut ended: Vec<usize> = step.args.clone();
        ended.sort_unstable();
        ended.dedup();
        for arg in ended {
            if arg >= fixed && last[arg] == index {
                free.push(columns[arg - fixed]);
            }
        }
        if last[fixed + index] == 0 {
            free.push(column);
        }
    }
    (columns, count)
}
