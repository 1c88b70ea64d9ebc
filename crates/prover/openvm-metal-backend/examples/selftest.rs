//! Every kernel against its oracle on the device in `OPENVM_METAL_DEVICE`, without the command: the smallest program
//! that needs all kernels.

use openvm_metal_backend::{kernels::LIBRARY, selftest::checks};
use openvm_metal_common::{Device, MetalContext};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let context = MetalContext::new(Device::from_env()?, &[&LIBRARY])?;
    println!("{}", context.info());
    let mut failed = 0;
    for check in checks() {
        match check.run(&context.stream(), 0) {
            Ok(()) => println!("ok      {}", check.path()),
            Err(failure) => {
                failed += 1;
                println!("FAILED  {}: {failure}", check.path());
            }
        }
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} checks failed").into()),
    }
}
