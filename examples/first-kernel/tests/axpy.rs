//! The kernel against its oracle, on the device in `OPENVM_METAL_DEVICE` and in conformance mode.

use first_kernel::{axpy_on_host, kernels, params::AxpyParams};
use openvm_metal_common::{Device, Grid, MetalBuffer, MetalContext, MetalError};

fn check(device: Device, n: usize) -> Result<(), MetalError> {
    let ctx = MetalContext::new(device, &[&kernels::LIBRARY])?;
    let s = ctx.stream();
    let _stage = s.stage("axpy");
    let modulus = 2_013_265_921;
    let numbers = |seed: u32| -> Vec<u32> {
        (0..n as u32)
            .map(|i| (i.wrapping_mul(2_654_435_761) ^ seed) % modulus)
            .collect()
    };
    let (x, mut expected) = (numbers(1), numbers(2));
    let on_device = MetalBuffer::from_host(&s, &x)?;
    let mut y = MetalBuffer::from_host(&s, &expected)?;
    let params = AxpyParams {
        a: 1_234_567_890,
        modulus,
        n: n as u32,
    };
    kernels::axpy(&s, Grid::threads(n), &on_device, &mut y, &params)?;
    axpy_on_host(&x, &mut expected, params.a, modulus);
    assert_eq!(y.to_host(&s)?, expected, "{n} elements on {device}");
    Ok(())
}

#[test]
fn the_kernel_gives_what_its_oracle_gives() -> Result<(), MetalError> {
    for device in [Device::from_env()?, Device::CpuConformance] {
        for n in [1, 31, 1000, 70_001] {
            check(device, n)?;
        }
    }
    Ok(())
}

#[test]
fn a_buffer_that_is_too_short_is_refused() -> Result<(), MetalError> {
    let ctx = MetalContext::new(Device::Cpu, &[&kernels::LIBRARY])?;
    let s = ctx.stream();
    let x = MetalBuffer::from_host(&s, &[1u32; 9])?;
    let mut y = MetalBuffer::from_host(&s, &[1u32; 10])?;
    let params = AxpyParams {
        a: 1,
        modulus: 7,
        n: 10,
    };
    let error = kernels::axpy(&s, Grid::threads(10), &x, &mut y, &params);
    assert!(
        matches!(&error, Err(MetalError::BufferTooShort { .. })),
        "{error:?}"
    );
    Ok(())
}
