//! `Cost`: what instructions cost to prove.

use std::ops::{Add, AddAssign};

use serde::Serialize;

/// Costs of instructions. Rows are counted before their number is padded to a power of two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    pub instructions: u64,
    /// Cells of main traces: rows times columns, of the chips that execute the instructions and of those that hash the memory that
    /// they are first to touch in a segment.
    pub cells: u64,
    /// Messages of these rows: rows times the AIR's interactions.
    pub messages: u64,
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.cells += other.cells;
        self.messages += other.messages;
    }
}

impl Add for Cost {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl std::iter::Sum for Cost {
    fn sum<I: Iterator<Item = Self>>(costs: I) -> Self {
        costs.fold(Self::default(), Add::add)
    }
}
