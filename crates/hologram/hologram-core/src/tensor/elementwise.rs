//! Operations on each element, in one pass over views as they lie; operands are broadcast to each other.
//!
//! Halves are calculated in `f32` and rounded once. Backends with memory of their own refuse what expressions do not run on.

use hologram_backends::{BinaryOp, MapOp, Ty};

use super::compute::{Dense, Steps};
use super::Tensor;
use crate::element::{Element, Float, Number, Signed};
use crate::error::Result;
use crate::executor::Executor;
use crate::expression::StepOp;
use crate::layout::broadcast_shapes;
use crate::ops::strided;

impl<T: Element> Tensor<T> {
    /// One element, without dimensions: it is broadcast to whatever it is combined with.
    ///
    /// # Errors
    /// Out of memory.
    pub fn scalar(executor: &Executor, value: T) -> Result<Self> {
        Self::from_slice(executor, &[value], &[])
    }

    /// The elements as another type, dense: integers are cut or extended, floats rounded to the nearest; floats to integers are
    /// truncated and bounded, NaN is 0.
    ///
    /// # Errors
    /// Out of memory.
    pub fn cast<U: Element>(&self) -> Result<Tensor<U>> {
        let source = self.copied()?;
        let result = Dense::unset(&self.executor, U::TY, self.shape())?;
        let n = self.numel();
        strided::cast(&self.executor, &source.buffer, result.seen().0, n)?;
        result.tensor(&self.executor)
    }

    /// A new dense tensor with the same elements.
    ///
    /// # Errors
    /// Out of memory.
    pub fn copied(&self) -> Result<Self> {
        let dense = Dense::unset(&self.executor, T::TY, self.shape())?;
        strided::gather(&self.executor, &self.buffer, &self.layout, dense.seen().0)?;
        dense.tensor(&self.executor)
    }

    /// `op` of every element.
    fn each(&self, op: StepOp) -> Result<Self> {
        let mut steps = Steps::new(&[T::TY], &[]);
        let wide = steps.widened(0);
        let value = steps.push(op, &[wide], T::TY.calculated());
        let value = steps.converted(value, T::TY);
        let result = steps.map(&self.executor, self.shape(), &[self.seen()], value)?;
        result.tensor(&self.executor)
    }

    /// `op` of elements of both, broadcast to each other: a value of type `ty`, given as an `R`.
    fn both<R: Element>(&self, op: StepOp, other: &Self, ty: Ty) -> Result<Tensor<R>> {
        let shape = broadcast_shapes(self.shape(), other.shape())?;
        let mut steps = Steps::new(&[T::TY, T::TY], &[]);
        let (a, b) = (steps.widened(0), steps.widened(1));
        let value = steps.push(op, &[a, b], ty);
        let value = steps.converted(value, R::TY);
        let seen = [self.seen(), other.seen()];
        let result = steps.map(&self.executor, &shape, &seen, value)?;
        result.tensor(&self.executor)
    }

    fn combined(&self, op: StepOp, other: &Self) -> Result<Self> {
        self.both(op, other, T::TY.calculated())
    }

    fn compared(&self, op: StepOp, other: &Self) -> Result<Tensor<u8>> {
        self.both(op, other, Ty::U8)
    }
}

macro_rules! unary {
    ($bound:ident: $($(#[$doc:meta])* $name:ident $op:expr;)*) => {
        impl<T: $bound> Tensor<T> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// Out of memory; a device that expressions do not run on.
            pub fn $name(&self) -> Result<Self> {
                self.each($op)
            }
        )*}
    };
}

macro_rules! binary {
    ($bound:ident: $($(#[$doc:meta])* $name:ident $op:expr;)*) => {
        impl<T: $bound> Tensor<T> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// Shapes that do not broadcast; another executor; a type that has no such operation.
            pub fn $name(&self, other: &Self) -> Result<Self> {
                self.combined($op, other)
            }
        )*}
    };
}

macro_rules! comparison {
    ($($(#[$doc:meta])* $name:ident $op:ident;)*) => {
        impl<T: Number> Tensor<T> {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// Shapes that do not broadcast; another executor.
            pub fn $name(&self, other: &Self) -> Result<Tensor<u8>> {
                self.compared(StepOp::$op, other)
            }
        )*}
    };
}

unary! { Signed:
    /// |x|; the minimum integer stays.
    abs StepOp::Map(MapOp::Abs);
    /// -x; the minimum integer stays.
    neg StepOp::Map(MapOp::Neg);
}

unary! { Number:
    /// -1, 0 or 1; NaN stays.
    sign StepOp::Sign;
    /// max(x, 0); NaN gives 0.
    relu StepOp::Map(MapOp::Relu);
    /// All bits flipped; integers only.
    bit_not StepOp::Not;
}

unary! { Float:
    /// e to the x.
    exp StepOp::Map(MapOp::Exp);
    /// Natural logarithm.
    log StepOp::Map(MapOp::Log);
    /// Square root.
    sqrt StepOp::Map(MapOp::Sqrt);
    /// 1 / square root.
    rsqrt StepOp::Map(MapOp::Rsqrt);
    /// Sine.
    sin StepOp::Map(MapOp::Sin);
    /// Cosine.
    cos StepOp::Map(MapOp::Cos);
    /// Tangent.
    tan StepOp::Map(MapOp::Tan);
    /// Hyperbolic tangent.
    tanh StepOp::Map(MapOp::Tanh);
    /// 1 / (1 + exp(-x)).
    sigmoid StepOp::Map(MapOp::Sigmoid);
    /// Error function.
    erf StepOp::Map(MapOp::Erf);
    /// Towards plus infinity.
    ceil StepOp::Map(MapOp::Ceil);
    /// Towards minus infinity.
    floor StepOp::Map(MapOp::Floor);
    /// To the nearest, halves to even.
    round StepOp::Map(MapOp::Round);
    /// Towards zero.
    trunc StepOp::Trunc;
    /// 1 / x.
    reciprocal StepOp::Map(MapOp::Reciprocal);
    /// x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))).
    gelu StepOp::Map(MapOp::Gelu);
}

binary! { Number:
    /// a + b; integers wrap.
    add StepOp::Binary(BinaryOp::Add);
    /// a - b; integers wrap.
    sub StepOp::Binary(BinaryOp::Sub);
    /// a * b; integers wrap.
    mul StepOp::Binary(BinaryOp::Mul);
    /// a / b rounded down; of integers by zero 0.
    floor_div StepOp::FloorDiv;
    /// Remainder of [`Tensor::floor_div`], with the divisor's sign; of integers by zero 0.
    remainder StepOp::Remainder;
    /// The larger; NaN if one is.
    maximum StepOp::Maximum;
    /// The smaller; NaN if one is.
    minimum StepOp::Minimum;
    /// a and b, bit by bit; integers only.
    bit_and StepOp::And;
    /// a or b, bit by bit; integers only.
    bit_or StepOp::Or;
    /// One of a and b, bit by bit; integers only.
    bit_xor StepOp::Xor;
    /// a << b; integers only; 0 for amounts from the width on.
    shift_left StepOp::ShiftLeft;
    /// a >> b; integers only, of signed ones arithmetic; 0, or the sign, for amounts from the width on.
    shift_right StepOp::ShiftRight;
}

binary! { Float:
    /// a / b. Integers: [`Tensor::floor_div`], or [`Tensor::zip`], which faults at a zero.
    div StepOp::Binary(BinaryOp::Div);
    /// a to the b.
    pow StepOp::Binary(BinaryOp::Pow);
    /// Angle of the point (b, a).
    atan2 StepOp::Binary(BinaryOp::Atan2);
}

comparison! {
    /// 1 where a == b, else 0.
    equal Equal;
    /// 1 where a != b, else 0; NaN differs from everything.
    not_equal NotEqual;
    /// 1 where a < b, else 0.
    less Less;
    /// 1 where a <= b, else 0.
    less_equal LessEqual;
}

impl<T: Number> Tensor<T> {
    /// 1 where a > b, else 0.
    ///
    /// # Errors
    /// Shapes that do not broadcast; another executor.
    pub fn greater(&self, other: &Self) -> Result<Tensor<u8>> {
        other.less(self)
    }

    /// 1 where a >= b, else 0.
    ///
    /// # Errors
    /// Shapes that do not broadcast; another executor.
    pub fn greater_equal(&self, other: &Self) -> Result<Tensor<u8>> {
        other.less_equal(self)
    }
}

impl Tensor<u8> {
    /// `a` where this is not 0, else `b`, all three broadcast to each other.
    ///
    /// ```
    /// use hologram_core::{Executor, Tensor};
    ///
    /// let exec = Executor::new()?;
    /// let x = Tensor::from_slice(&exec, &[1.0f32, -2.0, 3.0], &[3])?;
    /// let zero = Tensor::scalar(&exec, 0.0)?;
    /// assert_eq!(x.less(&zero)?.choose(&zero, &x)?.to_vec()?, [1.0, 0.0, 3.0]);
    /// # Ok::<(), hologram_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Shapes that do not broadcast; another executor.
    pub fn choose<T: Element>(&self, a: &Tensor<T>, b: &Tensor<T>) -> Result<Tensor<T>> {
        let shape = broadcast_shapes(self.shape(), a.shape())?;
        let shape = broadcast_shapes(&shape, b.shape())?;
        let mut steps = Steps::new(&[Ty::U8, T::TY, T::TY], &[(Ty::U8, 0)]);
        let truth = steps.push(StepOp::NotEqual, &[0, 3], Ty::U8);
        let value = steps.push(StepOp::Select, &[truth, 1, 2], T::TY);
        let seen = [self.seen(), a.seen(), b.seen()];
        let result = steps.map(&self.executor, &shape, &seen, value)?;
        result.tensor(&self.executor)
    }
}
