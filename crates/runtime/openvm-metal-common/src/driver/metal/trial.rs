//! A small kernel that is run where a device does not say that it can do what all kernels need.

use std::ptr::NonNull;
use std::sync::mpsc;
use std::time::Duration;

use block2::RcBlock;
use objc2::rc::autoreleasepool;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSString;
use objc2_metal::{
    MTLBuffer, MTLCommandBuffer, MTLCommandBufferStatus, MTLCommandEncoder, MTLCommandQueue,
    MTLComputeCommandEncoder, MTLDevice, MTLLibrary, MTLResourceOptions, MTLSize,
};

use super::pipeline::from_source;
use super::Device;

const SOURCE: &str = include_str!("trial.metal");
const LIMIT: Duration = Duration::from_secs(10);
/// A whole threadgroup and a part of one.
const THREADS: usize = 300;
const PER_GROUP: usize = 256;

/// True if a grid by threads has exactly its number of threads; an error if that could not be found out.
pub(super) fn cuts_grids(device: &Device) -> std::result::Result<bool, String> {
    autoreleasepool(|_| {
        let failed = |what: &str| format!("Metal gave no {what}");
        let (library, _) = from_source(device, SOURCE)?;
        let function = library
            .newFunctionWithName(&NSString::from_str("openvm_metal_mark_threads"))
            .ok_or_else(|| failed("function"))?;
        let pipeline = device
            .newComputePipelineStateWithFunction_error(&function)
            .map_err(|error| error.localizedDescription().to_string())?;
        let words = 2 * PER_GROUP;
        let buffer = device
            .newBufferWithLength_options(
                words * size_of::<u32>(),
                MTLResourceOptions::StorageModeShared,
            )
            .ok_or_else(|| failed("buffer"))?;
        let queue = device.newCommandQueue().ok_or_else(|| failed("queue"))?;
        let commands = queue
            .commandBuffer()
            .ok_or_else(|| failed("command buffer"))?;
        let encoder = commands
            .computeCommandEncoder()
            .ok_or_else(|| failed("encoder"))?;
        let line = |width| MTLSize {
            width,
            height: 1,
            depth: 1,
        };
        encoder.setComputePipelineState(&pipeline);
        // SAFETY: the buffer has room for the threads of two whole threadgroups.
        unsafe { encoder.setBuffer_offset_atIndex(Some(&buffer), 0, 0) };
        encoder.dispatchThreads_threadsPerThreadgroup(line(THREADS), line(PER_GROUP));
        encoder.endEncoding();
        let (sender, ended) = mpsc::channel();
        let handler = RcBlock::new(
            move |commands: NonNull<ProtocolObject<dyn MTLCommandBuffer>>| {
                // SAFETY: Metal passes the command buffer, alive for the call.
                let status = unsafe { commands.as_ref() }.status();
                // Nobody listens any more after the limit.
                let _ = sender.send(status);
            },
        );
        // SAFETY: the block takes the argument that Metal passes; Metal copies the block.
        unsafe { commands.addCompletedHandler(RcBlock::as_ptr(&handler)) };
        commands.commit();
        match ended.recv_timeout(LIMIT) {
            Ok(MTLCommandBufferStatus::Completed) => {
                // SAFETY: the buffer has so many words, zeros at first, and nothing uses it any more.
                let marks = unsafe {
                    std::slice::from_raw_parts(buffer.contents().cast::<u32>().as_ptr(), words)
                };
                let expected = (0..words).map(|i| u32::from(i < THREADS));
                Ok(marks.iter().copied().eq(expected))
            }
            Ok(_) => Err("a trial kernel failed".into()),
            Err(_) => Err(format!("a trial kernel did not end within {LIMIT:?}")),
        }
    })
}
