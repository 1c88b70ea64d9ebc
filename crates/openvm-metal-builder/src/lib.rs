//! Compiles kernels written in the Metal Shading Language for every device.
//!
//! One source, three targets: flattened source for Apple GPUs, native objects for CPUs, PTX for NVIDIA
//! GPUs; and from the kernels' own signatures, typed Rust launchers. See `docs/kernels.md`.

pub mod builder;
mod cache;
mod casts;
#[cfg(feature = "census")]
pub mod census;
pub mod clause;
pub mod clauses;
pub mod codegen_cpp;
pub mod codegen_rust;
pub mod compiler;
mod edits;
pub mod error;
mod flatten;
pub mod function_constants;
pub mod kernel_fn;
pub mod lexer;
pub mod lint;
mod literals;
pub mod macros;
mod overloads;
pub mod preprocess;
pub mod probe;
pub mod rewrite;
pub mod scan;
pub mod scope;
pub mod shim;
pub mod signature;
pub mod slices;
pub mod target_apple;
pub mod target_cpu;
pub mod target_metallib;
pub mod target_ptx;
pub mod toolchain;
pub mod types;

pub use builder::{embed, fail, Builder};
pub use codegen_cpp::PTX_ABI;
pub use error::{BuildError, Finding};
pub use function_constants::{ConstantValue, FunctionConstant};
pub use toolchain::Toolchain;
