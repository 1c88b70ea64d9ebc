//! Units compiled while the program runs, on the device in `OPENVM_METAL_DEVICE` (the CPU by default).

use openvm_metal_builder::Toolchain;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{
    Device, DeviceKind, Grid, MetalBuffer, MetalContext, MetalError, RuntimeArg, RuntimeKernel,
    RuntimeSource, RuntimeSymbols,
};

const SOURCE: &str = r#"
#include <metal_stdlib>
using namespace metal;
struct P { ulong v[2]; };
// Reads and writes one word: out[i] = in[i] * v[0] + v[1].
kernel void scale(device uint* data [[buffer(0)]], constant P& p [[buffer(1)]],
                  uint3 gid [[thread_position_in_grid]]) {
    data[gid.x] = data[gid.x] * (uint)p.v[0] + (uint)p.v[1];
}
// Reverses the words of each threadgroup.
kernel void flip(device uint* data [[buffer(0)]], threadgroup uint* part [[threadgroup(0)]],
                 uint3 gid [[thread_position_in_grid]], uint3 tid [[thread_position_in_threadgroup]],
                 uint3 tpg [[threads_per_threadgroup]]) {
    part[tid.x] = data[gid.x];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    data[gid.x] = part[tpg.x - 1 - tid.x];
}
"#;

fn arg(name: &str, index: u8, kind: ArgKind) -> RuntimeArg {
    RuntimeArg {
        name: name.into(),
        index,
        kind,
    }
}

fn source(kind: DeviceKind) -> Result<RuntimeSource, Box<dyn std::error::Error>> {
    let scratch = std::env::temp_dir().join("openvm-metal-runtime-unit");
    let tools = Toolchain::new(&scratch)?;
    let symbols = match kind {
        DeviceKind::Cpu => Some(tools.compile_cpu_shared(&scratch, SOURCE)?),
        _ => None,
    };
    let ptx = match kind {
        DeviceKind::Cuda => Some(tools.compile_ptx(&scratch, SOURCE)?),
        _ => None,
    };
    let cpu = |name: &str| {
        let found = symbols.as_ref()?.kernels.iter().find(|k| k.name == name)?;
        Some(RuntimeSymbols {
            run: found.scalar.clone(),
            fiber: found.fiber.clone(),
        })
    };
    let kernel = |name: &str, barriers, args| RuntimeKernel {
        name: name.into(),
        args,
        barriers,
        max_threads: 1024,
        ptx_entry: format!("msl_{name}"),
        cpu: cpu(name),
    };
    let data = || arg("data", 0, ArgKind::BufferWrite { elem: 4 });
    Ok(RuntimeSource {
        name: "test".into(),
        msl: SOURCE.into(),
        ptx,
        cpu: symbols.as_ref().map(|s| s.path.clone()),
        slices: false,
        kernels: vec![
            kernel(
                "scale",
                false,
                vec![data(), arg("p", 1, ArgKind::Value { size: 16 })],
            ),
            kernel(
                "flip",
                true,
                vec![data(), arg("part", 0, ArgKind::Threadgroup { elem: 4 })],
            ),
        ],
    })
}

fn device() -> Result<Device, MetalError> {
    match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(_) => Device::from_env(),
        Err(_) => Ok(Device::Cpu),
    }
}

#[test]
fn kernels_made_at_run_time_run() -> Result<(), Box<dyn std::error::Error>> {
    for device in [device()?, Device::CpuConformance] {
        let ctx = MetalContext::new(device, &[])?;
        let unit = ctx.load_unit(&source(ctx.info().kind)?)?;
        let stream = ctx.stream();
        let words: Vec<u32> = (0..1024).collect();
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let data = MetalBuffer::from_host(&stream, &bytes)?;
        let params: Vec<u8> = [3u64, 5].iter().flat_map(|w| w.to_le_bytes()).collect();
        let scale = |params| -> Result<_, MetalError> {
            let call = unit.encode(&stream, 0, Grid::groups(4, 256))?;
            let call = call.buffer_range(0, data.slice(..));
            Ok(call.value_bytes(1, params))
        };
        let unchecked = scale(&params)?.dispatch();
        assert!(matches!(unchecked, Err(MetalError::UncheckedKernel { .. })));
        // SAFETY: a grid of 1024 threads, each of which has a word of `data`.
        unsafe {
            let short = scale(&params[..8])?.dispatch_unchecked();
            short.expect_err("8 bytes of 16");
            scale(&params)?.dispatch_unchecked()?;
        }
        let flip = unit
            .encode(&stream, 1, Grid::groups(16, 64))?
            .buffer_range(0, data.slice(..))
            .threadgroup(0, 64);
        // SAFETY: as above.
        unsafe { flip.dispatch_unchecked()? };
        let out = data.to_host(&stream)?;
        for (i, word) in out.chunks_exact(4).enumerate() {
            let from = (i / 64 * 64 + 63 - i % 64) as u32;
            assert_eq!(
                u32::from_le_bytes(word.try_into()?),
                from * 3 + 5,
                "word {i}"
            );
        }
        assert_eq!(stream.counters().inclusive("").dispatches, 2);
        assert!(matches!(
            unit.encode(&stream, 2, Grid::threads(1)).map(drop),
            Err(MetalError::KernelMissing { .. })
        ));
        let other = MetalContext::new(Device::Cpu, &[])?.stream();
        assert!(matches!(
            unit.encode(&other, 0, Grid::threads(1)).map(drop),
            Err(MetalError::WrongContext { what: "scale" })
        ));
        let missing = unit.encode(&stream, 0, Grid::threads(1))?;
        // SAFETY: without arguments nothing is launched.
        let missing = unsafe { missing.dispatch_unchecked() };
        assert!(matches!(missing, Err(MetalError::ArgumentMismatch { .. })));
    }
    Ok(())
}

#[test]
fn a_unit_without_code_is_refused() -> Result<(), Box<dyn std::error::Error>> {
    let ctx = MetalContext::new(Device::Cpu, &[])?;
    let mut bad = source(DeviceKind::Cpu)?;
    bad.kernels[0].cpu = None;
    assert!(matches!(
        ctx.load_unit(&bad),
        Err(MetalError::KernelMissing { .. })
    ));
    bad.cpu = None;
    assert!(matches!(
        ctx.load_unit(&bad),
        Err(MetalError::KernelMissing { .. })
    ));
    bad.cpu = Some("no-such-library.so".into());
    assert!(matches!(
        ctx.load_unit(&bad),
        Err(MetalError::KernelCompile { .. })
    ));
    Ok(())
}
