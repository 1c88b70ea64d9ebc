//! The clauses of every kernel, by random launches on the device in `OPENVM_METAL_DEVICE` (the CPU by default).

use hologram_kernels::device::LIBRARY;
use openvm_metal_common::{check_clauses, Device, MetalContext};

#[test]
fn launches_stay_within_the_required_lengths() {
    let device = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(_) => Device::from_env().expect("a device"),
        Err(_) => Device::Cpu,
    };
    let context = MetalContext::new(device, &[&LIBRARY]).expect("the device");
    let report = check_clauses(&context.stream(), &LIBRARY, 10, 1).expect("right clauses");
    assert_eq!(report.without_launch, [""; 0]);
    assert_eq!(report.unchecked, [""; 0]);
    let kernels: usize = LIBRARY.units.iter().map(|unit| unit.kernels.len()).sum();
    assert_eq!(report.launched.len(), kernels);
}
