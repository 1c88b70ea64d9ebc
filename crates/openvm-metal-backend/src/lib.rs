//! The SWIRL prover of OpenVM on kernels written in the Metal Shading Language.
//!
//! [`BabyBearPoseidon2MetalEngine`] is a `StarkEngine` of `openvm-stark-backend` 2.0.1 whose
//! prover phases (trace commitment, LogUp through GKR, batched zerocheck, stacked opening reduction,
//! WHIR) run in the kernels under `metal/`. A proof of the same input is byte-identical to the
//! reference engine's.
//!
//! ```
//! use std::sync::Arc;
//!
//! use openvm_metal_backend::BabyBearPoseidon2MetalEngine;
//! use openvm_metal_common::Device;
//! use openvm_stark_backend::{
//!     prover::{AirProvingContext, ColMajorMatrix, DeviceDataTransporter, ProvingContext},
//!     BaseAirWithPublicValues, PartitionedBaseAir, StarkEngine,
//! };
//! use openvm_stark_sdk::config::app_params_with_100_bits_security;
//! use p3_air::{Air, AirBuilder, BaseAir};
//! use p3_baby_bear::BabyBear;
//! use p3_field::{Field, PrimeCharacteristicRing};
//! use p3_matrix::Matrix;
//!
//! /// Each row is twice the row before.
//! struct Doubling;
//!
//! impl<F> BaseAir<F> for Doubling {
//!     fn width(&self) -> usize {
//!         1
//!     }
//! }
//! impl<F: Field> BaseAirWithPublicValues<F> for Doubling {}
//! impl<F: Field> PartitionedBaseAir<F> for Doubling {}
//! impl<AB: AirBuilder> Air<AB> for Doubling {
//!     fn eval(&self, builder: &mut AB) {
//!         let main = builder.main();
//!         let (local, next) = (main.row_slice(0).unwrap(), main.row_slice(1).unwrap());
//!         let twice = local[0].clone() + local[0].clone();
//!         builder.when_transition().assert_eq(next[0].clone(), twice);
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let params = app_params_with_100_bits_security(12);
//! let engine = BabyBearPoseidon2MetalEngine::try_new(params, Device::from_env()?)?;
//! let (pk, vk) = engine.keygen(&[Arc::new(Doubling)]);
//!
//! let device = engine.device();
//! let pk = device.transport_pk_to_device(&pk);
//! let trace = ColMajorMatrix::new(BabyBear::TWO.powers().take(16).collect(), 1);
//! let trace = device.transport_matrix_to_device(&trace);
//! let ctx = ProvingContext::new(vec![(0, AirProvingContext::simple_no_pis(trace))]);
//!
//! let proof = engine.prove(&pk, ctx)?;
//! engine.verify(&vk, &proof)?;
//! # Ok(())
//! # }
//! ```
//!
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
//! 64 bits wide. The words are those of `docs/glossary.md`.

mod backend;
mod commit;
mod config;
mod constraints;
mod debug;
mod device;
mod engine;
mod error;
pub mod gkr;
mod grind;
pub mod hash;
pub mod kernels;
mod matrix;
mod memory;
mod memory_plan;
pub mod ntt;
pub mod openings;
pub mod params;
pub mod prelude;
mod programs;
mod prove;
pub mod selftest;
mod stacked;
mod tensor;
mod transcript;
mod transport;
mod validate;

pub use backend::{MetalBackend, Transported};
pub use config::{ConstraintKernels, MetalProverConfig, CONSTRAINT_KERNELS_VARIABLE};
pub use constraints::{AirDataMetal, KernelReport};
pub use device::MetalDevice;
pub use engine::BabyBearPoseidon2MetalEngine;
pub use error::MetalProverError;
pub use matrix::{MetalMatrix, MetalSliceOwned};
pub use memory::{BufferLimit, MemoryEstimate, PlannedBuffer};
pub use programs::ProgramError;
pub use stacked::{StackedPcsDataMetal, StackedRange};
pub use transcript::DuplexSpongeMetal;
pub use transport::compile_kernels;
