//! Programs from text, buffers from numbers.

use hologram_backends::cpu::CpuBackend;
use hologram_backends::{
    Backend, BackendError, BufferHandle, Dim3, ExecutionParams, Fault, LaunchConfig, Program,
};

/// A program from its text.
pub fn program(text: &str) -> Program {
    text.parse().unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A launch of `grid` blocks of `block` lanes.
pub fn lanes(grid: u32, block: u32) -> ExecutionParams {
    LaunchConfig::new(Dim3::linear(grid), Dim3::linear(block)).into()
}

/// A buffer that holds numbers.
pub fn buffer<const N: usize, T>(
    backend: &mut CpuBackend,
    values: &[T],
    bytes: impl Fn(&T) -> [u8; N],
) -> BufferHandle {
    let data: Vec<u8> = values.iter().flat_map(bytes).collect();
    let handle = backend.allocate_buffer(data.len()).unwrap();
    backend.copy_to_buffer(handle, &data).unwrap();
    handle
}

/// A buffer's bytes as little-endian words.
pub fn words<const N: usize, T>(
    backend: &mut CpuBackend,
    handle: BufferHandle,
    word: impl Fn([u8; N]) -> T,
) -> Vec<T> {
    let mut data = vec![0; backend.buffer_size(handle).unwrap()];
    backend.copy_from_buffer(handle, &mut data).unwrap();
    data.chunks_exact(N)
        .map(|chunk| word(chunk.try_into().unwrap()))
        .collect()
}

/// The fault that a program must have.
pub fn fault(backend: &mut CpuBackend, text: &str, params: &ExecutionParams) -> Fault {
    match backend.execute_program_with_params(&program(text), params) {
        Err(BackendError::Fault(fault)) => fault,
        other => panic!("no fault but {other:?}\n{text}"),
    }
}
