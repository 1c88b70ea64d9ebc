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
mod encoding;
pub mod engine;
mod error;
mod executable;
pub mod files;
pub mod guest;
mod guest_elf;
mod host_memory;
mod huge_pages;
#[cfg(not(test))]
#[doc(hidden)]
pub mod instances;
mod memory_config;
mod moduli;
mod options;
pub mod parameters;
mod poseidon2;
mod prelude;
mod progress;
mod report;
mod row_order;
mod sdk;
mod slot;
mod span;
pub mod system;
pub mod tasks;
mod verification;
mod verifying_key;
mod vm;
mod whole_file;

pub use aggregation::{aggregate, Aggregated, AggregationKeys};
pub use app::{AppKey, AppProver, CommittedExe, MeteredRun};
pub use builder::SdkBuilder;
pub use devices::DeviceList;
pub use encoding::{decode_proof, decode_stark_proof};
pub use engine::SdkEngine;
pub use error::{catch_panic, is_guarded, is_lack_of_memory, SdkError, Stage};
pub use executable::{digest, executable, ExeDigest};
pub use guest_elf::decode_elf;
pub use host_memory::default_host_memory;
pub use huge_pages::HugePages;
pub use options::{ProveOptions, DEFAULT_MAX_INSTRUCTIONS};
pub use progress::{Event, Progress};
pub use report::{DeviceReport, Report};
pub use row_order::RowOrder;
pub use sdk::{MetalSdk, Proved, Sdk};
pub use verification::{app_vm_commit, public_values, verify, verify_app, Verified};
pub use verifying_key::{
    check_key, is_openvm_circuit, key_hash, security_bits, MIN_SECURITY_BITS, OPENVM_CIRCUIT,
};
pub use vm::{MetalVmBuilder, Uploader};
