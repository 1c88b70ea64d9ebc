//! A 64-bit float constant that can be compared and hashed.

use std::fmt;

/// A 64-bit float constant of an instruction or operation, compared by its bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Epsilon(u64);

impl Epsilon {
    /// From a value; any is held, the validator wants it finite and not negative.
    pub const fn new(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// The value.
    pub const fn value(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// True if it is finite and not negative.
    pub fn is_tolerance(self) -> bool {
        self.value().is_finite() && self.value() >= 0.0
    }

    /// The bit pattern.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// From a bit pattern.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value().is_finite() {
            write!(f, "{:?}", self.value())
        } else {
            write!(f, "{:#x}", self.0)
        }
    }
}
