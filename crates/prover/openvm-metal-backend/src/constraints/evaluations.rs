//! A program at all points of some cosets, or of some values of X.

use super::eval_field::EvalField;
use crate::{params::ConstraintEvalJob, prelude::EF};

/// The sums of each accumulator of a program; the second list is empty if there is one accumulator.
///
/// Of round 0: entry `z * cosets + c` belongs to point `g^(c+1) w^z`. Of a round over the hypercube: at `X = 1..=degree`.
/// Numerators are without the norm factor, denominators without their constant terms.
pub type ProgramSums = [Vec<EF>; 2];

/// Evaluations of a program that differ in little: cosets, or values of X.
#[derive(Clone, Copy, Debug)]
pub struct Evaluations {
    /// Everything of the first but the program and its results.
    pub job: ConstraintEvalJob,
    pub field: EvalField,
    pub count: u32,
    /// Words of the arena from one to the next.
    pub arena_stride: u64,
    /// From the X of one to that of the next.
    pub step_stride: u32,
    /// Most sections that the interpreter's programs are cut into.
    pub sections: usize,
}
