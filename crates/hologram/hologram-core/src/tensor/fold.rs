//! Folds along dimensions, in one pass over views as they lie. Halves are folded in `f32` and rounded once.

use hologram_backends::{BinaryOp, MapOp, Ty};

use super::compute::{Dense, Seen, Steps};
use super::Tensor;
use crate::element::{Element, Float, Number};
use crate::error::{Error, Result};
use crate::expression::{FoldOp, StepOp};

/// Bits of a number of elements as a float of type `ty`.
fn float(ty: Ty, n: f64) -> (Ty, u64) {
    match ty {
        Ty::F32 => (ty, u64::from((n as f32).to_bits())),
        _ => (Ty::F64, n.to_bits()),
    }
}

impl<T: Element> Tensor<T> {
    /// Flags of the dimensions that `dims` names, all of them if it is `None`.
    fn named(&self, dims: Option<&[usize]>) -> Result<Vec<bool>> {
        let Some(dims) = dims else {
            return Ok(vec![true; self.ndim()]);
        };
        let mut named = vec![false; self.ndim()];
        for &dim in dims {
            match named.get_mut(dim) {
                Some(seen) if !*seen => *seen = true,
                Some(_) => return Err(Error::InvalidView(format!("dimension {dim} twice"))),
                None => {
                    return Err(Error::InvalidView(format!(
                        "dimension {dim} of a tensor of {}",
                        self.ndim()
                    )))
                }
            }
        }
        Ok(named)
    }

    /// Elements of which each value of a fold is made.
    fn folded_count(&self, folded: &[bool]) -> usize {
        let dims = self.shape().iter().zip(folded);
        dims.filter(|(_, &f)| f).map(|(&n, _)| n).product()
    }

    /// Fold of the elements, wide, with the folded dimensions of 1.
    fn wide_fold(&self, op: FoldOp, folded: &[bool]) -> Result<Dense> {
        let mut steps = Steps::new(&[T::TY], &[]);
        let value = steps.widened(0);
        let seen = [self.seen()];
        steps.fold(&self.executor, self.shape(), &seen, (op, value), folded)
    }

    /// A fold as it is given: of type `R`, without the folded dimensions unless they are kept.
    fn given<R: Element>(
        &self,
        fold: Dense,
        steps: Option<(Steps, usize)>,
        folded: &[bool],
        keepdims: bool,
    ) -> Result<Tensor<R>> {
        let kept: Vec<usize> = fold.seen().1.shape().to_vec();
        let result = match steps {
            Some((mut steps, value)) => {
                let value = steps.converted(value, R::TY);
                steps.map(&self.executor, &kept, &[fold.seen()], value)?
            }
            None => fold,
        };
        let tensor = result.tensor::<R>(&self.executor)?;
        if keepdims {
            return Ok(tensor);
        }
        let rest = kept.iter().zip(folded).filter(|(_, &f)| !f);
        tensor.reshape(&rest.map(|(&n, _)| n).collect::<Vec<_>>())
    }

    fn folded(&self, op: FoldOp, dims: Option<&[usize]>, keepdims: bool) -> Result<Self> {
        let folded = self.named(dims)?;
        let fold = self.wide_fold(op, &folded)?;
        let steps =
            (T::TY != T::TY.calculated()).then(|| (Steps::new(&[T::TY.calculated()], &[]), 0));
        self.given(fold, steps, &folded, keepdims)
    }

    /// Fold of truths of the elements: whether each is not 0.
    fn truths(&self, op: FoldOp, dims: Option<&[usize]>, keepdims: bool) -> Result<Tensor<u8>> {
        let folded = self.named(dims)?;
        let calculated = T::TY.calculated();
        let mut steps = Steps::new(&[T::TY], &[(calculated, 0)]);
        let wide = steps.widened(0);
        let truth = steps.push(StepOp::NotEqual, &[wide, 1], Ty::U8);
        // Of nothing the folds of `u8` give 0 and 255: both are made truths behind them.
        let fold = steps.fold(
            &self.executor,
            self.shape(),
            &[self.seen()],
            (op, truth),
            &folded,
        )?;
        let mut steps = Steps::new(&[Ty::U8], &[(Ty::U8, 0)]);
        let value = steps.push(StepOp::NotEqual, &[0, 1], Ty::U8);
        self.given(fold, Some((steps, value)), &folded, keepdims)
    }
}

macro_rules! folds {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: Number> Tensor<T> {$(
            $(#[$doc])*
            /// Along the dimensions `dims`, all of them if it is `None`; with `keepdims` they stay, of one index.
            ///
            /// # Errors
            /// A dimension that does not exist or is named twice.
            pub fn $name(&self, dims: Option<&[usize]>, keepdims: bool) -> Result<Self> {
                self.folded(FoldOp::$op, dims, keepdims)
            }
        )*}
    };
}

folds! {
    /// Sum, 0 of none; integers wrap.
    ///
    /// ```
    /// use hologram_core::{Executor, Tensor};
    ///
    /// let exec = Executor::new()?;
    /// let x = Tensor::from_slice(&exec, &[1, 2, 3, 4, 5, 6], &[2, 3])?;
    /// assert_eq!(x.sum(Some(&[1]), false)?.to_vec()?, [6, 15]);
    /// assert_eq!(x.sum(None, true)?.shape(), [1, 1]);
    /// # Ok::<(), hologram_core::Error>(())
    /// ```
    ///
    sum Sum;
    /// Product, 1 of none; integers wrap.
    ///
    product Product;
    /// The smallest, NaN if one is; the largest value of none.
    ///
    min Minimum;
    /// The largest, NaN if one is; the smallest value of none.
    ///
    max Maximum;
}

impl<T: Number> Tensor<T> {
    /// 1 where any element along `dims` (all of them if it is `None`) is not 0, else 0; 0 of none.
    ///
    /// # Errors
    /// A dimension that does not exist or is named twice.
    pub fn any(&self, dims: Option<&[usize]>, keepdims: bool) -> Result<Tensor<u8>> {
        self.truths(FoldOp::Maximum, dims, keepdims)
    }

    /// 1 where all elements along `dims` (all of them if it is `None`) are not 0, else 0; 1 of none.
    ///
    /// # Errors
    /// A dimension that does not exist or is named twice.
    pub fn all(&self, dims: Option<&[usize]>, keepdims: bool) -> Result<Tensor<u8>> {
        self.truths(FoldOp::Minimum, dims, keepdims)
    }

    /// Index along `dim` of the first of the largest elements; of the first NaN where there is one.
    ///
    /// # Errors
    /// A dimension that does not exist or has no index.
    pub fn argmax(&self, dim: usize, keepdims: bool) -> Result<Tensor<u64>> {
        self.first_of(FoldOp::Maximum, dim, keepdims)
    }

    /// Index along `dim` of the first of the smallest elements; of the first NaN where there is one.
    ///
    /// # Errors
    /// A dimension that does not exist or has no index.
    pub fn argmin(&self, dim: usize, keepdims: bool) -> Result<Tensor<u64>> {
        self.first_of(FoldOp::Minimum, dim, keepdims)
    }

    /// The first index along `dim` whose element is the fold's; two passes.
    fn first_of(&self, op: FoldOp, dim: usize, keepdims: bool) -> Result<Tensor<u64>> {
        let folded = self.named(Some(&[dim]))?;
        let extent = self.shape()[dim];
        if extent == 0 {
            return Err(Error::InvalidShape(format!("dimension {dim} has no index")));
        }
        let best = self.wide_fold(op, &folded)?;
        let mut shape = vec![1; self.ndim()];
        shape[dim] = extent;
        let indices: Vec<u64> = (0..extent as u64).collect();
        let indices = Tensor::from_slice(&self.executor, &indices, &shape)?;
        let types = [T::TY, T::TY.calculated(), Ty::U64];
        let mut steps = Steps::new(&types, &[(Ty::U64, u64::MAX)]);
        let wide = steps.widened(0);
        let same = steps.push(StepOp::Equal, &[wide, 1], Ty::U8);
        // Only NaN differs from itself; then the fold is NaN too.
        let nan = steps.push(StepOp::NotEqual, &[wide, wide], Ty::U8);
        let found = steps.push(StepOp::Or, &[same, nan], Ty::U8);
        let index = steps.push(StepOp::Select, &[found, 2, 3], Ty::U64);
        let seen: [Seen<'_>; 3] = [self.seen(), best.seen(), indices.seen()];
        let what = (FoldOp::Minimum, index);
        let first = steps.fold(&self.executor, self.shape(), &seen, what, &folded)?;
        self.given(first, None, &folded, keepdims)
    }
}

impl<T: Float> Tensor<T> {
    /// Mean along `dims`, all of them if it is `None`; NaN of none.
    ///
    /// # Errors
    /// A dimension that does not exist or is named twice.
    pub fn mean(&self, dims: Option<&[usize]>, keepdims: bool) -> Result<Self> {
        let folded = self.named(dims)?;
        let sum = self.wide_fold(FoldOp::Sum, &folded)?;
        let steps = self.divided(self.folded_count(&folded) as f64);
        self.given(sum, Some(steps), &folded, keepdims)
    }

    /// Variance along `dims`, all of them if it is `None`: the sum of squared distances from the mean, by the number of elements less
    /// `correction`; two passes. NaN or infinity where that number is not positive.
    ///
    /// # Errors
    /// A dimension that does not exist or is named twice.
    pub fn var(&self, dims: Option<&[usize]>, correction: f64, keepdims: bool) -> Result<Self> {
        let (squares, folded) = self.squares(dims)?;
        let steps = self.divided(self.folded_count(&folded) as f64 - correction);
        self.given(squares, Some(steps), &folded, keepdims)
    }

    /// Square root of [`Tensor::var`].
    ///
    /// # Errors
    /// A dimension that does not exist or is named twice.
    pub fn std(&self, dims: Option<&[usize]>, correction: f64, keepdims: bool) -> Result<Self> {
        let (squares, folded) = self.squares(dims)?;
        let (mut steps, value) = self.divided(self.folded_count(&folded) as f64 - correction);
        let root = steps.push(StepOp::Map(MapOp::Sqrt), &[value], T::TY.calculated());
        self.given(squares, Some((steps, root)), &folded, keepdims)
    }

    /// Steps that divide a fold by a number.
    fn divided(&self, n: f64) -> (Steps, usize) {
        let ty = T::TY.calculated();
        // A number of elements that is not positive divides by zero.
        let mut steps = Steps::new(&[ty], &[float(ty, n.max(0.0))]);
        let value = steps.push(StepOp::Binary(BinaryOp::Div), &[0, 1], ty);
        (steps, value)
    }

    /// Sums of squared distances from the mean.
    fn squares(&self, dims: Option<&[usize]>) -> Result<(Dense, Vec<bool>)> {
        let folded = self.named(dims)?;
        let ty = T::TY.calculated();
        let sum = self.wide_fold(FoldOp::Sum, &folded)?;
        let n = float(ty, self.folded_count(&folded) as f64);
        let mut steps = Steps::new(&[T::TY, ty], &[n]);
        let wide = steps.widened(0);
        let mean = steps.push(StepOp::Binary(BinaryOp::Div), &[1, 2], ty);
        let distance = steps.push(StepOp::Binary(BinaryOp::Sub), &[wide, mean], ty);
        let square = steps.push(StepOp::Binary(BinaryOp::Mul), &[distance, distance], ty);
        let seen = [self.seen(), sum.seen()];
        let what = (FoldOp::Sum, square);
        let squares = steps.fold(&self.executor, self.shape(), &seen, what, &folded)?;
        Ok((squares, folded))
    }
}
