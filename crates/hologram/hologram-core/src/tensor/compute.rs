//! Tensors as operands of expressions.

use hologram_backends::Ty;

use super::Tensor;
use crate::buffer::DynBuffer;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::expression::{self, Expression, FoldOp, Step, StepOp, Strided, Views};
use crate::layout::{count, Layout};

/// A view of a buffer, without its element type.
pub(super) type Seen<'a> = (&'a DynBuffer, &'a Layout);

/// Steps on operands and scalars: values are numbered in that order, then by step.
pub(super) struct Steps {
    types: Vec<Ty>,
    operands: usize,
    scalars: Vec<u64>,
    steps: Vec<Step>,
}

impl Steps {
    /// No steps yet.
    pub fn new(operands: &[Ty], scalars: &[(Ty, u64)]) -> Self {
        let types = operands.iter().copied();
        Self {
            types: types.chain(scalars.iter().map(|&(ty, _)| ty)).collect(),
            operands: operands.len(),
            scalars: scalars.iter().map(|&(_, bits)| bits).collect(),
            steps: Vec::new(),
        }
    }

    /// `op` of values of one type, of a select its last two; the result has the type `result`.
    pub fn push(&mut self, op: StepOp, args: &[usize], result: Ty) -> usize {
        let ty = args.last().map_or(result, |&arg| self.types[arg]);
        self.steps.push(Step {
            op,
            ty,
            args: args.to_vec(),
        });
        self.types.push(result);
        self.types.len() - 1
    }

    /// The value as the type that halves are calculated in.
    pub fn widened(&mut self, value: usize) -> usize {
        self.converted(value, self.types[value].calculated())
    }

    /// The value as another type, rounded once; not from wider types than `f32` to halves.
    pub fn converted(&mut self, value: usize, to: Ty) -> usize {
        match self.types[value] == to {
            true => value,
            false => self.push(StepOp::Convert(to), &[value], to),
        }
    }

    fn made(
        self,
        outputs: Vec<usize>,
        fold: Option<(FoldOp, usize)>,
    ) -> Result<(Expression, Vec<u64>)> {
        let (operands, scalars) = self.types.split_at(self.operands);
        let scalars = &scalars[..self.scalars.len()];
        let made = Expression::new(operands, scalars, self.steps, outputs, fold);
        let expression = made.map_err(|error| Error::InvalidArgument {
            argument: "op",
            reason: error.to_string(),
        })?;
        Ok((expression, self.scalars))
    }

    /// Value `value` of every element of `shape`.
    pub fn map(
        self,
        exec: &Executor,
        shape: &[usize],
        seen: &[Seen<'_>],
        value: usize,
    ) -> Result<Dense> {
        let result = Dense::unset(exec, self.types[value], shape)?;
        self.write(exec, shape, seen, value, result.seen())?;
        Ok(result)
    }

    /// Value `value` of every element of `shape`, to a view that overlaps no operand.
    pub fn write(
        self,
        exec: &Executor,
        shape: &[usize],
        seen: &[Seen<'_>],
        value: usize,
        target: Seen<'_>,
    ) -> Result<()> {
        let (expression, scalars) = self.made(vec![value], None)?;
        let layouts = broadcast(shape, seen)?;
        let views = Views {
            shape,
            operands: &strided(seen, &layouts),
            scalars: &scalars,
            outputs: &strided(&[target], std::slice::from_ref(target.1)),
            folded: &vec![false; shape.len()],
            target: None,
        };
        expression::run(exec, &expression, &views)
    }

    /// Fold of value `value` of all elements of `shape` along the dimensions that `folded` names, which then have one index.
    pub fn fold(
        self,
        exec: &Executor,
        shape: &[usize],
        seen: &[Seen<'_>],
        (op, value): (FoldOp, usize),
        folded: &[bool],
    ) -> Result<Dense> {
        let ty = self.types[value];
        let (expression, scalars) = self.made(Vec::new(), Some((op, value)))?;
        let layouts = broadcast(shape, seen)?;
        let kept = shape.iter().zip(folded);
        let kept: Vec<usize> = kept.map(|(&n, &f)| if f { 1 } else { n }).collect();
        let result = Dense::unset(exec, ty, &kept)?;
        let strides = result.layout.strides().iter().zip(folded);
        let strides: Vec<isize> = strides.map(|(&s, &f)| if f { 0 } else { s }).collect();
        let views = Views {
            shape,
            operands: &strided(seen, &layouts),
            scalars: &scalars,
            outputs: &[],
            folded,
            target: Some(Strided {
                buffer: &result.buffer,
                offset: 0,
                strides: &strides,
            }),
        };
        expression::run(exec, &expression, &views)?;
        Ok(result)
    }
}

/// A new dense buffer with a shape.
pub(super) struct Dense {
    buffer: DynBuffer,
    layout: Layout,
}

impl Dense {
    /// Elements that are written by what follows.
    pub fn unset(exec: &Executor, ty: Ty, shape: &[usize]) -> Result<Self> {
        Ok(Self {
            buffer: exec.allocate_unset(ty, count(shape)?)?,
            layout: Layout::contiguous(shape)?,
        })
    }

    /// It as an operand.
    pub fn seen(&self) -> Seen<'_> {
        (&self.buffer, &self.layout)
    }

    /// It with its type known to the compiler.
    ///
    /// # Errors
    /// Another type.
    pub fn tensor<R: Element>(self, exec: &Executor) -> Result<Tensor<R>> {
        Tensor::with_layout(exec, self.buffer.typed::<R>()?, self.layout)
    }
}

fn broadcast(shape: &[usize], seen: &[Seen<'_>]) -> Result<Vec<Layout>> {
    let layouts = seen.iter().map(|(_, layout)| layout.broadcast_to(shape));
    layouts.collect()
}

fn strided<'a>(seen: &[Seen<'a>], layouts: &'a [Layout]) -> Vec<Strided<'a>> {
    let both = seen.iter().zip(layouts);
    let strided = both.map(|(&(buffer, _), layout)| Strided {
        buffer,
        offset: layout.offset(),
        strides: layout.strides(),
    });
    strided.collect()
}

impl<T: Element> Tensor<T> {
    /// The tensor as an operand.
    pub(super) fn seen(&self) -> Seen<'_> {
        (&self.buffer, &self.layout)
    }
}
