//! A unit that the device refuses, beside one that it takes; runs on the device in `OPENVM_METAL_DEVICE`.

mod support;

use openvm_metal_common::kernel::{
    ArgKind, ArgSpec, KernelKind, KernelLibrary, KernelSpec, KernelUnit, Prepare, PtxParam,
};
use openvm_metal_common::{Device, DeviceKind, Grid, MetalBuffer, MetalContext, MetalError};
use support::{add, KERNELS, LIBRARY};

const fn broken(name: &'static str) -> KernelSpec {
    KernelSpec {
        name,
        ptx_entry: name,
        unit: "broken/unit",
        library: "broken",
        args: &[ArgSpec {
            name: "out",
            index: 0,
            kind: ArgKind::BufferWrite { elem: 4 },
        }],
        kind: KernelKind::Flat,
        max_threads: 256,
        static_threadgroup_bytes: 0,
        any_threadgroup_size: true,
        cpu: &[],
        fiber: None,
        ptx_params: &[PtxParam::Threads, PtxParam::Buffer(0)],
        slices: false,
        clauses: None,
        safe: false,
    }
}

static BROKEN: [KernelSpec; 2] = [broken("first"), broken("second")];

static BROKEN_LIBRARY: KernelLibrary = KernelLibrary {
    name: "broken",
    units: &[KernelUnit {
        name: "broken/unit",
        msl: "kernel void first(device u32* out [[buffer(0)]]) {}",
        metallib: None,
        ptx: Some(
            ".version 7.0\n.target sm_52\n.address_size 64\n.visible .entry first( nonsense\n",
        ),
        kernels: &BROKEN,
        prepared: Prepare::AtStart,
    }],
};

fn contexts() -> Vec<MetalContext> {
    // Both orders: what is refused first must not hide what comes after it.
    let libraries = [[&BROKEN_LIBRARY, &LIBRARY], [&LIBRARY, &BROKEN_LIBRARY]];
    let device = Device::from_env().expect("a device");
    libraries
        .iter()
        .map(|both| MetalContext::new(device, both).expect("a bad unit leaves the context"))
        .collect()
}

#[test]
fn everything_else_runs() {
    for ctx in contexts() {
        let s = ctx.stream();
        let mut data = MetalBuffer::from_host(&s, &[1u32, 2, 3]).expect("memory");
        for kernel in &BROKEN {
            let mut out = &mut data;
            let call = s.encode(kernel, Grid::threads(3)).buffer_mut(0, &mut out);
            // SAFETY: a kernel that was refused does not run.
            let error = unsafe { call.dispatch_unchecked() }.expect_err("it was refused");
            let MetalError::KernelMissing {
                kernel: name,
                unit,
                device,
                reason,
            } = &error
            else {
                panic!("{error}")
            };
            assert_eq!((name.as_str(), unit.as_str()), (kernel.name, "broken/unit"));
            assert_eq!(*device, ctx.info().kind);
            let words = match device {
                DeviceKind::Cpu => "without a C++ compiler",
                DeviceKind::Cuda => "CUDA_ERROR_INVALID_PTX",
                DeviceKind::Metal => "u32",
            };
            assert!(reason.contains(words), "{reason}");
            assert!(!error.is_fatal());
        }
        let mut out = MetalBuffer::zeroed(&s, 3).expect("memory");
        add(&s, Grid::threads(3), &data, &mut out, 7, 3).expect("its unit is good");
        assert_eq!(out.to_host(&s).expect("a result"), [8, 9, 10]);
    }
}

#[test]
fn the_report_names_unit_and_kernels() {
    for ctx in contexts() {
        let report = ctx.kernel_report();
        assert_eq!((report.device, report.units.len()), (ctx.info().kind, 2));
        assert!(!report.is_complete());
        let mut missing: Vec<_> = report
            .missing()
            .map(|(u, k, _)| (u.unit, k.kernel))
            .collect();
        missing.sort_unstable();
        assert_eq!(
            missing,
            [("broken/unit", "first"), ("broken/unit", "second")]
        );
        let good = report.units.iter().find(|unit| unit.unit == "test");
        let good = good.expect("both units are there");
        assert_eq!(good.error, None);
        for kernel in &good.kernels {
            let limits = kernel.limits.expect("it can run");
            assert!(limits.threads >= 32, "{kernel:?}");
        }
        let line = report.to_string();
        assert!(
            line.contains("4 kernels of 2 units, 2 cannot run (broken/unit)"),
            "{line}"
        );
        let diagnostics = ctx.diagnostics();
        assert!(diagnostics
            .iter()
            .any(|d| d.name == "kernels" && d.value == line));
        assert!(serde_json::to_string(report)
            .expect("plain data")
            .contains("broken/unit"));
    }
}

#[test]
fn work_that_needs_a_missing_kernel_need_not_begin() {
    for ctx in contexts() {
        ctx.require(&KERNELS).expect("all there");
        assert!(ctx.kernel_limits(&KERNELS[0]).expect("there").threads >= 32);
        let error = ctx
            .require(KERNELS.iter().chain(&BROKEN))
            .expect_err("one is missing");
        assert!(
            matches!(&error, MetalError::KernelMissing { kernel, .. } if kernel == "first"),
            "{error}"
        );
        // A kernel of a library that the context does not know can have code in the program (CPU) or not.
        let other = MetalContext::new(Device::from_env().expect("a device"), &[]);
        let other = other.expect("the device");
        assert!(other.kernel_report().is_complete());
        let known = other.require(&KERNELS[..1]).is_ok();
        assert_eq!(known, other.info().kind == DeviceKind::Cpu);
    }
}
