//! Folds over consecutive registers.

use super::typed;
use crate::cpu::lanes::{Column, Lanes};
use crate::cpu::step::{Handler, Step};
use crate::isa::Ty;
use crate::semantics::Arithmetic;

/// An operation that folds.
#[derive(Clone, Copy)]
pub(in crate::cpu) enum Fold {
    Add,
    Min,
    Max,
    Mul,
}

/// `d` = the identity: the fold of no registers.
pub(in crate::cpu) fn identity(op: Fold, ty: Ty) -> Option<Step> {
    fn bits<T: Arithmetic>(op: Fold) -> u64 {
        let value = match op {
            Fold::Add => T::ZERO,
            Fold::Min => T::HIGHEST,
            Fold::Max => T::LOWEST,
            Fold::Mul => T::ONE,
        };
        value.to_bits()
    }
    let bits = typed!(ty, folds, T => bits::<T>(op))?;
    Some(super::logic::immediate(ty, bits))
}

/// `d` = fold from the left of `value` adjacent columns from `a` on; at least one.
pub(in crate::cpu) fn fold(op: Fold, ty: Ty) -> Option<Step> {
    fn handler<T: Arithmetic>(op: Fold) -> Handler {
        match op {
            Fold::Add => |l, s, _| computed::<T>(l, s, T::add),
            Fold::Min => |l, s, _| chosen::<T>(l, s, T::min),
            Fold::Max => |l, s, _| chosen::<T>(l, s, T::max),
            Fold::Mul => |l, s, _| computed::<T>(l, s, T::mul),
        }
    }
    typed!(ty, folds, T => Step::plain(handler::<T>(op)))
}

fn computed<T: Arithmetic>(l: &Lanes, s: &Step, f: impl Fn(T, T) -> T) {
    if l.flushes::<T>() {
        return run(l, s, |a, b| l.flushed(f(l.flushed(a), l.flushed(b))));
    }
    run(l, s, f);
}

fn chosen<T: Arithmetic>(l: &Lanes, s: &Step, f: impl Fn(T, T) -> T) {
    if l.flushes::<T>() {
        return run(l, s, |a, b| l.chosen(a, b, &f));
    }
    run(l, s, f);
}

fn run<T: Arithmetic>(l: &Lanes, s: &Step, f: impl Fn(T, T) -> T) {
    let size = std::mem::size_of::<T>() as u32;
    let d = l.column::<T>(s.d);
    l.each(|i| {
        let mut sum = l.column::<T>(s.a)[i].get();
        for k in 1..s.value as u32 {
            sum = f(sum, l.column::<T>(Column(s.a.0 + k * size))[i].get());
        }
        d[i].set(sum);
    });
}
