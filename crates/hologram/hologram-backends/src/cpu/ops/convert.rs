//! Conversions.

use super::logic::copy;
use super::typed;
use crate::cpu::step::Step;
use crate::isa::Ty;
use crate::semantics::{convert as value, Scalar};

/// `d` = `a` of another type.
pub(in crate::cpu) fn convert(dst: Ty, src: Ty) -> Option<Step> {
    fn from<S: Scalar>(dst: Ty) -> Option<Step> {
        typed!(dst, all, D => Step::plain(|l, s, _| l.map1(s.d, s.a, value::<S, D>)))
    }
    // Integers of one width have the same bits.
    if dst == src || (dst.is_int() && src.is_int() && dst.size() == src.size()) {
        return Some(copy(dst));
    }
    typed!(src, all, S => from::<S>(dst)).flatten()
}
