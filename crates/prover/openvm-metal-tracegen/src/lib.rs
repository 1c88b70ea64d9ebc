#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`DeviceChips`]: the chips of a virtual machine whose traces a device makes, by their index.
//! * [`SegmentTraces`]: the traces of one segment, with the counts of its lookup tables.
//! * [`Permutations`]: inputs of the Poseidon2 chip.
//! * [`RowChip`]: layout of a chip's records and columns; [`rv32im`]: those of the base instructions; [`keccak`]: those of Keccak-256; [`sha2`]: those
//!   of SHA-256 and SHA-512; [`bigint`]: those of 256-bit integers.
#![warn(missing_docs)]

pub mod bigint;
mod chips;
pub mod keccak;
pub mod kernels;
pub mod params;
mod poseidon2;
mod row_chip;
pub mod rv32im;
mod segment;
pub mod sha2;

pub use chips::{uncounted_tuples, DeviceChip, DeviceChips, Table};
pub use poseidon2::Permutations;
pub use row_chip::{RowChip, RowWords};
pub use segment::{SegmentTraces, TraceError};
