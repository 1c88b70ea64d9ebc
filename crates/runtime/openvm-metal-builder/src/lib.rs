#![allow(
    clippy::needless_doctest_main,
    reason = "the example is a build script"
)]
#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Builder`]: what a build script calls; [`embed`]: functions for kernels that are made at run time.
//! * [`Toolchain`]: the same steps for kernels made at run time, and for kernels of others.
//! * [`lint`], [`scan`], [`lexer`], [`slices`], [`target_apple`], [`target_ptx`], [`target_metallib`]: single steps, for tools and tests.
//! * [`BuildError`], [`Finding`]: what is wrong with a kernel, where, and what to do.

mod builder;
mod cache;
mod casts;
#[cfg(feature = "census")]
pub mod census;
mod clause;
mod clauses;
mod codegen_cpp;
mod codegen_rust;
mod compiler;
mod cost_units;
mod directive;
mod edits;
mod error;
mod files;
mod flatten;
mod function_constants;
mod kernel_fn;
pub mod lexer;
pub mod lint;
mod literals;
mod macros;
mod overloads;
mod preprocess;
mod probe;
mod rewrite;
pub mod scan;
mod scope;
pub mod shim;
mod signature;
pub mod slices;
pub mod target_apple;
mod target_cpu;
pub mod target_metallib;
pub mod target_ptx;
mod toolchain;
mod types;

pub use builder::{embed, fail, Builder};
pub use cache::hash;
pub use codegen_cpp::PTX_ABI;
pub use compiler::Compiler;
pub use error::{BuildError, Finding};
pub use function_constants::{ConstantValue, FunctionConstant};
pub use kernel_fn::Kind;
pub use preprocess::Preprocessed;
pub use toolchain::{native_abi, SharedKernel, SharedKernels, Toolchain};
