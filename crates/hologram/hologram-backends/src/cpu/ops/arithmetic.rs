//! Sums, products and their kin.

use super::typed;
use crate::cpu::lanes::Lanes;
use crate::cpu::step::{Handler, Step};
use crate::error::FaultKind;
use crate::isa::Ty;
use crate::semantics::{Arithmetic, Signed};

/// An operation on two values.
#[derive(Clone, Copy)]
pub(in crate::cpu) enum Binary {
    Add,
    Sub,
    Mul,
    Min,
    Max,
}

/// `d` = `a` op `b`.
pub(in crate::cpu) fn binary(op: Binary, ty: Ty) -> Option<Step> {
    fn handler<T: Arithmetic>(op: Binary) -> Handler {
        match op {
            Binary::Add => |l, s, _| l.compute2([s.d, s.a, s.b], T::add),
            Binary::Sub => |l, s, _| l.compute2([s.d, s.a, s.b], T::sub),
            Binary::Mul => |l, s, _| l.compute2([s.d, s.a, s.b], T::mul),
            Binary::Min => |l, s, _| l.choose([s.d, s.a, s.b], T::min),
            Binary::Max => |l, s, _| l.choose([s.d, s.a, s.b], T::max),
        }
    }
    typed!(ty, computable, T => Step::plain(handler::<T>(op)))
}

/// `d` = `a` / `b`.
pub(in crate::cpu) fn divide(ty: Ty) -> Option<Step> {
    if ty.is_float() {
        typed!(ty, floats, T => Step::plain(|l, s, _| l.compute2([s.d, s.a, s.b], |a: T, b: T| a / b)))
    } else {
        typed!(ty, ints, T => Step::fallible(|l, s, _| divide_integers::<T>(l, s)))
    }
}

fn divide_integers<T: Arithmetic>(l: &Lanes, s: &Step) {
    let (d, a, b) = (l.column::<T>(s.d), l.column::<T>(s.a), l.column::<T>(s.b));
    l.each_while(|i| match a[i].get().div(b[i].get()) {
        Some(quotient) => {
            d[i].set(quotient);
            true
        }
        None => {
            l.fail(i, FaultKind::DivisionByZero);
            false
        }
    });
}

/// `d` = `a` * `b` + `c`.
pub(in crate::cpu) fn mad(ty: Ty) -> Option<Step> {
    typed!(ty, computable, T => Step::plain(|l, s, _| {
        if l.flushes::<T>() {
            l.compute3([s.d, s.a, s.b, s.c], |a: T, b: T, c: T| l.flushed(a.mul(b)).add(c));
        } else {
            l.map3([s.d, s.a, s.b, s.c], <T as Arithmetic>::mad);
        }
    }))
}

/// `d` = |`a`|.
pub(in crate::cpu) fn abs(ty: Ty) -> Option<Step> {
    typed!(ty, signed, T => Step::plain(|l, s, _| l.map1(s.d, s.a, <T as Signed>::abs)))
}

/// `d` = -`a`.
pub(in crate::cpu) fn neg(ty: Ty) -> Option<Step> {
    typed!(ty, signed, T => Step::plain(|l, s, _| l.map1(s.d, s.a, <T as Signed>::neg)))
}
