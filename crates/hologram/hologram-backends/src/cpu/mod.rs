//! The reference interpreter: what every program means.
//!
//! A program is validated and decoded once. Its lanes run in strips, all lanes of a strip one instruction
//! after the other; strips are spread over the cores. With barriers or shared memory a strip is a block;
//! programs that make or free pools run their strips in order.

mod backend;
mod cache;
mod interpreter;
mod intrinsic;
mod lanes;
mod launch;
mod machine;
mod memory;
mod ops;
mod prepare;
mod step;

pub use backend::{CpuBackend, CpuStats};
pub(crate) use interpreter::{run_call, Interpreter};
pub use memory::PROGRAM_POOL_BYTES;
pub(crate) use memory::{Block, Blocks, HostMemory};
