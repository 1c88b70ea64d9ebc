#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`table`]: the instruction table.
//! * [`random`]: random programs, random loops, and the comparison of two backends on them.
//! * [`hostile`]: wrong and damaged programs.
//! * [`Numbers`]: the random numbers that all of them are drawn from.
#![warn(missing_docs)]

pub mod hostile;
mod numbers;
pub mod random;
pub mod table;

pub use numbers::Numbers;
