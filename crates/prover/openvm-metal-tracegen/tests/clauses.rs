//! The clauses of every kernel, by random launches on the device in `OPENVM_METAL_DEVICE` (the CPU by default).

use openvm_metal_common::{check_clauses, Device, MetalContext};
use openvm_metal_tracegen::kernels::LIBRARY;

fn check(device: Device, rounds: usize) {
    let context = MetalContext::new(device, &[&LIBRARY]).expect("the device");
    let report = check_clauses(&context.stream(), &LIBRARY, rounds, 1).expect("right clauses");
    assert!(
        report.without_launch.is_empty(),
        "no launch was found for {:?}",
        report.without_launch
    );
    assert!(report.unchecked.is_empty(), "{:?}", report.unchecked);
    assert_eq!(report.launched.len(), 31);
}

#[test]
fn launches_stay_within_the_required_lengths() {
    let device = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(_) => Device::from_env().expect("a device"),
        Err(_) => Device::Cpu,
    };
    check(device, 40);
}

#[test]
fn launches_on_fibers_stay_within_the_required_lengths() {
    check(Device::CpuConformance, 4);
}
