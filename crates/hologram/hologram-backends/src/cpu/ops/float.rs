//! Fused products, exponentials, logarithms, roots, circular functions.

use super::typed;
use crate::cpu::step::{Handler, Step};
use crate::isa::Ty;
use crate::semantics::Float;

/// A function of one value.
#[derive(Clone, Copy)]
pub(in crate::cpu) enum Function {
    Exp,
    Log,
    Log2,
    Log10,
    Sqrt,
    Rsqrt,
    Sin,
    Cos,
    Tan,
    Tanh,
    Sigmoid,
}

/// `d` = function of `a`.
pub(in crate::cpu) fn function(function: Function, ty: Ty) -> Option<Step> {
    fn handler<T: Float>(function: Function) -> Handler {
        match function {
            Function::Exp => |l, s, _| l.compute1(s.d, s.a, T::exp),
            Function::Log => |l, s, _| l.compute1(s.d, s.a, T::log),
            Function::Log2 => |l, s, _| l.compute1(s.d, s.a, T::log2),
            Function::Log10 => |l, s, _| l.compute1(s.d, s.a, T::log10),
            Function::Sqrt => |l, s, _| l.compute1(s.d, s.a, T::sqrt),
            Function::Rsqrt => |l, s, _| l.compute1(s.d, s.a, T::rsqrt),
            Function::Sin => |l, s, _| l.compute1(s.d, s.a, T::sin),
            Function::Cos => |l, s, _| l.compute1(s.d, s.a, T::cos),
            Function::Tan => |l, s, _| l.compute1(s.d, s.a, T::tan),
            Function::Tanh => |l, s, _| l.compute1(s.d, s.a, T::tanh),
            Function::Sigmoid => |l, s, _| l.compute1(s.d, s.a, T::sigmoid),
        }
    }
    typed!(ty, floats, T => Step::plain(handler::<T>(function)))
}

/// `d` = `a` * `b` + `c`, rounded once.
pub(in crate::cpu) fn fma(ty: Ty) -> Option<Step> {
    typed!(ty, floats, T => Step::plain(|l, s, _| l.compute3([s.d, s.a, s.b, s.c], <T as Float>::fma)))
}

/// `d` = `a` to the `b`.
pub(in crate::cpu) fn pow(ty: Ty) -> Option<Step> {
    typed!(ty, floats, T => Step::plain(|l, s, _| l.compute2([s.d, s.a, s.b], <T as Float>::pow)))
}
