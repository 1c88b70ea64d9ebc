//! Checks of kernels whose own tests are elsewhere, on the device of the environment and in
//! conformance mode; and that no kernel is left without a check.

use openvm_metal_common::{Device, DeviceProfile, MetalContext};

use super::{checks, Coverage};
use crate::kernels::LIBRARY;

#[test]
fn commit() {
    super::test_group("commit");
}

#[test]
fn cells_to_tall_tiles() {
    super::test_group_as("h100-80gb", "commit", "encode_columns");
    super::test_group_as("h100-80gb", "commit", "open_columns");
}

#[test]
fn gkr() {
    super::test_group("gkr");
}

#[test]
fn openings() {
    super::test_group("openings");
}

#[test]
fn transcript() {
    super::test_group("transcript");
}

#[test]
fn peaks() {
    super::test_group("bench");
}

#[test]
fn prover() {
    super::test_group("prover");
}

/// Kernels that no check whose path has `filter` in it runs under a profile.
fn never_run(profile: &str, filter: &str) -> Vec<&'static str> {
    let profile = DeviceProfile::named(profile).expect("a profile");
    let libraries = [&LIBRARY];
    let builder = MetalContext::builder(Device::Cpu).libraries(&libraries);
    let context = builder.profile(profile).open().expect("CPU");
    context.set_profiling(true);
    for check in checks()
        .iter()
        .filter(|check| check.path().contains(filter))
    {
        if let Err(failure) = check.run(&context.stream(), 0) {
            panic!("{}: {failure}", check.path());
        }
    }
    Coverage::of(&context).expect("profile").never_run
}

/// The largest tiles need more threadgroup memory than a processor says it has.
#[test]
fn every_kernel_is_run_by_a_check() {
    let mut never = never_run("cpu", "");
    let with_large_tiles = never_run("h100-80gb", "ntt/tall");
    never.retain(|kernel| with_large_tiles.contains(kernel));
    assert!(never.is_empty(), "not run: {never:?}");
}
