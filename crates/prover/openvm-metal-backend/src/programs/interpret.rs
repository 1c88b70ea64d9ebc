//! The host evaluator of programs: the meaning of the encoding, and the reference for the kernels.

use std::ops::{Add, Mul, Neg, Sub};

use super::{
    program::{Operand, Operation, Program, Sink},
    rules::{Place, Rules, Target, UseRange},
};
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

impl Operation {
    /// The value of an instruction with such operands.
    pub(super) fn of<V: Value>(self, a: V, b: V, c: V) -> V {
        match self {
            Self::Copy => a,
            Self::Add => a + b,
            Self::Sub => a - b,
            Self::Mul | Self::MulU => a * b,
            Self::MulAdd | Self::MulAddU => a * b + c,
            Self::MulSub | Self::MulSubU => a * b - c,
            Self::NegMulAdd | Self::NegMulAddU => c - a * b,
        }
    }
}

impl Rules {
    /// The accumulators of some uses at one point.
    pub fn evaluate<V: Value>(
        &self,
        ranges: &[UseRange],
        variable: impl Fn(u32) -> V,
        uniforms: &[F],
        coefficients: &[EF],
    ) -> [EF; 2] {
        let mut accumulators = [EF::from(F::default()); 2];
        for range in ranges {
            let rule = &self.list[range.rule as usize];
            for k in range.uses.clone() {
                let first = (rule.first + k * rule.words) as usize;
                let operands = &self.operands[first..first + rule.words as usize];
                let (variables, rest) = operands.split_at(rule.variables as usize);
                let (constants, weights) = rest.split_at(rule.uniforms.len());
                let mut values: Vec<V> = Vec::new();
                for statement in &rule.statements {
                    let load = |place: Place| match place {
                        Place::Value(i) => values[i as usize],
                        Place::Variable(i) => variable(variables[i as usize]),
                        Place::Uniform(i) => V::from(
                            rule.uniforms[i as usize]
                                .unwrap_or_else(|| uniforms[constants[i as usize] as usize]),
                        ),
                    };
                    let [a, b, c] = statement.operands.map(load);
                    let value = statement.operation.of(a, b, c);
                    match statement.target {
                        Target::Value(_) => values.push(value),
                        Target::Accumulator(a, weight) => {
                            let weight = coefficients[weights[weight as usize] as usize];
                            accumulators[a as usize] += weight * value.into();
                        }
                    }
                }
            }
        }
        accumulators
    }
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
            let value = instruction.operation.of(a, b, c);
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
