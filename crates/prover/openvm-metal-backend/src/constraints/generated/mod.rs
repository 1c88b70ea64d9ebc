//! Kernels written for the rules of each AIR, compiled while the program runs.
//!
//! `batches` says which rules are compiled together, `text` writes them, `compile` and `pool` turn them into units on
//! threads of their own, `launch` runs them in place of the interpreter. Whether there are any is
//! [`ConstraintKernels`](crate::config::ConstraintKernels); results are the same words.

mod batches;
mod compile;
mod folder;
mod kernels;
mod launch;
mod pool;
mod sections;
mod start;
#[cfg(test)]
mod tests;
mod text;

pub use self::{
    kernels::{ReadyKernel, SumKernels},
    launch::{RuleBuffers, RuleEvaluation, RuleLaunch, SectionTables},
    pool::{KernelReport, Unit},
    sections::PlannedSections,
    start::{compile_ahead, start, texts},
};
