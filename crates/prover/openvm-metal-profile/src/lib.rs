#![doc = include_str!("../README.md")]

mod calls;
mod context;
mod cost;
mod disassembly;
mod error;
mod flamegraph;
mod model;
mod pprof;
mod recording;
mod report;
mod symbols;
mod tree;

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_stark_sdk::config::baby_bear_poseidon2::F;

pub use calls::Stack;
pub use cost::Cost;
pub use disassembly::{disassemble, REGISTERS};
pub use error::ProfileError;
pub use flamegraph::{flamegraph, Unit};
pub use model::TimeModel;
pub use pprof::pprof;
pub use recording::{Chip, Recording};
pub use report::{ChipCost, FunctionCost, LineCost, Profile, Remainder};
pub use symbols::{Frame, Function, Symbols};

/// OpenVM's executable over the field of its proofs.
pub type Executable = VmExe<F>;
