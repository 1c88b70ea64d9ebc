#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Program`], [`ProgramBuilder`], [`Instruction`]: programs; [`validate`](validate::validate) proves one well formed.
//! * [`Backend`]: memory and execution on one device. [`cpu::CpuBackend`] is the reference semantics,
//!   [`metal::MetalBackend`] the fused kernels.
//! * [`IntrinsicCall`]: operations on whole buffers, in programs and by themselves.
//! * [`translate`]: the kernel that a program becomes.
//! * [`BackendError`], [`Fault`], [`ProgramError`], [`ValidationError`]: what can go wrong.
#![warn(missing_docs)]

pub mod atlas;
pub mod backend;
pub mod cpu;
#[cfg(test)]
mod documented;
mod error;
mod handle;
mod intrinsics;
pub mod isa;
pub mod metal;
pub mod native;
pub mod program;
mod program_error;
mod semantics;
mod stop;
pub mod translate;
pub mod validate;

pub use backend::launch::{Dim3, ExecutionParams, LaunchConfig, SharedMemory};
pub use backend::Backend;
pub use error::{BackendError, Fault, FaultKind, Result};
pub use handle::{BufferHandle, PoolHandle, Ticket};
pub use hologram_kernels::host::expression;
pub use hologram_kernels::{Form, Operation};
pub use intrinsics::{IntrinsicCall, Operand, OperandUse, Operands};
pub use isa::{
    Address, BinaryOp, Category, Condition, Epsilon, Instruction, Label, LossOp, MapOp,
    MemoryScope, Predicate, ReduceOp, Register, Ty,
};
pub use program::builder::ProgramBuilder;
pub use program::Program;
pub use program_error::ProgramError;
pub use stop::Stop;
pub use validate::{ValidationError, ValidationErrorKind};
