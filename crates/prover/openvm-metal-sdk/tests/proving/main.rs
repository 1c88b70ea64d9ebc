//! Programs through the whole SDK with toy parameters: aggregated proofs that OpenVM's verifier accepts,
//! application proofs that equal the CPU engine's, files shared with the stock SDK, system chips beside the stock ones, and bad input.
//!
//! One program for all of them: each that has the virtual machine in it takes minutes to compile.

mod aggregated;
mod bad_input;
mod deferral;
mod determinism;
mod devices;
mod edges;
mod equality;
mod example;
mod examples;
mod faulty;
mod files;
mod guards;
mod guest;
mod host_memory;
mod machine_shapes;
mod resume;
#[path = "../riscv/mod.rs"]
mod riscv;
mod root;
mod security;
mod setup;
mod system_chips;
mod tasks;
#[path = "../toy/mod.rs"]
mod toy;
mod wrong_proofs;
