//! The host evaluator of programs: the meaning of the encoding, and the reference for the kernels.

use std::ops::{Add, Mul, Neg, Sub};

use super::program::{Operand, Operation, Program, Sink};
use crate::prelude::{EF, F};

/// Values a program runs over: `F` (round 0) or `EF` (MLE rounds).
pub trait Value:
    Copy
    + From<F>
    + Into<EF>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Neg<Output = Self>
{
}
impl Value for F {}
impl Value for EF {}

/// Result of an evaluation: the accumulators, and the fractions (count, message) in the order of emission.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluation<V> {
    pub accumulators: [EF; 2],
    pub fractions: Vec<(u32, V, EF)>,
}

impl Program {
    /// Runs the instructions `range` at one point.
    pub fn evaluate<V: Value>(
        &self,
        range: std::ops::Range<u32>,
        variable: impl Fn(u32) -> V,
        uniforms: &[F],
        coefficients: &[EF],
    ) -> Evaluation<V> {
        let zero = V::from(F::default());
        let mut registers = vec![zero; self.registers as usize];
        let mut spills = vec![zero; self.spills as usize];
        let mut accumulators = [EF::from(F::default()); 2];
        let mut fractions = Vec::new();
        for instruction in &self.code[range.start as usize..range.end as usize] {
            let load = |operand: Operand| match operand {
                Operand::Register(i) => registers[i as usize],
                Operand::Variable(i) => variable(i),
                Operand::Uniform(i) => V::from(uniforms[i as usize]),
                Operand::Spill(i) => spills[i as usize],
            };
            let [a, b, c] = instruction.operands.map(load);
            let value = match instruction.operation {
                Operation::Copy => a,
                Operation::Add => a + b,
                Operation::Sub => a - b,
                Operation::Mul | Operation::MulU => a * b,
                Operation::MulAdd | Operation::MulAddU => a * b + c,
                Operation::MulSub | Operation::MulSubU => a * b - c,
                Operation::NegMulAdd | Operation::NegMulAddU => c - a * b,
            };
            match instruction.sink {
                Sink::Register(i) => registers[i as usize] = value,
                Sink::Spill(i) => spills[i as usize] = value,
                Sink::Accumulate0(i) => {
                    accumulators[0] += coefficients[i as usize] * value.into();
                }
                Sink::Accumulate1(i) => {
                    accumulators[1] += coefficients[i as usize] * value.into();
                }
                Sink::Emit(i) => {
                    fractions.push((i, value, accumulators[0]));
                    accumulators[0] = EF::from(F::default());
                }
            }
        }
        Evaluation {
            accumulators,
            fractions,
        }
    }
}
