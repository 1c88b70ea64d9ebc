#![doc = include_str!("../README.md")]

mod c;
#[cfg(target_family = "wasm")]
mod wasm;

pub use c::{
    openvm_metal_verified_free, openvm_metal_verify, OpenvmMetalVerified, INVALID_ARGUMENT,
    REFUSED, VALID,
};
