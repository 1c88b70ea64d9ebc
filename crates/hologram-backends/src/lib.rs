//! The Atlas instruction set on one runtime.
//!
//! A [`Program`] is a list of typed instructions with labels, made by [`ProgramBuilder`], read from
//! assembly text or from bytes. [`validate`](validate::validate) proves it well formed; a [`Backend`]
//! runs it over a grid of blocks of lanes. [`cpu::CpuBackend`] is the reference semantics.
//! Every rule is written down in `docs/hologram.md`.
#![warn(missing_docs)]

pub mod atlas;
pub mod backend;
pub mod cpu;
#[cfg(test)]
mod documented;
pub mod hostile;
pub mod intrinsics;
pub mod isa;
pub mod metal;
pub mod program;
pub mod random;
pub mod semantics;
pub mod table;
pub mod translate;
pub mod validate;

pub use backend::error::{BackendError, Fault, FaultKind, Result};
pub use backend::handle::{BufferHandle, PoolHandle, Ticket};
pub use backend::launch::{Dim3, ExecutionParams, LaunchConfig, SharedMemory};
pub use backend::Backend;
pub use hologram_kernels::host::expression;
pub use intrinsics::{IntrinsicCall, Operand};
pub use isa::{
    Address, BinaryOp, Category, Condition, Epsilon, Instruction, Label, LossOp, MapOp,
    MemoryScope, Predicate, ReduceOp, Register, Ty,
};
pub use program::builder::ProgramBuilder;
pub use program::error::ProgramError;
pub use program::Program;
pub use validate::{ValidationError, ValidationErrorKind};
