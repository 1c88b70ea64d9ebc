//! Checks of kernels whose own tests are elsewhere, on the device of the environment and in
//! conformance mode; and that no kernel is left without a check.

use openvm_metal_common::{Device, MetalContext};

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

#[test]
fn every_kernel_is_run_by_a_check() {
    let context = MetalContext::new(Device::Cpu, &[&LIBRARY]).expect("CPU");
    context.set_profiling(true);
    for check in checks() {
        if let Err(failure) = check.run(&context.stream(), 0) {
            panic!("{}: {failure}", check.path());
        }
    }
    let coverage = Coverage::of(&context).expect("profile");
    assert!(
        coverage.never_run.is_empty(),
        "not run: {:?}",
        coverage.never_run
    );
}
