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
pub mod field;
pub mod gkr;
pub mod grind;
pub mod hash;
pub mod kernels;
pub mod matrix;
pub mod memory_plan;
pub mod ntt;
pub mod openings;
pub mod params;
pub mod poly;
pub mod prelude;
mod prove;
pub mod selftest;
pub mod stacked;
pub mod transcript;
pub mod transport;
mod validate;

pub use error::MetalProverError;
