//! The groups of the self test, and that a wrong result is seen.

use hologram_conformance::operations::{difference, suite};
use hologram_kernels::{Operation, Ty};
use openvm_metal_common::DeviceProfile;

use crate::{context, EXACT};

#[test]
fn every_family_and_type_has_a_group() {
    let profile = context().device_profile().clone();
    let names = |profile: &DeviceProfile| -> Vec<String> {
        suite(profile).into_iter().map(|group| group.name).collect()
    };
    let all = names(&profile);
    // Elementwise operations and reductions of 12 types; losses, rows and products of 4.
    assert_eq!(all.len(), 2 * 12 + 3 * 4, "{all:?}");
    let single = DeviceProfile {
        double_precision: false,
        ..profile
    };
    let without: Vec<String> = all.into_iter().filter(|n| !n.ends_with("f64")).collect();
    assert_eq!(names(&single), without);
}

#[test]
fn elements_that_differ_are_named() {
    let one = 1.0f32.to_le_bytes();
    let above = 1.0001f32.to_le_bytes();
    let host = [one, one, one].concat();
    let device = [one, one, above].concat();
    let found = difference(Ty::F32, &device, &host, EXACT).expect("a difference");
    assert!(found.starts_with("at 2: 1.0001"), "{found}");
    assert_eq!(difference(Ty::F32, &host, &host, EXACT), None);
    let loose = hologram_conformance::operations::Tolerance {
        relative: 1e-3,
        absolute: 0.0,
    };
    assert_eq!(difference(Ty::F32, &device, &host, loose), None);
    assert_eq!(
        difference(Ty::U16, &[1, 2, 3, 4], &[1, 2, 3, 5], EXACT).as_deref(),
        Some("at 1: 0x0403, on the host 0x0503")
    );
    assert!(difference(Ty::U16, &[1, 2], &[], EXACT).is_some());
    let nan = f32::NAN.to_le_bytes();
    assert_eq!(difference(Ty::F32, &nan, &nan, EXACT), None);
    assert!(difference(Ty::F32, &nan, &one, EXACT).is_some());
}

#[test]
fn a_case_of_another_seed_differs() {
    let groups = suite(context().device_profile());
    let sums = groups.iter().find(|group| group.name == "reductions u32");
    let mut cases = sums.expect("the group").cases.iter();
    let case = cases
        .find(|c| matches!(c.operation, Operation::Reduce { count: 31, .. }))
        .expect("a case");
    let read = |seed| [hologram_conformance::operations::random(Ty::U32, 31, seed)];
    let host = |seed| hologram_conformance::operations::on_host(&case.operation, &read(seed));
    let (a, b) = (host(1).expect("a sum"), host(2).expect("a sum"));
    assert!(difference(Ty::U32, &a, &b, case.tolerance).is_some());
}
