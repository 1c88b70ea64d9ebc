//! The instruction set: types, registers, addresses, instructions and what each of them allows.

mod address;
mod condition;
mod field;
mod field_impls;
mod instruction;
mod label;
pub mod legality;
mod operands;
mod register;

pub use address::Address;
pub use condition::{Condition, MemoryScope};
pub(crate) use field::Reader;
pub use hologram_kernels::{BinaryOp, Epsilon, LossOp, MapOp, ReduceOp, Ty};
#[cfg(test)]
pub(crate) use instruction::Row;
pub use instruction::{Category, Instruction};
pub use label::Label;
pub use register::{Predicate, Register, PREDICATES, REGISTERS};
