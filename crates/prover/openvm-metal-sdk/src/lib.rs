#![doc = include_str!("../README.md")]
//!
//! ## In this crate
//! * [`Sdk`]: configuration, keys, execution, proofs, verification; [`SdkBuilder`] configures one.
//! * [`DeviceList`], [`SdkBuilder::devices`]: several devices that prove one job together.
//! * [`MetalSdk::app_prover`]: segment proofs of one executable, without aggregation.
//! * [`AggregationKeys`], [`aggregate`]: leaves and internal nodes.
//! * [`Deferrals`], [`MetalSdk::prove_deferred`]: computations that a guest leaves to other circuits.
//! * [`root`], [`MetalSdk::prove_root`]: the last STARK before a contract.
//! * [`tasks`]: the single tasks of a proof that many processes make.
//! * [`MetalVmBuilder`]: the chips of every extension, for any [`SdkEngine`].
//! * [`system`]: program, connector, and the memory tree that is kept from segment to segment.
//! * [`files`]: cargo-openvm's files of keys, executables and proofs.
//! * [`Cache`]: commitments that are kept on disk from process to process.
//! * [`ProveOptions`], [`Progress`], [`Report`]: bounds, who watches, and where the time went.
//! * [`HugePages`]: the allocator that a program should take which proves long executions.
//! * [`guest`]: guests' packages, made and built on a stable toolchain.
//! * [`parameters`]: small parameters without security, to try things out.
//! * [`Metering`]: the parts of a metered execution, for other interpreters, as the profiler's.
//! * [`AppProver::check_constraints`]: every constraint on every row, without a proof.
//! * [`SdkError`]: what goes wrong, in the user's terms, with what to do.
//!
//! The types are generic in the [`SdkEngine`]: OpenVM's CPU and reference engines run the same driver and are what
//! proofs are compared with. The methods of [`MetalSdk`] are not, so that the virtual machine, which is generic code and takes
//! minutes to compile, is compiled with this crate and not with each program that uses it. For other engines there are the
//! methods that begin with `generic_`.

// Types of other crates in the interface of this one.
pub use openvm_circuit::arch::{instructions::exe::VmExe, ContinuationVmProof};
pub use openvm_metal_backend::{BrokenConstraint, Column};
pub use openvm_metal_common::Device;
pub use openvm_sdk::{
    config::AppConfig,
    keygen::{AggProvingKey, AppProvingKey, AppVerifyingKey, RootProvingKey},
    types::{AppExecutionCommit, ExecutableFormat},
    DeferralInput, StdIn,
};
pub use openvm_sdk_config::SdkVmConfig;
pub use openvm_transpiler::elf::Elf;
pub use openvm_verify_stark_host::{
    vk::{VerificationBaseline, VmStarkVerifyingKey},
    VmStarkProof,
};

mod aggregation;
mod app;
mod builder;
mod cache;
mod deferred_calls;
pub mod devices;
mod encoding;
pub mod engine;
mod error;
mod executable;
mod execution;
mod fault;
pub mod files;
pub mod guest;
mod guest_elf;
mod guest_output;
mod host_memory;
mod huge_pages;
mod memory_config;
mod metering;
mod moduli;
mod options;
mod own_thread;
mod parallel_verification;
pub mod parameters;
mod poseidon2;
mod prelude;
mod progress;
mod replay;
mod report;
pub mod root;
mod row_order;
mod sdk;
mod slot;
mod span;
pub mod system;
mod table_sizes;
pub mod tasks;
mod typed_input;
mod unread;
mod verification;
mod verifying_key;
mod vm;
mod whole_file;

pub use aggregation::{
    aggregate, Aggregated, AggregationKeys, DeferralCircuit, DeferralSettings, Deferrals,
    DeferredCall, DeferredCalls, VerifyStark,
};
pub use app::{
    resumed_segment_max_memory, AppKey, AppProver, CheckedRun, CommittedExe, MeteredRun,
};
pub use builder::SdkBuilder;
pub use cache::{Cache, CacheEntry, CacheError, CacheKind};
pub use devices::DeviceList;
pub use encoding::{decode_proof, decode_stark_proof};
pub use engine::SdkEngine;
pub use error::{catch_panic, is_guarded, is_lack_of_memory, SdkError, Stage};
pub use executable::{
    digest, executable, executable_with, ignored_traps, ignored_traps_of_elf, ExeDigest,
    ProgramSource, Traps,
};
pub use execution::Rows;
pub use fault::{Access, Fault};
pub use guest_elf::{decode_elf, GuestElf};
pub use guest_output::{plain_text, GuestOutput, Stdout};
pub use host_memory::default_host_memory;
pub use huge_pages::HugePages;
pub use metering::{Air, Executor, Metering};
pub use options::{ProveOptions, DEFAULT_MAX_INSTRUCTIONS};
pub use progress::{Event, Progress};
pub use replay::{replay, Stop};
pub use report::{DeviceReport, Report};
pub use row_order::RowOrder;
pub use sdk::{MetalSdk, Proved, ProvedRoot, RootTimes, Sdk};
pub use unread::Unread;
pub use verification::{app_vm_commit, public_values, verify, verify_app, Verified};
pub use verifying_key::{
    check_key, is_openvm_circuit, key_hash, security_bits, MIN_SECURITY_BITS, OPENVM_CIRCUIT,
};
pub use vm::{MetalVmBuilder, Uploader};
