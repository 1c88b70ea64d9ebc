#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`table`]: the instruction table.
//! * [`operations`]: whole-buffer operations on a device and on the host.
//! * [`random`]: random programs, random loops, and the comparison of two backends on them.
//! * [`hostile`]: wrong and damaged programs.
//! * [`Promise`]: properties of floats that differ between devices, which all of them are told.
//! * [`Numbers`]: the random numbers that all of them are drawn from.
#![warn(missing_docs)]

pub mod hostile;
mod numbers;
pub mod operations;
mod promise;
pub mod random;
pub mod table;

pub use numbers::Numbers;
pub use promise::Promise;
