//! Programs through the command: run, keys, proofs, files, and what users get wrong.

#[cfg(feature = "reference")]
mod bench;
mod costs;
#[cfg(feature = "evm")]
mod evm;
mod execution;
mod guests;
#[cfg(unix)]
#[path = "../cli/interrupts.rs"]
mod interrupts;
mod proofs;
#[path = "../../../openvm-metal-sdk/tests/riscv/mod.rs"]
mod riscv;
mod support;
mod terminal;
mod traps;
mod trust;
