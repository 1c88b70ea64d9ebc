//! Checks of kernels whose own tests are elsewhere, on the device of the environment and in
//! conformance mode; and that no kernel is left without a check.

use openvm_metal_common::{kernel::Prepare, Device, DeviceProfile, MetalContext};

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

/// The units of large tiles are left out on a processor, which says that it has as much threadgroup memory as Apple's GPUs.
#[test]
fn every_kernel_is_run_by_a_check() {
    let never = never_run("cpu", "");
    assert!(never.is_empty(), "not run: {never:?}");
    let mut never = never_run("h100-80gb", "ntt/tall");
    let of_cells = never_run("h100-80gb", "commit/encode_columns");
    never.retain(|kernel| of_cells.contains(kernel) && large_tiles().any(|large| large == *kernel));
    assert!(never.is_empty(), "not run: {never:?}");
    assert_eq!(large_tiles().count(), 6);
}

/// Kernels of units that devices with little threadgroup memory leave out.
fn large_tiles() -> impl Iterator<Item = &'static str> {
    let profile = DeviceProfile::named("m1-8gb").expect("a profile");
    let units = LIBRARY.units.iter();
    let units = units.filter(move |unit| unit.prepared.leaves_out(&profile).is_some());
    units
        .flat_map(|unit| unit.kernels)
        .map(|kernel| kernel.name)
}

/// Code that an Apple GPU compiles at a cold start, by Mesa's count of instructions.
#[test]
fn a_cold_start_on_apple_compiles_little() {
    let profile = DeviceProfile::named("m1-8gb").expect("a profile");
    let counts = include_str!("../../../../../tools/apple_static/counts.tsv");
    let rows = counts.lines().skip(1).map(|line| {
        let mut cells = line.split('\t');
        let (kernel, count) = (
            cells.next().expect("a name"),
            cells.next().expect("a count"),
        );
        (kernel, count.parse::<u64>().expect("a number"))
    });
    let counts: std::collections::BTreeMap<_, _> = rows.collect();
    let units = LIBRARY.units.iter();
    let at_start = units.filter(|unit| {
        unit.prepared != Prepare::AtFirstUse && unit.prepared.leaves_out(&profile).is_none()
    });
    let compiled: u64 = at_start
        .flat_map(|unit| unit.kernels)
        .map(|kernel| {
            counts
                .get(kernel.name)
                .unwrap_or_else(|| panic!("{} has no count", kernel.name))
        })
        .sum();
    assert!(compiled <= 120_000, "{compiled} instructions");
}
