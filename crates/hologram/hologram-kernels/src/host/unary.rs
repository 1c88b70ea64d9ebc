//! The operations of `map`, and `clip`.

use super::element::Element;
use super::math::Float;

/// An operation on one element.
pub(super) trait Unary<T: Element>: Copy + Sync {
    /// Time of an element in that of a sum.
    const COST: usize = 1;
    /// Some values need [`Unary::apply_rare`].
    const HAS_RARE: bool = false;
    /// Vector code; any result for rare values.
    fn apply(self, x: T) -> T;
    #[inline(always)]
    fn is_rare(self, _: T) -> bool {
        false
    }
    /// Scalar code for rare values.
    #[inline(never)]
    fn apply_rare(self, x: T) -> T {
        self.apply(x)
    }
}

macro_rules! unary {
    ($($bound:ident $cost:literal { $($name:ident |$x:ident| $result:expr;)* })*) => {$($(
        #[derive(Clone, Copy)]
        pub(super) struct $name;
        impl<T: $bound> Unary<T> for $name {
            const COST: usize = $cost;
            #[inline(always)]
            fn apply(self, $x: T) -> T {
                $result
            }
        }
    )*)*};
}

unary! {
    Element 1 {
        Abs |x| x.magnitude();
        Neg |x| x.negated();
        // NaN gives 0.
        Relu |x| if x > T::ZERO { x } else { T::ZERO };
    }
    Float 2 {
        Sqrt |x| x.root();
        Rsqrt |x| x.reciprocal_root();
        Ceil |x| x.up();
        Floor |x| x.down();
        Round |x| x.nearest();
        Reciprocal |x| T::ONE.over(x);
    }
    Float 8 {
        Exp |x| x.exponential();
        Log |x| x.logarithm();
        Tanh |x| x.hyperbolic_tangent();
        Sigmoid |x| x.logistic();
        Gelu |x| x.gelu();
        Erf |x| x.error_function();
    }
}

macro_rules! circular {
    ($($name:ident $fast:ident $slow:ident)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;
        impl<T: Float> Unary<T> for $name {
            const COST: usize = 8;
            const HAS_RARE: bool = true;
            #[inline(always)]
            fn apply(self, x: T) -> T {
                x.$fast()
            }
            #[inline(always)]
            fn is_rare(self, x: T) -> bool {
                x.is_far()
            }
            #[inline(never)]
            fn apply_rare(self, x: T) -> T {
                x.$slow()
            }
        }
    )*};
}
circular!(Sin sine sine_far Cos cosine cosine_far Tan tangent tangent_far);

/// Between two bounds; NaN stays.
#[derive(Clone, Copy)]
pub(super) struct Clip<T> {
    pub low: T,
    pub high: T,
}

impl<T: Element> Unary<T> for Clip<T> {
    #[inline(always)]
    fn apply(self, x: T) -> T {
        if x < self.low {
            self.low
        } else if x > self.high {
            self.high
        } else {
            x
        }
    }
}
