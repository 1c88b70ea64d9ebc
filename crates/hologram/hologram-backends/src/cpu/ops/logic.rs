//! Bits, shifts, comparisons, selection, moves.

use super::{by_width, typed};
use crate::cpu::step::{Handler, Step};
use crate::isa::{Condition, Ty};
use crate::semantics::{compare, Arithmetic, Integer};

/// A bitwise operation on two values.
#[derive(Clone, Copy)]
pub(in crate::cpu) enum Bitwise {
    And,
    Or,
    Xor,
}

/// `d` = `a` op `b`.
pub(in crate::cpu) fn bitwise(op: Bitwise, ty: Ty) -> Option<Step> {
    fn handler<T: Integer>(op: Bitwise) -> Handler {
        match op {
            Bitwise::And => |l, s, _| l.map2([s.d, s.a, s.b], T::and),
            Bitwise::Or => |l, s, _| l.map2([s.d, s.a, s.b], T::or),
            Bitwise::Xor => |l, s, _| l.map2([s.d, s.a, s.b], T::xor),
        }
    }
    // The bits of signed and unsigned integers are the same.
    ty.is_int()
        .then(|| by_width!(ty, T => Step::plain(handler::<T>(op))))
}

/// `d` = !`a`.
pub(in crate::cpu) fn not(ty: Ty) -> Option<Step> {
    ty.is_int()
        .then(|| by_width!(ty, T => Step::plain(|l, s, _| l.map1(s.d, s.a, <T as Integer>::not))))
}

/// `d` = `a` << `b`.
pub(in crate::cpu) fn shl(ty: Ty) -> Option<Step> {
    typed!(ty, ints, T => Step::plain(|l, s, _| l.map2([s.d, s.a, s.b], <T as Integer>::shl)))
}

/// `d` = `a` >> `b`.
pub(in crate::cpu) fn shr(ty: Ty) -> Option<Step> {
    typed!(ty, ints, T => Step::plain(|l, s, _| l.map2([s.d, s.a, s.b], <T as Integer>::shr)))
}

/// Predicate `d` = `a` compared with `b`.
pub(in crate::cpu) fn set(condition: Condition, ty: Ty) -> Option<Step> {
    fn handler<T: Arithmetic>(condition: Condition) -> Handler {
        macro_rules! each {
            ($($c:ident)*) => {
                match condition {
                    $(Condition::$c => |l, s, _| {
                        l.compute2([s.d, s.a, s.b], |a: T, b: T| u8::from(compare(Condition::$c, a, b)));
                    },)*
                }
            };
        }
        each!(Eq Ne Lt Le Gt Ge Ltu Leu Gtu Geu)
    }
    if condition.is_unsigned() && ty.is_float() {
        return None;
    }
    typed!(ty, computable, T => Step::plain(handler::<T>(condition)))
}

/// `d` = predicate `c` ? `a` : `b`.
pub(in crate::cpu) fn select(ty: Ty) -> Step {
    by_width!(ty, W => Step::plain(|l, s, _| {
        l.map3([s.d, s.c, s.a, s.b], |p: u8, a: W, b: W| if p != 0 { a } else { b });
    }))
}

/// `d` = `a`.
pub(in crate::cpu) fn copy(ty: Ty) -> Step {
    by_width!(ty, W => Step::plain(|l, s, _| l.map1(s.d, s.a, |x: W| x)))
}

/// `d` = the immediate.
pub(in crate::cpu) fn immediate(ty: Ty, value: u64) -> Step {
    let step = by_width!(ty, W => Step::plain(|l, s, _| l.map0(s.d, s.value as W)));
    Step { value, ..step }
}
