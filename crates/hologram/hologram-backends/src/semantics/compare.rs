//! Comparisons.

use super::Arithmetic;
use crate::isa::Condition;

/// True if `a` stands in relation `condition` to `b`.
///
/// The unsigned conditions compare the bits as unsigned integers. A NaN makes all but `ne` false.
#[inline(always)]
pub fn compare<T: Arithmetic>(condition: Condition, a: T, b: T) -> bool {
    match condition {
        Condition::Eq => a == b,
        Condition::Ne => a != b,
        Condition::Lt => a < b,
        Condition::Le => a <= b,
        Condition::Gt => a > b,
        Condition::Ge => a >= b,
        Condition::Ltu => a.to_bits() < b.to_bits(),
        Condition::Leu => a.to_bits() <= b.to_bits(),
        Condition::Gtu => a.to_bits() > b.to_bits(),
        Condition::Geu => a.to_bits() >= b.to_bits(),
    }
}
