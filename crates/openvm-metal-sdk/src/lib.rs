//! OpenVM programs proved on Metal kernels: from an executable to one aggregated proof.
//!
//! [`MetalSdk`] does what openvm-sdk's `Sdk` does, on the device that it is given: an Apple GPU, an NVIDIA GPU
//! or the processor. Programs are OpenVM 2 guests; keys, executables and proofs have openvm-sdk's types, so that
//! [files] are cargo-openvm's and OpenVM's own verifier decides.
//!
//! ```no_run
//! use openvm_metal_common::Device;
//! use openvm_metal_sdk::{decode_elf, files, MetalSdk, ProveOptions, SdkError};
//! use openvm_sdk::StdIn;
//!
//! # fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let sdk = MetalSdk::standard(Device::Auto)?;
//! let elf = decode_elf(&std::fs::read("guest.elf")?)?;
//! let exe = sdk.executable(elf)?;
//!
//! let mut input = StdIn::default();
//! input.write(&100u64);
//! let options = ProveOptions::default().with_max_instructions(1 << 30);
//! match sdk.prove(exe, input, &options) {
//!     Ok(proved) => {
//!         println!("revealed {:?} in {:?}", proved.public_values, proved.report.total);
//!         files::write_proof("guest.stark.proof".as_ref(), &proved.proof)?;
//!     }
//!     Err(SdkError::GuestExit(code)) => println!("the guest gave up with {code}"),
//!     Err(error) => return Err(error.into()),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! * [`Sdk`]: configuration, keys, execution, proofs, verification; [`SdkBuilder`] configures one.
//! * [`Sdk::app_prover`]: segment proofs of one executable, without aggregation.
//! * [`AggregationKeys`], [`aggregate`]: leaves and internal nodes.
//! * [`tasks`]: the single tasks of a proof that many processes make.
//! * [`vm::MetalVmBuilder`]: the chips of every extension, for any [`SdkEngine`].
//! * [`system`]: program, connector, and the memory tree that is kept from segment to segment.
//! * [`ProveOptions`], [`Progress`], [`Report`]: bounds, who watches, and where the time went.
//! * [`guest`]: guests' packages, made and built on a stable toolchain.
//! * [`SdkError`]: what goes wrong, in the user's terms, with what to do.
//!
//! Everything is generic in the [`SdkEngine`]: OpenVM's CPU and reference engines run the same driver and are what
//! proofs are compared with.

mod aggregation;
pub mod app;
mod builder;
pub mod engine;
mod error;
mod executable;
pub mod files;
pub mod guest;
mod options;
pub mod parameters;
mod prelude;
mod progress;
mod report;
mod sdk;
mod slot;
pub mod system;
pub mod tasks;
mod verification;
pub mod vm;

pub use aggregation::{aggregate, Aggregated, AggregationKeys};
pub use builder::SdkBuilder;
pub use engine::SdkEngine;
pub use error::{SdkError, Stage};
pub use executable::{decode_elf, digest, executable, ExeDigest};
pub use options::{ProveOptions, DEFAULT_IN_FLIGHT, DEFAULT_MAX_INSTRUCTIONS};
pub use progress::{Event, Progress};
pub use report::Report;
pub use sdk::{MetalSdk, Proved, Sdk};
pub use verification::{public_values, verify, verify_app};
