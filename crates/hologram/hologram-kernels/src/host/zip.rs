//! Elementwise operations of two operands, or of one and a constant.

use super::element::Element;
use super::math::Float;
use super::operand::HostError;
use super::parallel::{ranges, Shared};
use super::vector::{self, blocks, none, Block, Work, BLOCK};

/// The right operand.
#[derive(Clone, Copy)]
pub(super) enum Right<T> {
    /// An element each.
    Each(*const T),
    /// The same for all.
    All(T),
}

/// An operation on two elements.
pub(super) trait Binary<T: Element>: Copy + Sync {
    /// Time of an element in that of a sum.
    const COST: usize = 1;
    /// Zeros on the right are a fault.
    const DIVIDES: bool = false;
    fn apply(self, a: T, b: T) -> T;
}

macro_rules! binary {
    ($($name:ident $method:ident)*) => {$(
        #[derive(Clone, Copy)]
        pub(super) struct $name;
        impl<T: Element> Binary<T> for $name {
            #[inline(always)]
            fn apply(self, a: T, b: T) -> T {
                a.$method(b)
            }
        }
    )*};
}
binary!(Add plus Sub minus Mul times Min smaller Max larger);

/// Quotient; of integers, truncated.
#[derive(Clone, Copy)]
pub(super) struct Div;
impl<T: Element> Binary<T> for Div {
    const COST: usize = if T::INTEGER { 8 } else { 1 };
    const DIVIDES: bool = T::INTEGER;
    #[inline(always)]
    fn apply(self, a: T, b: T) -> T {
        a.over(b)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Pow;
impl<T: Float> Binary<T> for Pow {
    const COST: usize = 16;
    #[inline(always)]
    fn apply(self, a: T, b: T) -> T {
        a.power(b)
    }
}

#[derive(Clone, Copy)]
pub(super) struct Atan2;
impl<T: Float> Binary<T> for Atan2 {
    const COST: usize = 16;
    #[inline(always)]
    fn apply(self, a: T, b: T) -> T {
        a.angle(b)
    }
}

/// `dst[i]` = `left[i]` `op` `right[i]`; operands may be `dst`.
///
/// # Errors
/// Division of an integer by zero.
pub(super) fn zip<T: Element, B: Binary<T>>(
    dst: *mut T,
    left: *const T,
    right: Right<T>,
    count: usize,
    op: B,
) -> Result<(), HostError> {
    let (dst, left) = (Shared(dst), Shared(left.cast_mut()));
    let (each, all) = match right {
        Right::Each(right) => (Some(Shared(right.cast_mut())), T::ONE),
        Right::All(value) => (None, value),
    };
    let weight = (2 + usize::from(each.is_some())) * size_of::<T>() * B::COST;
    let ok = ranges(count, weight, |range| {
        let count = range.len();
        // SAFETY: `run` was promised `count` elements; the ranges are disjoint.
        let (dst, left) = unsafe { (dst.at(range.start), left.at(range.start).cast_const()) };
        // SAFETY: as above.
        let right = each.map(|right| unsafe { right.at(range.start).cast_const() });
        let work = Zip {
            dst,
            left,
            right,
            all,
            count,
            op,
        };
        if B::DIVIDES && size_of::<T>() == 8 {
            // There are no vectors of divisions of long integers; shorter ones are divided as doubles.
            work.run()
        } else {
            vector::run(work)
        }
    });
    if ok {
        Ok(())
    } else {
        Err(HostError::DivisionByZero)
    }
}

struct Zip<T, B> {
    dst: *mut T,
    left: *const T,
    right: Option<*const T>,
    all: T,
    count: usize,
    op: B,
}

impl<T: Element, B: Binary<T>> Work for Zip<T, B> {
    /// False when a divisor is zero.
    type Out = bool;
    const WIDE: bool = !T::INTEGER;

    #[inline(always)]
    fn run(self) -> bool {
        let left = (self.left, T::ONE);
        let mut work = ZipBlock {
            op: self.op,
            all: self.all,
            divides_by_zero: false,
        };
        // SAFETY: `count` elements of each.
        unsafe {
            match self.right {
                Some(right) => {
                    let operands = (left, (right, T::ONE), none());
                    blocks(self.dst, operands, self.count, &mut work);
                }
                None => blocks(self.dst, (left, none(), none()), self.count, &mut work),
            }
        }
        !work.divides_by_zero
    }
}

/// Block of a zip, and whether there was a zero among the divisors: then results are any.
struct ZipBlock<T, B> {
    op: B,
    all: T,
    divides_by_zero: bool,
}

impl<T: Element, B: Binary<T>> ZipBlock<T, B> {
    #[inline(always)]
    fn apply(&mut self, a: [T; BLOCK], mut b: [T; BLOCK]) -> [T; BLOCK] {
        if B::DIVIDES && b.iter().fold(false, |any, &x| any | (x == T::ZERO)) {
            self.divides_by_zero = true;
            b = [T::ONE; BLOCK];
        }
        let mut out = a;
        for i in 0..BLOCK {
            out[i] = self.op.apply(a[i], b[i]);
        }
        out
    }
}

impl<T: Element, B: Binary<T>> Block<T, T, (), T, BLOCK> for &mut ZipBlock<T, B> {
    #[inline(always)]
    fn run(&mut self, a: [T; BLOCK], b: [T; BLOCK], _: [(); BLOCK]) -> [T; BLOCK] {
        self.apply(a, b)
    }
}

impl<T: Element, B: Binary<T>> Block<T, (), (), T, BLOCK> for &mut ZipBlock<T, B> {
    #[inline(always)]
    fn run(&mut self, a: [T; BLOCK], _: [(); BLOCK], _: [(); BLOCK]) -> [T; BLOCK] {
        self.apply(a, [self.all; BLOCK])
    }
}
