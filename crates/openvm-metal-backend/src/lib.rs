//! The SWIRL prover of OpenVM on kernels written in the Metal Shading Language.
//!
//! `BabyBearPoseidon2MetalEngine` is a `StarkEngine` of `openvm-stark-backend` 2.0.1 whose
//! prover phases (trace commitment, LogUp through GKR, batched zerocheck, stacked opening reduction,
//! WHIR) run in the kernels under `metal/`. A proof of the same input is byte-identical to the
//! reference engine's.
//!
//! Conventions, everywhere: a matrix is column major; a field element in device memory is the
//! Montgomery `u32` of `p3_baby_bear::BabyBear`, an extension element four of them; cell indices are
//! 64 bits wide.

pub mod backend;
pub mod commit;
pub mod config;
pub mod constraints;
pub mod debug;
pub mod device;
pub mod engine;
pub mod error;
pub mod gkr;
pub mod grind;
pub mod hash;
pub mod kernels;
pub mod matrix;
pub mod memory;
mod memory_plan;
pub mod ntt;
pub mod openings;
pub mod params;
pub mod prelude;
pub mod programs;
mod prove;
pub mod selftest;
pub mod stacked;
pub mod transcript;
pub mod transport;
mod validate;

pub use backend::{MetalBackend, Transported};
pub use config::MetalProverConfig;
pub use device::MetalDevice;
pub use engine::BabyBearPoseidon2MetalEngine;
pub use error::MetalProverError;
pub use matrix::{MetalMatrix, MetalSliceOwned};
pub use memory::{BufferLimit, MemoryEstimate, PlannedBuffer};
pub use transcript::DuplexSpongeMetal;
