//! The backends, and words in their memory.

use hologram_backends::metal::MetalBackend;
use hologram_backends::{Backend, BufferHandle, Dim3, ExecutionParams, LaunchConfig};
use openvm_metal_common::Device;

pub type Outcome<T = ()> = Result<T, Box<dyn std::error::Error>>;

/// The device in `OPENVM_METAL_DEVICE`, else the CPU in both modes.
pub fn backends() -> Outcome<Vec<MetalBackend>> {
    let scratch = std::env::temp_dir().join("hologram-metal-test");
    let devices = match std::env::var("OPENVM_METAL_DEVICE") {
        Ok(name) => vec![name.parse()?],
        Err(_) => vec![Device::Cpu, Device::CpuConformance],
    };
    let open = |device| MetalBackend::with_scratch(device, scratch.clone());
    Ok(devices.into_iter().map(open).collect::<Result<_, _>>()?)
}

pub fn words(backend: &mut dyn Backend, handle: BufferHandle, count: usize) -> Outcome<Vec<u32>> {
    let mut data = vec![0; 4 * count];
    backend.copy_from_buffer(handle, &mut data)?;
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    Ok(data.chunks_exact(4).map(word).collect())
}

/// Lanes along x in blocks along x.
pub fn linear(blocks: u32, lanes: u32) -> ExecutionParams {
    LaunchConfig::new(Dim3::linear(blocks), Dim3::linear(lanes)).into()
}
