//! Loops of single steps over a block, as vector code.

use std::marker::PhantomData;

use super::super::element::Element;
use super::super::half::Format;
use super::super::vector::{self, load, store, Work, BLOCK};
use super::steps::{Step, StepOp};
use crate::host::{unchecked, HostSpan};
use crate::{Operation, Ty};

/// Where the values of a step are: as many elements at each place as the block has.
pub(super) struct Places {
    pub dst: *mut u8,
    pub args: [*const u8; 3],
    pub count: usize,
}

/// An element that a short block is filled with.
pub(super) trait Value: Copy {
    const NONE: Self;
}
macro_rules! value {
    ($($name:ident)*) => {$( impl Value for $name { const NONE: Self = 0 as $name; } )*};
}
value!(i8 i16 i32 i64 u8 u16 u32 u64 f32 f64);

struct One<A, D, F> {
    places: Places,
    f: F,
    types: PhantomData<(A, D)>,
}

impl<A: Value, D: Value, F: Fn(A) -> D> Work for One<A, D, F> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let (dst, a) = (self.places.dst.cast::<D>(), self.places.args[0].cast::<A>());
        let mut at = 0;
        while at < self.places.count {
            let len = BLOCK.min(self.places.count - at);
            // SAFETY: every place has `count` elements.
            let a: [A; BLOCK] = unsafe { load(a.add(at), len, A::NONE) };
            let mut out = [D::NONE; BLOCK];
            for i in 0..BLOCK {
                out[i] = (self.f)(a[i]);
            }
            // SAFETY: as above.
            unsafe { store(dst.add(at), len, out) };
            at += len;
        }
    }
}

struct Two<A, D, F> {
    places: Places,
    f: F,
    types: PhantomData<(A, D)>,
}

impl<A: Value, D: Value, F: Fn(A, A) -> D> Work for Two<A, D, F> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let dst = self.places.dst.cast::<D>();
        let [a, b] = [0, 1].map(|i| self.places.args[i].cast::<A>());
        let mut at = 0;
        while at < self.places.count {
            let len = BLOCK.min(self.places.count - at);
            // SAFETY: every place has `count` elements.
            let a: [A; BLOCK] = unsafe { load(a.add(at), len, A::NONE) };
            // SAFETY: as above.
            let b: [A; BLOCK] = unsafe { load(b.add(at), len, A::NONE) };
            let mut out = [D::NONE; BLOCK];
            for i in 0..BLOCK {
                out[i] = (self.f)(a[i], b[i]);
            }
            // SAFETY: as above.
            unsafe { store(dst.add(at), len, out) };
            at += len;
        }
    }
}

struct Select<T> {
    places: Places,
    types: PhantomData<T>,
}

impl<T: Value> Work for Select<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let (dst, truth) = (self.places.dst.cast::<T>(), self.places.args[0]);
        let [a, b] = [1, 2].map(|i| self.places.args[i].cast::<T>());
        let mut at = 0;
        while at < self.places.count {
            let len = BLOCK.min(self.places.count - at);
            // SAFETY: every place has `count` elements.
            let truth: [u8; BLOCK] = unsafe { load(truth.add(at), len, 0) };
            // SAFETY: as above.
            let a: [T; BLOCK] = unsafe { load(a.add(at), len, T::NONE) };
            // SAFETY: as above.
            let b: [T; BLOCK] = unsafe { load(b.add(at), len, T::NONE) };
            let mut out = [T::NONE; BLOCK];
            for i in 0..BLOCK {
                out[i] = if truth[i] != 0 { a[i] } else { b[i] };
            }
            // SAFETY: as above.
            unsafe { store(dst.add(at), len, out) };
            at += len;
        }
    }
}

fn one<A: Value, D: Value>(places: Places, f: impl Fn(A) -> D) {
    vector::run(One {
        places,
        f,
        types: PhantomData,
    });
}

fn two<A: Value, D: Value>(places: Places, f: impl Fn(A, A) -> D) {
    vector::run(Two {
        places,
        f,
        types: PhantomData,
    });
}

macro_rules! integer {
    ($t:ident, $bits:ident, $op:expr, $places:expr) => {
        match $op {
            StepOp::Not => one($places, |a: $bits| !a),
            StepOp::And => two($places, |a: $bits, b| a & b),
            StepOp::Or => two($places, |a: $bits, b| a | b),
            StepOp::Xor => two($places, |a: $bits, b| a ^ b),
            StepOp::Equal => two($places, |a: $bits, b| u8::from(a == b)),
            StepOp::NotEqual => two($places, |a: $bits, b| u8::from(a != b)),
            StepOp::ShiftLeft => two($places, |a: $bits, b| {
                if b < $bits::BITS as $bits {
                    a << (b & ($bits::BITS as $bits - 1))
                } else {
                    0
                }
            }),
            op => ordered::<$t>(op, $places),
        }
    };
}

/// Runs a step on a block.
///
/// # Safety
/// Every place has `count` elements of its type, aligned; nobody else uses `dst` meanwhile. The step passed the checks of
/// [`Expression::new`](super::Expression::new).
pub(super) unsafe fn run(step: &Step, places: Places) {
    let ty = step.ty;
    let count = places.count as u64;
    let divides = matches!(step.op, StepOp::FloorDiv | StepOp::Remainder);
    let spans = |places: &Places| {
        let span = |ptr: *mut u8, ty: Ty| HostSpan {
            ptr,
            len: places.count * ty.size(),
        };
        let [a, b, _] = places.args;
        [
            span(places.dst, ty),
            span(a.cast_mut(), ty),
            span(b.cast_mut(), ty),
        ]
    };
    match step.op {
        StepOp::Map(op) => {
            // SAFETY: the caller's promises.
            let done = unsafe { unchecked(&Operation::Map { op, ty, count }, &spans(&places)) };
            debug_assert!(done.is_ok());
        }
        StepOp::Binary(op) => {
            let operation = Operation::MapBinary { op, ty, count };
            // SAFETY: the caller's promises.
            let done = unsafe { unchecked(&operation, &spans(&places)) };
            debug_assert!(done.is_ok());
        }
        // SAFETY: the caller's promises.
        StepOp::Convert(to) => unsafe { convert(ty, to, places) },
        StepOp::Select => select(ty, places),
        _ => match ty {
            Ty::I8 => integer!(i8, u8, step.op, places),
            Ty::I16 => integer!(i16, u16, step.op, places),
            Ty::I32 => integer!(i32, u32, step.op, places),
            Ty::I64 if divides => divide::<i64>(places, step.op == StepOp::Remainder),
            Ty::U64 if divides => divide::<u64>(places, step.op == StepOp::Remainder),
            Ty::I64 => integer!(i64, u64, step.op, places),
            Ty::U8 => integer!(u8, u8, step.op, places),
            Ty::U16 => integer!(u16, u16, step.op, places),
            Ty::U32 => integer!(u32, u32, step.op, places),
            Ty::U64 => integer!(u64, u64, step.op, places),
            Ty::F32 if step.op == StepOp::Trunc => one(places, f32::trunc),
            Ty::F64 if step.op == StepOp::Trunc => one(places, f64::trunc),
            Ty::F32 => ordered::<f32>(step.op, places),
            Ty::F64 => ordered::<f64>(step.op, places),
            // `StepOp::allows` has none for them.
            Ty::F16 | Ty::Bf16 => {}
        },
    }
}

/// An integer or a float, as steps compare and divide it.
trait Ordered: Value + Element {
    fn sign(self) -> Self;
    fn floor_div(self, by: Self) -> Self;
    fn remainder(self, by: Self) -> Self;
    /// Not called on floats.
    fn shifted_right(self, by: Self) -> Self;
}

macro_rules! ordered_integer {
    ($($t:ident $quotient:ident)*) => {$(
        #[allow(
            unused_comparisons,
            clippy::absurd_extreme_comparisons,
            reason = "of both kinds of integers"
        )]
        impl Ordered for $t {
            #[inline(always)]
            fn sign(self) -> Self {
                $t::from(self > 0).wrapping_sub($t::from(self < 0))
            }
            #[inline(always)]
            fn floor_div(self, by: Self) -> Self {
                let divisor = if by == 0 { 1 } else { by };
                let quotient = ordered_integer!(@ $quotient $t self divisor);
                if by == 0 { 0 } else { quotient }
            }
            #[inline(always)]
            fn remainder(self, by: Self) -> Self {
                let product = self.floor_div(by).wrapping_mul(by);
                if by == 0 { 0 } else { self.wrapping_sub(product) }
            }
            #[inline(always)]
            fn shifted_right(self, by: Self) -> Self {
                const TOP: $t = $t::BITS as $t - 1;
                let over = !(0..=TOP).contains(&by);
                let shifted = self >> (if over { TOP } else { by });
                let sign = if self < 0 { !0 } else { 0 };
                if over { sign } else { shifted }
            }
        }
    )*};
    // Exact: a quotient of 32 bits differs from every integer that it is not by more than a double is rounded.
    (@ double $t:ident $a:ident $b:ident) => {{
        let quotient = (f64::from($a) / f64::from($b)).floor();
        // SAFETY: at most 2^32 in magnitude.
        (unsafe { quotient.to_int_unchecked::<i64>() }) as $t
    }};
    (@ hardware $t:ident $a:ident $b:ident) => {{
        let quotient = $a.wrapping_div($b);
        let below = $a.wrapping_rem($b) != 0 && (($a < 0) != ($b < 0));
        quotient.wrapping_sub($t::from(below))
    }};
}
ordered_integer!(i8 double i16 double i32 double i64 hardware);
ordered_integer!(u8 double u16 double u32 double u64 hardware);

macro_rules! ordered_float {
    ($($t:ident)*) => {$(
        impl Ordered for $t {
            #[inline(always)]
            fn sign(self) -> Self {
                let sign = if self > 0.0 { 1.0 } else { -1.0 };
                if self == 0.0 || self != self { self } else { sign }
            }
            // As Python's: the quotient is what fits the remainder, so that both belong together.
            #[inline(always)]
            fn floor_div(self, by: Self) -> Self {
                if by == 0.0 {
                    return self / by;
                }
                let rest = self % by;
                let lower = rest != 0.0 && ((by < 0.0) != (rest < 0.0));
                let quotient = (self - rest) / by - $t::from(u8::from(lower));
                let floor = quotient.floor();
                let near = if quotient - floor > 0.5 { floor + 1.0 } else { floor };
                if quotient == 0.0 { (0.0 as $t).copysign(self / by) } else { near }
            }
            #[inline(always)]
            fn remainder(self, by: Self) -> Self {
                let rest = self % by;
                let lower = rest != 0.0 && ((by < 0.0) != (rest < 0.0));
                if lower {
                    rest + by
                } else if rest == 0.0 {
                    (0.0 as $t).copysign(by)
                } else {
                    rest
                }
            }
            #[inline(always)]
            fn shifted_right(self, _: Self) -> Self {
                self
            }
        }
    )*};
}
ordered_float!(f32 f64);

/// A 64-bit integer, of which most are small enough to be divided as doubles.
trait Wide: Ordered {
    /// Below 2^53 in magnitude.
    fn is_small(self) -> bool;
    /// [`Ordered::floor_div`] of two small ones.
    fn floor_div_small(self, by: Self) -> Self;
}

macro_rules! wide {
    ($($t:ident |$x:ident| $small:expr;)*) => {$(
        impl Wide for $t {
            #[inline(always)]
            fn is_small(self) -> bool {
                let $x = self;
                $small
            }
            #[inline(always)]
            fn floor_div_small(self, by: Self) -> Self {
                // Exact: a quotient differs from every integer that it is not by more than a double is rounded.
                let divisor = if by == 0 { 1.0 } else { by as f64 };
                let quotient = (self as f64 / divisor).floor();
                // SAFETY: below 2^53 in magnitude.
                let quotient = (unsafe { quotient.to_int_unchecked::<i64>() }) as $t;
                if by == 0 { 0 } else { quotient }
            }
        }
    )*};
}
wide! {
    i64 |x| (x.wrapping_add((1 << 53) - 1) as u64) < (1 << 54) - 1;
    u64 |x| x < 1 << 53;
}

/// Quotients, or remainders, of 64-bit integers.
struct Divide<T> {
    places: Places,
    remainder: bool,
    types: PhantomData<T>,
}

impl<T: Wide> Work for Divide<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let dst = self.places.dst.cast::<T>();
        let [a, b] = [0, 1].map(|i| self.places.args[i].cast::<T>());
        let mut at = 0;
        while at < self.places.count {
            let len = BLOCK.min(self.places.count - at);
            // SAFETY: every place has `count` elements.
            let a: [T; BLOCK] = unsafe { load(a.add(at), len, T::ONE) };
            // SAFETY: as above.
            let b: [T; BLOCK] = unsafe { load(b.add(at), len, T::ONE) };
            let mut small = true;
            for i in 0..BLOCK {
                small &= a[i].is_small() & b[i].is_small();
            }
            let mut out = [T::NONE; BLOCK];
            if small {
                for i in 0..BLOCK {
                    out[i] = a[i].floor_div_small(b[i]);
                }
            } else {
                for i in 0..BLOCK {
                    out[i] = a[i].floor_div(b[i]);
                }
            }
            if self.remainder {
                for i in 0..BLOCK {
                    let rest = a[i].minus(out[i].times(b[i]));
                    out[i] = if b[i] == T::ZERO { T::ZERO } else { rest };
                }
            }
            // SAFETY: as above.
            unsafe { store(dst.add(at), len, out) };
            at += len;
        }
    }
}

fn divide<T: Wide>(places: Places, remainder: bool) {
    vector::run(Divide::<T> {
        places,
        remainder,
        types: PhantomData,
    });
}

/// What depends on the sign, of integers and of floats.
fn ordered<T: Ordered>(op: StepOp, places: Places) {
    match op {
        StepOp::Sign => one(places, T::sign),
        StepOp::FloorDiv => two(places, T::floor_div),
        StepOp::Remainder => two(places, T::remainder),
        StepOp::Maximum => two(places, |a: T, b: T| if b > a || b.is_nan() { b } else { a }),
        StepOp::Minimum => two(places, |a: T, b: T| if b < a || b.is_nan() { b } else { a }),
        StepOp::ShiftRight => two(places, T::shifted_right),
        StepOp::Less => two(places, |a: T, b: T| u8::from(a < b)),
        StepOp::LessEqual => two(places, |a: T, b: T| u8::from(a <= b)),
        StepOp::Equal => two(places, |a: T, b: T| u8::from(a == b)),
        StepOp::NotEqual => two(places, |a: T, b: T| u8::from(a != b)),
        // The others were run before, or are of integers only.
        StepOp::Map(_)
        | StepOp::Binary(_)
        | StepOp::Convert(_)
        | StepOp::Select
        | StepOp::Trunc
        | StepOp::Not
        | StepOp::And
        | StepOp::Or
        | StepOp::Xor
        | StepOp::ShiftLeft => {}
    }
}

fn select(ty: Ty, places: Places) {
    match ty.size() {
        1 => pick::<u8>(places),
        2 => pick::<u16>(places),
        4 => pick::<u32>(places),
        _ => pick::<u64>(places),
    }
}

fn pick<T: Value>(places: Places) {
    vector::run(Select::<T> {
        places,
        types: PhantomData,
    });
}

/// Conversions of one type to all others but halves.
macro_rules! from {
    ($a:ident, $to:expr, $places:expr) => {
        match $to {
            Ty::I8 => one($places, |x: $a| x as i8),
            Ty::I16 => one($places, |x: $a| x as i16),
            Ty::I32 => one($places, |x: $a| x as i32),
            Ty::I64 => one($places, |x: $a| x as i64),
            Ty::U8 => one($places, |x: $a| x as u8),
            Ty::U16 => one($places, |x: $a| x as u16),
            Ty::U32 => one($places, |x: $a| x as u32),
            Ty::U64 => one($places, |x: $a| x as u64),
            Ty::F32 => one($places, |x: $a| x as f32),
            Ty::F64 => one($places, |x: $a| x as f64),
            Ty::F16 | Ty::Bf16 => {}
        }
    };
}

/// # Safety
/// As [`run`].
unsafe fn convert(from: Ty, to: Ty, places: Places) {
    let count = places.count;
    let (src, dst) = (places.args[0], places.dst);
    match (Format::of(from), Format::of(to)) {
        (Some(format), _) => {
            debug_assert_eq!(to, Ty::F32);
            // SAFETY: the caller's promises.
            unsafe {
                let dst = std::slice::from_raw_parts_mut(dst.cast::<f32>(), count);
                format.widen(src.cast(), dst);
            }
        }
        (_, Some(format)) => {
            debug_assert_eq!(from, Ty::F32);
            // SAFETY: the caller's promises.
            unsafe {
                let src = std::slice::from_raw_parts(src.cast::<f32>(), count);
                format.narrow(src, dst.cast());
            }
        }
        _ => match from {
            Ty::I8 => from!(i8, to, places),
            Ty::I16 => from!(i16, to, places),
            Ty::I32 => from!(i32, to, places),
            Ty::I64 => from!(i64, to, places),
            Ty::U8 => from!(u8, to, places),
            Ty::U16 => from!(u16, to, places),
            Ty::U32 => from!(u32, to, places),
            Ty::U64 => from!(u64, to, places),
            Ty::F32 => from!(f32, to, places),
            Ty::F64 => from!(f64, to, places),
            Ty::F16 | Ty::Bf16 => {}
        },
    }
}
