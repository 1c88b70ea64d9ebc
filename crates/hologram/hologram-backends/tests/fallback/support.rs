//! The interpreter and a device, side by side.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::metal::{Fallback, MetalBackend};
use hologram_backends::{
    Backend, BackendError, BufferHandle, ExecutionParams, PoolHandle, Program, Register,
};
use openvm_metal_common::Device;

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The device in `OPENVM_METAL_DEVICE`, else the CPU.
pub fn device(fallback: Fallback) -> Outcome<MetalBackend> {
    let name = std::env::var("OPENVM_METAL_DEVICE");
    let device = name.map_or(Ok(Device::Cpu), |name| name.parse())?;
    let scratch = std::env::temp_dir().join("hologram-fallback-test");
    Ok(MetalBackend::with_scratch(device, scratch)?.with_fallback(fallback))
}

/// Bytes of each of the three buffers.
pub const BYTES: usize = 4096;
/// Bytes of the one pool.
pub const POOL: usize = 256;

/// Both backends with three buffers and a pool of equal contents; r1, r2 and r3 are the buffers, r4 the pool.
pub struct Pair {
    pub cpu: CpuBackend,
    pub device: MetalBackend,
}

/// Contents of a backend: buffers, class 5 of the boundary pool, pools by handle.
#[derive(Debug, PartialEq)]
struct Contents {
    buffers: Vec<Vec<u8>>,
    class: Vec<u8>,
    pools: Vec<(u64, Vec<u8>)>,
}

impl Pair {
    pub fn new(fallback: Fallback) -> Outcome<Self> {
        let mut pair = Self {
            cpu: CpuBackend::new(),
            device: device(fallback)?,
        };
        for backend in [&mut pair.cpu as &mut dyn Backend, &mut pair.device] {
            for buffer in 1..=3u32 {
                let handle = backend.allocate_buffer(BYTES)?;
                // Small floats, whose bits are integers other than 0.
                let value = |i: u32| (i % 37 + buffer) as f32 / 8.0;
                let bytes: Vec<u8> = (0..BYTES as u32 / 4)
                    .flat_map(|i| value(i).to_le_bytes())
                    .collect();
                backend.copy_to_buffer(handle, &bytes)?;
            }
            let pool = backend.allocate_pool(POOL)?;
            backend.copy_to_pool(pool, 0, &[7; POOL])?;
        }
        Ok(pair)
    }

    /// Registers of the memory.
    pub fn params() -> ExecutionParams {
        (1..=3)
            .map(|i| (Register::new(i), u64::from(i)))
            .chain([(Register::new(4), 1)])
            .fold(ExecutionParams::default(), |params, (register, raw)| {
                params.with_u64(register, raw)
            })
    }

    /// Runs a program on both; gives the error that both end with. After a fault memory may differ.
    pub fn run(&mut self, text: &str) -> Outcome<Option<BackendError>> {
        self.run_with(text, &Self::params())
    }

    pub fn run_with(
        &mut self,
        text: &str,
        params: &ExecutionParams,
    ) -> Outcome<Option<BackendError>> {
        let program: Program = text.parse()?;
        let cpu = self.cpu.execute_program_with_params(&program, params);
        let device = self.device.execute_program_with_params(&program, params);
        assert_eq!(cpu, device, "{text}");
        if cpu.is_ok() {
            assert_eq!(
                contents(&mut self.cpu)?,
                contents(&mut self.device)?,
                "{text}"
            );
        }
        Ok(cpu.err())
    }
}

fn contents(backend: &mut dyn Backend) -> Outcome<Contents> {
    let mut read = |handle, size| -> Outcome<Vec<u8>> {
        let mut bytes = vec![0; size];
        backend.copy_from_buffer(handle, &mut bytes)?;
        Ok(bytes)
    };
    let buffers = (1..=3)
        .map(|raw| read(BufferHandle::from_raw(raw), BYTES))
        .collect::<Outcome<_>>()?;
    let class = read(BufferHandle::class(5).ok_or("no class")?, 12_288)?;
    let mut pools = Vec::new();
    for raw in (0..4u64).flat_map(|generation| (1..8).map(move |low| (generation << 32) + low)) {
        let handle = PoolHandle::from_raw(raw);
        if let Ok(size) = backend.pool_size(handle) {
            let mut bytes = vec![0; size];
            backend.copy_from_pool(handle, 0, &mut bytes)?;
            pools.push((raw, bytes));
        }
    }
    Ok(Contents {
        buffers,
        class,
        pools,
    })
}
