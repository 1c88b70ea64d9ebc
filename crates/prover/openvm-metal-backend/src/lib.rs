#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`BabyBearPoseidon2MetalEngine`] and its [`MetalDevice`]: where proofs are made, with the decisions of
//!   [`MetalProverConfig`].
//! * [`MetalMatrix`]: a trace on the device; [`MetalProverError`]: why there is no proof;
//!   [`MemoryEstimate`]: what a proof will need.
//! * Phases that can be used by themselves: [`gkr`], [`openings`], and what they are made of: [`hash`], [`ntt`],
//!   [`kernels`].
//! * [`selftest`]: every kernel against its oracle.
//!
//! Conventions, everywhere: a matrix is column major; a field element in device memory is the
//! Montgomery `u32` of `p3_baby_bear::BabyBear`, an extension element four of them; cell indices are
//! 64 bits wide.

mod backend;
mod beside;
pub mod bn254;
mod commit;
mod config;
mod constraint_check;
mod constraints;
mod device;
mod engine;
mod error;
pub mod gkr;
mod grind;
pub mod hash;
mod host_poseidon2;
mod jobs;
mod kept_codewords;
mod kept_commitment;
pub mod kernels;
pub mod keygen;
mod matrix;
mod memory;
mod memory_plan;
pub mod ntt;
pub mod openings;
pub mod params;
pub mod prelude;
mod programs;
mod prove;
mod prover_profile;
pub mod selftest;
mod stacked;
mod tensor;
mod transcript;
mod transport;
mod validate;

pub use backend::{MetalBackend, Transported};
pub use commit::{codewords, CommitParams};
pub use config::{ConstraintKernels, MetalProverConfig, CONSTRAINT_KERNELS_VARIABLE};
pub use constraint_check::{AirTraces, BrokenConstraint, Column, ConstraintCheck};
pub use constraints::{AirDataMetal, KernelReport};
pub use device::MetalDevice;
pub use engine::{BabyBearBn254Poseidon2MetalEngine, BabyBearPoseidon2MetalEngine, MetalEngine};
pub use error::MetalProverError;
pub use kept_codewords::KeptCodewords;
pub use matrix::{MetalMatrix, MetalSliceOwned};
pub use memory::{BufferLimit, MemoryEstimate, PlannedBuffer};
pub use programs::ProgramError;
pub use prove::OpeningPoint;
pub use stacked::{StackedPcsDataMetal, StackedRange};
pub use transcript::DuplexSpongeMetal;
pub use transport::{compile_kernels, compiled_airs, kernel_texts};
