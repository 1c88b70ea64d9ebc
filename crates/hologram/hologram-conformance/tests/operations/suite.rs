//! The groups of the self test, and that a wrong result is seen.

use hologram_conformance::operations::{
    compared, difference, on_device, on_host, random, suite, Tolerance,
};
use hologram_kernels::{BinaryOp, MapOp, Operation, Ty};
use openvm_metal_common::{Device, DeviceProfile, MetalContext};

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
    let loose = Tolerance {
        relative: 1e-3,
        absolute: 0.0,
        flushes: false,
    };
    assert_eq!(difference(Ty::F32, &device, &host, loose), None);
    assert_eq!(
        difference(Ty::U16, &[1, 2, 3, 4], &[1, 2, 3, 5], EXACT).as_deref(),
        Some("at 1: 0x0403, on the host 0x0503")
    );
    assert!(difference(Ty::U16, &[1, 2], &[], EXACT).is_some());
    let small = 1e-40f32.to_le_bytes();
    let zero = (-0.0f32).to_le_bytes();
    let flushing = Tolerance {
        flushes: true,
        ..EXACT
    };
    assert_eq!(compared(Ty::F32, &zero, &small, flushing), Ok(1));
    assert!(compared(Ty::F32, &zero, &small, EXACT).is_err());
    assert!(compared(Ty::F32, &small, &zero, flushing).is_err());
    let least = f32::MIN_POSITIVE.to_le_bytes();
    assert!(compared(Ty::F32, &zero, &least, flushing).is_err());
    assert!(compared(Ty::F64, &[0; 8], &1e-310f64.to_le_bytes(), flushing).is_err());
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

/// The processor under the profile of an Apple GPU: functions err by as much as they may there, by no more, and whatever rests on them is
/// within the tolerance of such a device.
#[test]
fn functions_err_as_on_an_apple_gpu() {
    let context = MetalContext::builder(Device::Cpu)
        .profile(DeviceProfile::named("m1-8gb").expect("a profile"))
        .libraries(&[&hologram_kernels::device::LIBRARY])
        .open()
        .expect("a context");
    let count = 4000;
    let units = |units: f64| Tolerance {
        relative: units * f64::from(f32::EPSILON),
        absolute: 0.0,
        flushes: false,
    };
    let (ty, map) = (Ty::F32, |op| Operation::Map {
        op,
        ty: Ty::F32,
        count,
    });
    let pow = Operation::MapBinary {
        op: BinaryOp::Pow,
        ty,
        count,
    };
    // Errors in units of the last place are half of that and more in units of epsilon.
    for (operation, least, most) in [
        (map(MapOp::Exp), 1.5, 4.0),
        (map(MapOp::Tan), 2.5, 6.0),
        (map(MapOp::Tanh), 2.0, 5.0),
        (pow, 7.5, 16.0),
    ] {
        let read = [random(ty, count as usize, 5), random(ty, count as usize, 6)];
        let read = &read[..operation.lengths().1 - 1];
        let device = on_device(&context, &operation, read, 0)
            .expect("a result")
            .bytes;
        let host = on_host(&operation, read).expect("a result");
        assert!(
            difference(ty, &device, &host, units(least)).is_some(),
            "{operation:?}"
        );
        assert_eq!(
            difference(ty, &device, &host, units(most)),
            None,
            "{operation:?}"
        );
    }
    let cases = suite(context.device_profile())
        .into_iter()
        .flat_map(|group| group.cases);
    let flushed = cases.map(|case| case.run(&context).expect("it runs").expect("equal"));
    assert!(flushed.sum::<usize>() > 0, "no result is subnormal");
}
