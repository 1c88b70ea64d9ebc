//! Devices that do not exist, fail, hang or have no memory left.

mod support;

use std::time::{Duration, Instant};

use openvm_metal_common::{
    devices, Device, DeviceKind, Grid, InjectedFault, MetalBuffer, MetalContext, MetalError,
};
use support::{add, context, LIBRARY};

#[test]
fn device_names() {
    assert_eq!("CPU".parse::<Device>().unwrap(), Device::Cpu);
    assert_eq!(
        "cpu-conformance".parse::<Device>().unwrap(),
        Device::CpuConformance
    );
    for (name, device, shown) in [
        ("cuda", Device::Cuda(0), "cuda"),
        ("cuda:0", Device::Cuda(0), "cuda"),
        ("CUDA:12", Device::Cuda(12), "cuda:12"),
    ] {
        assert_eq!(name.parse::<Device>().unwrap(), device);
        assert_eq!(device.to_string(), shown);
    }
    for name in [
        "cuda:",
        "cuda:-1",
        "cuda:+1",
        "cuda:x",
        "cuda:99999999999",
        "metal:1",
    ] {
        assert!(name.parse::<Device>().is_err(), "{name}");
    }
    let error = "gpu".parse::<Device>().unwrap_err();
    assert!(matches!(&error, MetalError::UnknownDevice { name } if name == "gpu"));
    assert!(error
        .to_string()
        .contains("expected auto, metal, cuda, cuda:1"));
}

#[test]
fn a_named_device_is_never_replaced() {
    let found = devices();
    assert_eq!(found.iter().filter(|report| report.default).count(), 1);
    for report in found {
        match MetalContext::new(report.device, &[]) {
            Ok(ctx) => assert_eq!(ctx.info().kind, report.kind),
            Err(MetalError::DeviceUnavailable { device, reason }) => {
                assert_eq!(device, report.kind);
                assert_eq!(Some(reason), report.missing);
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(
        MetalContext::new(Device::Cpu, &[]).unwrap().info().kind,
        DeviceKind::Cpu
    );
}

#[test]
fn a_gpu_that_does_not_exist() {
    let error = MetalContext::new(Device::Cuda(4096), &[])
        .map(drop)
        .expect_err("no machine has so many");
    assert!(
        matches!(
            &error,
            MetalError::DeviceUnavailable {
                device: DeviceKind::Cuda,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn allocations_over_the_budget() {
    let ctx = MetalContext::with_budget(Device::Cpu, &[&LIBRARY], Some(1 << 20)).unwrap();
    let s = ctx.stream();
    let _stage = s.stage("commit");
    let held = MetalBuffer::<u8>::uninit(&ctx, 600 << 10).unwrap();
    let error = MetalBuffer::<u8>::uninit(&ctx, 600 << 10).unwrap_err();
    let MetalError::OutOfMemory {
        requested,
        in_use,
        budget,
        stage,
    } = error
    else {
        panic!()
    };
    assert_eq!((requested, budget, &*stage), (600 << 10, 1 << 20, "commit"));
    assert!(in_use >= 600 << 10);
    drop(held);
    MetalBuffer::<u8>::uninit(&ctx, 600 << 10).unwrap();
    let error = MetalBuffer::<u64>::uninit(&ctx, usize::MAX).unwrap_err();
    assert!(matches!(error, MetalError::OutOfMemory { .. }));
    let error = MetalBuffer::<u8>::uninit(&ctx, usize::MAX).unwrap_err();
    assert!(matches!(error, MetalError::OutOfMemory { .. }));
}

#[test]
fn the_device_runs_out_of_memory() {
    let ctx = context(Device::Cpu);
    ctx.inject_fault(InjectedFault::AllocationFailed);
    let error = MetalBuffer::<u8>::uninit(&ctx, 100).unwrap_err();
    assert!(
        matches!(error, MetalError::OutOfMemory { requested: 100, .. }),
        "{error}"
    );
    MetalBuffer::<u8>::uninit(&ctx, 100).unwrap();
}

#[test]
fn a_lost_device_names_stage_and_kernels_and_ends_the_context() {
    let ctx = context(Device::Cpu);
    let s = ctx.stream();
    let a = MetalBuffer::<u32>::zeroed(&s, 64).unwrap();
    let mut b = MetalBuffer::<u32>::zeroed(&s, 64).unwrap();
    ctx.inject_fault(InjectedFault::DeviceLost { dispatches: 2 });
    let stage = s.stage("gkr");
    add(&s, Grid::threads(64), &a, &mut b, 1, 64).unwrap();
    add(&s, Grid::threads(64), &a, &mut b, 1, 64).unwrap();
    let error = add(&s, Grid::threads(64), &a, &mut b, 1, 64).unwrap_err();
    let MetalError::DeviceLost {
        device,
        stage: name,
        ref kernels,
        ..
    } = error.clone()
    else {
        panic!()
    };
    assert_eq!(
        (device, &*name, kernels.0.len()),
        (DeviceKind::Cpu, "gkr", 3)
    );
    assert!(
        error.is_fatal() && error.to_string().contains("add, add, add"),
        "{error}"
    );
    drop(stage);
    for later in [
        s.wait().unwrap_err(),
        b.fill_zero(&s).unwrap_err(),
        a.to_host(&s).unwrap_err(),
    ] {
        assert!(matches!(later, MetalError::DeviceLost { .. }), "{later}");
    }
    let error = MetalBuffer::<u32>::uninit(&ctx, 1).unwrap_err();
    assert!(matches!(error, MetalError::DeviceLost { .. }), "{error}");
}

#[test]
fn failed_submissions_and_endless_waits() {
    let ctx = context(Device::Cpu);
    ctx.inject_fault(InjectedFault::SubmissionFailed);
    let s = ctx.stream();
    let error = s.wait().unwrap_err();
    assert!(
        matches!(error, MetalError::SubmissionFailed { .. }),
        "{error}"
    );

    let ctx = context(Device::Cpu);
    ctx.set_wait_limit(Duration::from_millis(50));
    ctx.inject_fault(InjectedFault::EndlessWait);
    let s = ctx.stream();
    let a = MetalBuffer::<u32>::zeroed(&s, 64).unwrap();
    let start = Instant::now();
    let error = a.to_host(&s).unwrap_err();
    assert!(matches!(error, MetalError::WaitTimeout { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn waits_take_longer_where_work_may() {
    let ctx = context(Device::Cpu);
    let ms = Duration::from_millis;
    ctx.set_wait_limit(ms(50));
    let short = ctx.wait_longer(ms(10));
    let long = ctx.wait_longer(ms(100));
    let again = ctx.wait_longer(ms(100));
    assert_eq!(ctx.wait_limit(), ms(150));
    drop(long);
    assert_eq!(ctx.wait_limit(), ms(150));
    ctx.inject_fault(InjectedFault::EndlessWait);
    let start = Instant::now();
    match ctx.stream().wait() {
        Err(MetalError::WaitTimeout { after, .. }) => assert_eq!(after, ms(150)),
        other => panic!("{other:?}"),
    }
    assert!(start.elapsed() >= ms(150));
    drop(again);
    assert_eq!(ctx.wait_limit(), ms(60));
    drop(short);
    assert_eq!(ctx.wait_limit(), ms(50));
    // More than clocks count.
    let _endless = ctx.wait_longer(Duration::MAX);
    assert_eq!(ctx.wait_limit(), Duration::MAX);
}
