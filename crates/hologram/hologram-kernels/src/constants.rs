//! Constants that operations of programs may have.

use crate::{Constant, Epsilon, Operation};

/// Most bytes of an operand of a program, with elements of 8 bytes.
const MOST_BYTES: u64 = i64::MAX as u64;

impl Operation {
    /// True if a program may have the sizes: rows and columns of at least 1, operands below 2^63 bytes whatever their type.
    pub fn sizes_fit(&self) -> bool {
        let (lengths, count) = self.lengths();
        let small = |length: &u64| length.checked_mul(8).is_some_and(|b| b <= MOST_BYTES);
        !self.constants().contains(&Constant::Extent(0)) && lengths[..count].iter().all(small)
    }

    /// The constant that must be finite and not negative, and is not.
    pub fn wrong_tolerance(&self) -> Option<Epsilon> {
        let constants = self.constants().into_iter();
        let mut wrong = constants.filter_map(|constant| match constant {
            Constant::Tolerance(epsilon) if !epsilon.is_tolerance() => Some(epsilon),
            Constant::Tolerance(_)
            | Constant::Bits(_)
            | Constant::Count(_)
            | Constant::Extent(_) => None,
        });
        wrong.next()
    }
}
