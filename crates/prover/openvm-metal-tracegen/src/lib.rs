#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`DeviceChips`]: the chips of a virtual machine whose traces a device makes, by their index.
//! * [`SegmentTraces`]: the traces of one segment, with the counts of its lookup tables.
//! * [`RowChip`]: layout of a chip's records and columns; [`rv32im`]: those of the base instructions.
#![warn(missing_docs)]

mod chips;
pub mod kernels;
pub mod params;
mod row_chip;
pub mod rv32im;
mod segment;

pub use chips::{DeviceChip, DeviceChips, Table};
pub use row_chip::RowChip;
pub use segment::{SegmentTraces, TraceError};
