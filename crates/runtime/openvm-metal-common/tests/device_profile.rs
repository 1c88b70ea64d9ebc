//! The CPU device with profiles of others, and profiles that cannot be had.

use std::process::Command;

use openvm_metal_common::{
    Device, DeviceKind, DeviceProfile, Execution, MetalBuffer, MetalContext, MetalError,
    DEVICE_PROFILE_VARIABLE,
};

fn open(name: &str) -> MetalContext {
    let profile = DeviceProfile::named(name).expect(name);
    MetalContext::builder(Device::Cpu)
        .budget(None)
        .profile(profile)
        .open()
        .expect(name)
}

#[test]
fn every_profile_is_complete_and_plausible() {
    let names = DeviceProfile::names();
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name), "{name} twice");
        let p = DeviceProfile::named(name).unwrap();
        assert_eq!(p.name, *name);
        assert_eq!(p, name.parse().unwrap());
        assert!(
            p.cores > 0 && p.threads_per_core > 0 && p.simd_width > 0,
            "{p:?}"
        );
        assert!(p.max_threads_per_threadgroup >= 1024, "{p:?}");
        assert!(p.max_threadgroup_memory >= 32 << 10, "{p:?}");
        // That of the processor follows the memory that is free.
        let whole = p.budget == p.working_set || *name == "cpu";
        assert!(whole && p.budget > 0, "{p:?}");
        assert!(
            p.budget <= p.working_set && p.working_set <= p.memory,
            "{p:?}"
        );
        assert!(p.max_buffer > 0 && p.max_buffer <= p.memory, "{p:?}");
        // A product takes longer than moving a byte only on devices that do not exist.
        assert!(
            p.products_per_second > 1 << 28 && p.bytes_per_second > 1 << 30,
            "{p:?}"
        );
        let apple = name.starts_with('m');
        assert_eq!(apple, p.unified && !p.double_precision, "{p:?}");
        assert_eq!(p.many_core(), *name != "cpu", "{p:?}");
        assert_eq!(p.vectors, *name == "cpu", "{p:?}");
        assert_eq!(p.matrix_units, *name != "cpu", "{p:?}");
        assert_eq!(p.addresses, *name != "mac-runner", "{p:?}");
        if apple {
            // The largest buffer of an Apple GPU is three quarters of the working set.
            let ratio = p.max_buffer as f64 / p.working_set as f64;
            assert!((0.73..0.76).contains(&ratio), "{p:?}");
        }
    }
    let kinds = [DeviceKind::Metal, DeviceKind::Cuda, DeviceKind::Cpu];
    let typical = kinds.map(DeviceProfile::typical);
    assert_eq!(typical.map(|p| p.double_precision), [false, true, true]);
}

/// Returns whether two budgets are one: a processor's follows from the memory that is free at the time.
fn close(a: u64, b: u64) -> bool {
    a.abs_diff(b) <= a / 16
}

#[test]
fn the_cpu_device_takes_a_profile() {
    let own = MetalContext::builder(Device::Cpu)
        .budget(None)
        .open()
        .unwrap();
    let own = own.device_profile();
    let named = DeviceProfile::named("cpu").unwrap();
    assert!(close(own.budget, named.budget));
    let mut own_but_budget = own.clone();
    own_but_budget.budget = named.budget;
    assert_eq!(own_but_budget, named);
    for name in DeviceProfile::names() {
        let named = DeviceProfile::named(name).unwrap();
        let context = open(name);
        let (info, profile) = (context.info(), context.device_profile());
        assert_eq!((info.kind, profile.name), (DeviceKind::Cpu, name));
        assert_eq!(profile.max_buffer, named.max_buffer);
        assert!(close(profile.budget, named.budget));
        assert_eq!(profile.cores, named.cores);
        // What kernels of the processor are does not change.
        assert_eq!(profile.simd_width, own.simd_width);
        assert!(profile.vectors && !profile.matrix_units);
        let most = named.max_threadgroup_memory.min(256 << 10);
        assert_eq!(profile.max_threadgroup_memory, most);
        // No more is given out than this machine has.
        let most = context.memory().budget;
        assert!(
            most <= profile.budget && most <= own.working_set,
            "{name}: {most}"
        );
        assert!(info.to_string().contains(name), "{info}");
    }
    let conformance = MetalContext::builder(Device::CpuConformance)
        .profile(DeviceProfile::named("m1-8gb").unwrap())
        .open()
        .unwrap();
    assert_eq!(conformance.device_profile().simd_width, 32);
    assert_eq!(conformance.device_profile().execution, Execution::ManyCore);
}

#[test]
fn the_host_fills_only_unified_memory_in_place() {
    for (name, unified) in [("m1-8gb", true), ("h100-80gb", false)] {
        let context = open(name);
        assert_eq!(context.device_profile().unified, unified);
        let s = &context.stream();
        let data: Vec<u32> = (0..1000).collect();
        let fill = |memory: &mut [u32]| memory.copy_from_slice(&data);
        let filled = MetalBuffer::<u32>::filled_by_host(&context, data.len(), fill).unwrap();
        assert_eq!(filled.is_some(), unified);
        let buffer = filled.unwrap_or_else(|| MetalBuffer::from_host(s, &data).unwrap());
        assert_eq!(buffer.to_host(s).unwrap(), data);
        assert_eq!(buffer.slice(10..20).to_host(s).unwrap(), data[10..20]);
    }
}

#[test]
fn buffers_over_the_largest_are_refused() {
    let mut profile = DeviceProfile::named("m1-8gb").unwrap();
    profile.max_buffer = 4 << 20;
    assert!(profile.has_buffer(4 << 20) && !profile.has_buffer((4 << 20) + 1));
    assert!(!profile.has_buffer(u64::MAX));
    let context = MetalContext::builder(Device::Cpu)
        .profile(profile)
        .open()
        .unwrap();
    MetalBuffer::<u8>::uninit(&context, 4 << 20).unwrap();
    let error = MetalBuffer::<u8>::uninit(&context, (4 << 20) + 1).unwrap_err();
    let MetalError::BufferTooLarge { requested, limit } = error else {
        panic!("{error}");
    };
    assert_eq!((requested, limit), ((4 << 20) + 1, 4 << 20));
}

#[test]
fn a_profile_that_does_not_exist_lists_those_that_do() {
    for name in ["m7", "", "M1"] {
        let error = DeviceProfile::named(name).unwrap_err();
        assert!(matches!(&error, MetalError::UnknownDeviceProfile { .. }));
        let text = error.to_string();
        assert!(text.contains(&format!("'{name}'")), "{text}");
        for known in DeviceProfile::names() {
            assert!(text.contains(known), "{text}");
        }
    }
}

#[test]
fn gpus_keep_their_own_profile() {
    for (device, kind) in [
        (Device::Metal, DeviceKind::Metal),
        (Device::Cuda(0), DeviceKind::Cuda),
    ] {
        let profile = DeviceProfile::named("mac-runner").unwrap();
        let error = MetalContext::builder(device)
            .profile(profile.clone())
            .open()
            .unwrap_err();
        let MetalError::ProfileRefused {
            device,
            profile: refused,
        } = &error
        else {
            panic!("{error}");
        };
        assert_eq!((*device, *refused), (kind, "mac-runner"));
    }
    // The only device that can take it.
    let profile = DeviceProfile::named("mac-runner").unwrap();
    let context = MetalContext::builder(Device::Auto)
        .profile(profile)
        .open()
        .unwrap();
    assert_eq!(context.info().kind, DeviceKind::Cpu);
}

/// Runs [`in_the_environment`] in a process with the variable set.
fn child(profile: &str) -> String {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "in_the_environment", "--ignored", "--nocapture"])
        .env(DEVICE_PROFILE_VARIABLE, profile)
        .output()
        .unwrap();
    assert!(output.status.success());
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
#[ignore = "run by other tests with the variable set"]
fn in_the_environment() {
    match MetalContext::new(Device::Cpu, &[]) {
        Ok(context) => println!("opened with {}", context.device_profile()),
        Err(error) => println!("refused: {error}"),
    }
}

#[test]
fn the_environment_names_a_profile() {
    assert!(child("m2-max-96gb").contains("opened with m2-max-96gb"));
    assert!(child("").contains("opened with cpu"));
    let text = child("m9");
    assert!(
        text.contains("refused: unknown device profile 'm9'"),
        "{text}"
    );
    assert!(text.contains("m1-8gb"), "{text}");
}
