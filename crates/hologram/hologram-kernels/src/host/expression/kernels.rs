//! Loops of single steps over a block, as vector code.

use std::marker::PhantomData;

use super::super::half::Format;
use super::super::vector::{self, blocks, none, Work, BLOCK};
use super::divide::divide;
use super::ordered::Ordered;
use super::power::power;
use super::steps::{Step, StepOp};
use super::whole::Whole;
use crate::host::{unchecked, HostSpan};
use crate::{BinaryOp, Operation, Ty};

/// Places of a step's values: each has the elements of a block.
#[derive(Clone, Copy)]
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

/// The one value of `count` elements, if there are any and all are equal.
///
/// # Safety
/// They are there, aligned, of `T`.
#[inline(always)]
pub(super) unsafe fn single<T: Copy + PartialEq>(from: *const u8, count: usize) -> Option<T> {
    // SAFETY: the caller's promise.
    let values = unsafe { std::slice::from_raw_parts(from.cast::<T>(), count) };
    let &first = values.first()?;
    let equal = values.iter().fold(true, |all, &x| all & (x == first));
    equal.then_some(first)
}

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
        let Places { dst, args, count } = self.places;
        let a = (args[0].cast::<A>(), A::NONE);
        // SAFETY: every place has `count` elements.
        unsafe {
            blocks(
                dst.cast::<D>(),
                (a, none(), none()),
                count,
                |a: [A; BLOCK], _, _| {
                    let mut out = [D::NONE; BLOCK];
                    for i in 0..BLOCK {
                        out[i] = (self.f)(a[i]);
                    }
                    out
                },
            );
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
        // SAFETY: every place has `count` elements.
        unsafe {
            pairs(&self.places, A::NONE, |a: [A; BLOCK], b| {
                let mut out = [D::NONE; BLOCK];
                for i in 0..BLOCK {
                    out[i] = (self.f)(a[i], b[i]);
                }
                out
            });
        }
    }
}

/// Gives two operands to `f`, a block at a time; `fill` stands after the last elements.
///
/// # Safety
/// The first two places have `count` elements of `A`, the result `count` of `D`.
#[inline(always)]
pub(super) unsafe fn pairs<A: Value, D: Value>(
    places: &Places,
    fill: A,
    f: impl Fn([A; BLOCK], [A; BLOCK]) -> [D; BLOCK],
) {
    let [a, b] = [0, 1].map(|i| places.args[i].cast::<A>());
    // SAFETY: the caller's promises.
    unsafe {
        let dst = places.dst.cast::<D>();
        blocks(
            dst,
            ((a, fill), (b, fill), none()),
            places.count,
            |a, b, _| f(a, b),
        );
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
        let Places { dst, args, count } = self.places;
        let truth = (args[0], 0);
        let [a, b] = [1, 2].map(|i| (args[i].cast::<T>(), T::NONE));
        // SAFETY: every place has `count` elements.
        unsafe {
            blocks(
                dst.cast::<T>(),
                (truth, a, b),
                count,
                |truth: [u8; BLOCK], a: [T; BLOCK], b: [T; BLOCK]| {
                    let mut out = [T::NONE; BLOCK];
                    for i in 0..BLOCK {
                        out[i] = if truth[i] != 0 { a[i] } else { b[i] };
                    }
                    out
                },
            );
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
            StepOp::FloorDiv => divide::<$t>($places, false),
            StepOp::Remainder => divide::<$t>($places, true),
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
        // SAFETY: the caller's promises.
        StepOp::Binary(BinaryOp::Pow) if ty == Ty::F32 && unsafe { power::<f32>(&places) } => {}
        // SAFETY: the caller's promises.
        StepOp::Binary(BinaryOp::Pow) if ty == Ty::F64 && unsafe { power::<f64>(&places) } => {}
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

/// Steps that depend on the sign, of integers and of floats.
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

/// Conversions of an integer, or of a float where `$how` is `whole`, to all types but halves.
macro_rules! from {
    ($a:ident, $to:expr, $places:expr $(, $how:ident)?) => {
        match $to {
            Ty::I8 => one($places, |x: $a| -> i8 { from!(@ x as i8 $($how)?) }),
            Ty::I16 => one($places, |x: $a| -> i16 { from!(@ x as i16 $($how)?) }),
            Ty::I32 => one($places, |x: $a| -> i32 { from!(@ x as i32 $($how)?) }),
            Ty::I64 => one($places, |x: $a| -> i64 { from!(@ x as i64 $($how)?) }),
            Ty::U8 => one($places, |x: $a| -> u8 { from!(@ x as u8 $($how)?) }),
            Ty::U16 => one($places, |x: $a| -> u16 { from!(@ x as u16 $($how)?) }),
            Ty::U32 => one($places, |x: $a| -> u32 { from!(@ x as u32 $($how)?) }),
            Ty::U64 => one($places, |x: $a| -> u64 { from!(@ x as u64 $($how)?) }),
            Ty::F32 => one($places, |x: $a| x as f32),
            Ty::F64 => one($places, |x: $a| x as f64),
            Ty::F16 | Ty::Bf16 => {}
        }
    };
    (@ $x:ident as $t:ident) => { $x as $t };
    (@ $x:ident as $t:ident whole) => { Whole::<$t>::whole($x) };
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
            Ty::F32 => from!(f32, to, places, whole),
            Ty::F64 => from!(f64, to, places, whole),
            Ty::F16 | Ty::Bf16 => {}
        },
    }
}
