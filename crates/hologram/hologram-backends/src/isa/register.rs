//! General and predicate registers of a lane.

use std::fmt;

use crate::program_error::ProgramError;

/// General registers of a lane.
pub const REGISTERS: usize = 256;
/// Predicate registers of a lane.
pub const PREDICATES: usize = 16;

/// One of the 256 general registers, `r0` to `r255`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(u8);

impl Register {
    /// Preset: the lane's x index in its block, `u32`.
    pub const LANE_X: Self = Self(252);
    /// Preset: the block's x index in the grid, `u32`.
    pub const BLOCK_X: Self = Self(253);
    /// Preset: lanes of a block along x, `u32`.
    pub const BLOCK_DIM_X: Self = Self(254);
    /// Preset: linear block x lanes of a block + linear lane, x fastest, then y, then z; `u64`.
    pub const GLOBAL_LANE: Self = Self(255);

    /// Register `r<index>`.
    pub const fn new(index: u8) -> Self {
        Self(index)
    }

    /// The index, 0 to 255.
    pub const fn index(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.0)
    }
}

/// One of the 16 predicate registers, `p0` to `p15`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Predicate(u8);

impl Predicate {
    /// Predicate `p<index>`.
    ///
    /// # Errors
    /// [`ProgramError::InvalidPredicate`] from 16 on.
    pub const fn new(index: u8) -> Result<Self, ProgramError> {
        if (index as usize) < PREDICATES {
            Ok(Self(index))
        } else {
            Err(ProgramError::InvalidPredicate(index))
        }
    }

    /// The index, 0 to 15.
    pub const fn index(self) -> u8 {
        self.0
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "p{}", self.0)
    }
}
