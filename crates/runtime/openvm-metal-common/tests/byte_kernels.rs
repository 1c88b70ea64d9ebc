//! The Metal driver's byte kernels obey the rules for kernels and do what they say.

use std::path::Path;

use openvm_metal_builder::Toolchain;
use openvm_metal_common::kernel::ArgKind;
use openvm_metal_common::{
    Device, Grid, MetalBuffer, MetalContext, RuntimeArg, RuntimeKernel, RuntimeSource,
    RuntimeSymbols,
};

const SOURCE: &str = include_str!("../src/driver/metal/bytes.metal");

fn arg(name: &str, index: u8, kind: ArgKind) -> RuntimeArg {
    RuntimeArg {
        name: name.into(),
        index,
        kind,
    }
}

#[test]
fn byte_kernels_copy_and_fill() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/driver/metal");
    let tools = Toolchain::new(Path::new(env!("CARGO_TARGET_TMPDIR")).join("byte-kernels"))?;
    for file in ["bytes.metal", "trial.metal"] {
        assert_eq!(tools.lint(&root, &root.join(file))?, []);
    }
    let native = tools.compile_cpu_shared(&root, SOURCE)?;
    let kernel = |name: &str, args| {
        let found = native.kernels.iter().find(|k| k.name == name);
        let symbols = found.map(|k| RuntimeSymbols {
            run: k.scalar.clone(),
            fiber: k.fiber.clone(),
        });
        RuntimeKernel {
            name: name.into(),
            args,
            barriers: false,
            max_threads: 1024,
            ptx_entry: format!("msl_{name}"),
            cpu: symbols,
        }
    };
    let (read, write) = (
        ArgKind::BufferRead { elem: 1 },
        ArgKind::BufferWrite { elem: 1 },
    );
    let (long, int) = (ArgKind::Value { size: 8 }, ArgKind::Value { size: 4 });
    let source = RuntimeSource {
        name: "bytes".into(),
        msl: SOURCE.into(),
        ptx: None,
        cpu: Some(native.path.clone()),
        slices: false,
        kernels: vec![
            kernel(
                "openvm_metal_copy_bytes",
                vec![arg("src", 0, read), arg("dst", 1, write), arg("n", 2, long)],
            ),
            kernel(
                "openvm_metal_fill_bytes",
                vec![
                    arg("dst", 0, write),
                    arg("n", 1, long),
                    arg("value", 2, int),
                ],
            ),
        ],
    };
    let ctx = MetalContext::new(Device::Cpu, &[])?;
    let unit = ctx.load_unit(&source)?;
    let s = ctx.stream();
    let data: Vec<u8> = (0..5000u32).map(|i| (i * 7) as u8).collect();
    for (len, threads) in [(1, 1), (3, 3), (255, 255), (1001, 256), (4096, 100)] {
        let a = MetalBuffer::from_host(&s, &data)?;
        let b = MetalBuffer::<u8>::zeroed(&s, data.len())?;
        let n = (len as u64).to_le_bytes();
        let call = unit
            .encode(&s, 0, Grid::threads(threads))?
            .buffer_range(0, a.slice(5..5 + len))
            .buffer_range(1, b.slice(3..3 + len))
            .value_bytes(2, &n);
        // SAFETY: the kernel copies `n` bytes, which both ranges have.
        unsafe { call.dispatch_unchecked()? };
        let mut expected = vec![0; data.len()];
        expected[3..3 + len].copy_from_slice(&data[5..5 + len]);
        assert_eq!(b.to_host(&s)?, expected, "{len} bytes copied");
        let (fill, value) = (len / 2, 0x5A_u32.to_le_bytes());
        let fill_bytes = (fill as u64).to_le_bytes();
        let call = unit
            .encode(&s, 1, Grid::threads(threads.min(fill.max(1))))?
            .buffer_range(0, b.slice(7..7 + fill.max(1)))
            .value_bytes(1, &fill_bytes)
            .value_bytes(2, &value);
        // SAFETY: the kernel fills `n` bytes, which the range has.
        unsafe { call.dispatch_unchecked()? };
        expected[7..7 + fill].fill(0x5A);
        assert_eq!(b.to_host(&s)?, expected, "{fill} bytes filled");
    }
    Ok(())
}
