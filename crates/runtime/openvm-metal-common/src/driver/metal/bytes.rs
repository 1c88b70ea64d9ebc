//! Copies and fills, by the blit encoder where it takes them and by small kernels where it does not: its
//! offsets and lengths must be multiples of 4 on macOS.

use std::ptr::NonNull;
use std::sync::OnceLock;

use objc2_foundation::NSRange;
use objc2_metal::{MTLBlitCommandEncoder, MTLComputeCommandEncoder, MTLSize};

use super::library::Pipelines;
use super::pipeline::Prepared;
use super::queue::Commands;
use super::{range, Buffer, Device};
use crate::driver::{DriverResult, Fault};
use crate::error::Result;
use crate::kernel::{ArgKind, ArgSpec, KernelKind, KernelSpec, MAX_THREADGROUP_ARGS};
use crate::memory::Span;
use crate::order::Access;

/// Threads of a byte kernel at most; each then takes several bytes.
const MOST_THREADS: u64 = 1 << 16;
const PER_GROUP: u64 = 256;
const BLIT_ALIGNMENT: u64 = 4;

const SOURCE: &str = include_str!("bytes.metal");

static KERNELS: [KernelSpec; 2] = [
    spec(
        "openvm_metal_copy_bytes",
        &[
            arg("src", 0, ArgKind::BufferRead { elem: 1 }),
            arg("dst", 1, ArgKind::BufferWrite { elem: 1 }),
            arg("n", 2, ArgKind::Value { size: 8 }),
        ],
    ),
    spec(
        "openvm_metal_fill_bytes",
        &[
            arg("dst", 0, ArgKind::BufferWrite { elem: 1 }),
            arg("n", 1, ArgKind::Value { size: 8 }),
            arg("value", 2, ArgKind::Value { size: 4 }),
        ],
    ),
];

const fn arg(name: &'static str, index: u8, kind: ArgKind) -> ArgSpec {
    ArgSpec { name, index, kind }
}

const fn spec(name: &'static str, args: &'static [ArgSpec]) -> KernelSpec {
    KernelSpec {
        name,
        ptx_entry: "",
        unit: "bytes",
        library: "openvm_metal_common",
        args,
        kind: KernelKind::Flat,
        max_threads: 1024,
        static_threadgroup_bytes: 0,
        any_threadgroup_size: true,
        cpu: &[],
        fiber: None,
        ptx_params: &[],
        slices: false,
        clauses: None,
        safe: false,
    }
}

/// A range of a buffer, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Range<'a> {
    pub buffer: &'a Buffer,
    pub offset: u64,
}

/// The byte kernels, compiled at their first use: the prover has no use for them.
#[derive(Default)]
pub(super) struct ByteKernels(OnceLock<Result<[Prepared; 2]>>);

impl ByteKernels {
    fn get(&self, device: &Device, pipelines: &Pipelines) -> DriverResult<&[Prepared; 2]> {
        let made = self.0.get_or_init(|| {
            let [copy, fill] = &KERNELS;
            pipelines.add(device, "bytes", SOURCE, &[copy, fill])?;
            Ok([pipelines.get(copy)?, pipelines.get(fill)?])
        });
        made.as_ref().map_err(|error| Fault::Error(error.clone()))
    }

    /// Kernels needed by a copy or fill over these offsets and lengths: none if the blit encoder takes them.
    pub fn if_needed(
        &self,
        device: &Device,
        pipelines: &Pipelines,
        numbers: &[u64],
    ) -> DriverResult<Option<&[Prepared; 2]>> {
        let blit = numbers.iter().all(|n| n.is_multiple_of(BLIT_ALIGNMENT));
        match blit {
            true => Ok(None),
            false => self.get(device, pipelines).map(Some),
        }
    }
}

/// Encodes a copy between ranges that do not overlap.
pub(super) fn copy(
    commands: &mut Commands,
    kernels: Option<&[Prepared; 2]>,
    [src, dst]: [Range; 2],
    bytes: u64,
    uses: &[Access],
) -> DriverResult {
    let Some([copy, _]) = kernels else {
        // SAFETY: both ranges lie in their buffers and do not overlap.
        unsafe {
            commands
                .blit()?
                .copyFromBuffer_sourceOffset_toBuffer_destinationOffset_size(
                    src.buffer,
                    src.offset as usize,
                    dst.buffer,
                    dst.offset as usize,
                    bytes as usize,
                );
        }
        return Ok(());
    };
    let encoder = commands.compute(&[0; MAX_THREADGROUP_ARGS], uses.iter().cloned())?;
    encoder.setComputePipelineState(&copy.pipeline);
    // SAFETY: the ranges lie in their buffers; the kernel touches `bytes` bytes of each.
    unsafe {
        encoder.setBuffer_offset_atIndex(Some(src.buffer), src.offset as usize, 0);
        encoder.setBuffer_offset_atIndex(Some(dst.buffer), dst.offset as usize, 1);
        encoder.setBytes_length_atIndex(NonNull::from(&bytes).cast(), size_of::<u64>(), 2);
    }
    dispatch(encoder, copy, bytes);
    Ok(())
}

/// Encodes a fill.
pub(super) fn fill(
    commands: &mut Commands,
    kernels: Option<&[Prepared; 2]>,
    span: &Span,
    byte: u8,
) -> DriverResult {
    let (dst, bytes) = (range(span), span.bytes);
    let Some([_, fill]) = kernels else {
        let range = NSRange::new(dst.offset as usize, bytes as usize);
        commands
            .blit()?
            .fillBuffer_range_value(dst.buffer, range, byte);
        return Ok(());
    };
    let uses = [Access::write(span)].into_iter();
    let encoder = commands.compute(&[0; MAX_THREADGROUP_ARGS], uses)?;
    let value = u32::from(byte);
    encoder.setComputePipelineState(&fill.pipeline);
    // SAFETY: the range lies in its buffer; the kernel touches `bytes` bytes of it.
    unsafe {
        encoder.setBuffer_offset_atIndex(Some(dst.buffer), dst.offset as usize, 0);
        encoder.setBytes_length_atIndex(NonNull::from(&bytes).cast(), size_of::<u64>(), 1);
        encoder.setBytes_length_atIndex(NonNull::from(&value).cast(), size_of::<u32>(), 2);
    }
    dispatch(encoder, fill, bytes);
    Ok(())
}

fn dispatch(
    encoder: &objc2::runtime::ProtocolObject<dyn MTLComputeCommandEncoder>,
    kernel: &Prepared,
    bytes: u64,
) {
    let line = |width: u64| MTLSize {
        width: width as usize,
        height: 1,
        depth: 1,
    };
    let per_group = PER_GROUP.min(u64::from(kernel.threads));
    encoder.dispatchThreads_threadsPerThreadgroup(line(bytes.min(MOST_THREADS)), line(per_group));
}
