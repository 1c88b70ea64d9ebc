//! The openings phase against the reference prover, on random layouts.

mod commits;
mod stacked_reduction;
mod transcript;
mod whir;

#[path = "../common/params.rs"]
#[allow(dead_code, reason = "this binary uses a part")]
mod params;

use openvm_metal_backend::kernels;
use openvm_metal_common::{Device, MetalContext};

/// The device of the environment, and the CPU in conformance mode.
fn contexts() -> Vec<MetalContext> {
    let device = Device::from_env().expect("device");
    [device, Device::cpu_conformance()]
        .into_iter()
        .map(|device| MetalContext::shared_on(device, &[&kernels::LIBRARY]).expect("context"))
        .collect()
}
