//! The CPU device plans as other devices would: proofs, refusals and memory under every profile.

#[path = "../common/mod.rs"]
mod common;

mod buffers;
mod equality;
mod planning;
