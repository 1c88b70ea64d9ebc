#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Sdk`]: configuration, keys, execution, proofs, verification; [`SdkBuilder`] configures one.
//! * [`DeviceList`], [`SdkBuilder::devices`]: several devices that prove one job together.
//! * [`Sdk::app_prover`]: segment proofs of one executable, without aggregation.
//! * [`AggregationKeys`], [`aggregate`]: leaves and internal nodes.
//! * [`tasks`]: the single tasks of a proof that many processes make.
//! * [`MetalVmBuilder`]: the chips of every extension, for any [`SdkEngine`].
//! * [`system`]: program, connector, and the memory tree that is kept from segment to segment.
//! * [`files`]: cargo-openvm's files of keys, executables and proofs.
//! * [`ProveOptions`], [`Progress`], [`Report`]: bounds, who watches, and where the time went.
//! * [`HugePages`]: the allocator that a program should take which proves long executions.
//! * [`guest`]: guests' packages, made and built on a stable toolchain.
//! * [`parameters`]: small parameters without security, to try things out.
//! * [`SdkError`]: what goes wrong, in the user's terms, with what to do.
//!
//! Everything is generic in the [`SdkEngine`]: OpenVM's CPU and reference engines run the same driver and are what
//! proofs are compared with.

mod aggregation;
mod app;
mod builder;
#[cfg(any(target_os = "linux", test))]
mod control_groups;
pub mod devices;
pub mod engine;
mod error;
mod executable;
pub mod files;
pub mod guest;
mod host_memory;
mod huge_pages;
#[cfg(not(test))]
#[doc(hidden)]
pub mod instances;
mod options;
pub mod parameters;
mod poseidon2;
mod prelude;
mod progress;
mod report;
mod row_order;
mod sdk;
mod slot;
pub mod system;
pub mod tasks;
mod verification;
mod vm;
mod whole_file;

pub use aggregation::{aggregate, Aggregated, AggregationKeys};
pub use app::{AppKey, AppProver, CommittedExe, MeteredRun};
pub use builder::SdkBuilder;
pub use devices::DeviceList;
pub use engine::SdkEngine;
pub use error::{SdkError, Stage};
pub use executable::{decode_elf, digest, executable, ExeDigest};
pub use host_memory::default_host_memory;
pub use huge_pages::HugePages;
pub use options::{ProveOptions, DEFAULT_MAX_INSTRUCTIONS};
pub use progress::{Event, Progress};
pub use report::{DeviceReport, Report};
pub use row_order::RowOrder;
pub use sdk::{MetalSdk, Proved, Sdk};
pub use verification::{public_values, verify, verify_app};
pub use vm::{MetalVmBuilder, Uploader};
