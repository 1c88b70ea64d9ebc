//! An operation on its way to the device.

use std::collections::HashMap;
use std::sync::OnceLock;

use openvm_metal_common::kernel::KernelSpec;
use openvm_metal_common::{CommandStream, Grid, KernelCall, MetalSlice};

use super::{DeviceError, DeviceSpan, LIBRARY};
use crate::{Operation, Ty};

/// Operands cut to size.
pub(super) struct Call<'a> {
    pub ty: Ty,
    pub stream: &'a CommandStream,
    operands: [MetalSlice<'a, u8>; 4],
    /// Each operand begins at a multiple of 16 bytes.
    aligned: [bool; 4],
}

impl<'a> Call<'a> {
    /// After the checks.
    pub fn new(
        operation: &Operation,
        stream: &'a CommandStream,
        spans: &[DeviceSpan<'a>],
    ) -> Result<Self, DeviceError> {
        let ty = operation.ty();
        let (lengths, count) = operation.lengths();
        let mut operands = [spans[0].memory; 4];
        let mut aligned = [true; 4];
        for (index, span) in spans.iter().enumerate().take(count) {
            let bytes = lengths[index] as usize * ty.size();
            operands[index] = span.memory.try_slice(span.offset..span.offset + bytes)?;
            aligned[index] = span.offset.is_multiple_of(16);
        }
        Ok(Self {
            ty,
            stream,
            operands,
            aligned,
        })
    }

    /// Operand `index`; 0 is written.
    pub fn operand(&self, index: usize) -> MetalSlice<'a, u8> {
        self.operands[index]
    }

    /// True if operand `index` begins at a multiple of 16 bytes.
    pub fn is_aligned(&self, index: usize) -> bool {
        self.aligned[index]
    }

    /// True if the first `count` operands begin at multiples of 16 bytes.
    pub fn all_aligned(&self, count: usize) -> bool {
        self.aligned[..count].iter().all(|&aligned| aligned)
    }

    /// True if operand `index` and its rows of `cols` elements begin at multiples of 16 bytes (of
    /// elements up to that size: at multiples of four elements).
    pub fn rows_aligned(&self, index: usize, cols: u32) -> u32 {
        u32::from(self.aligned[index] && cols.is_multiple_of(4))
    }

    /// The kernel `family` of the element type.
    pub fn kernel(&self, family: &str) -> Result<&'static KernelSpec, DeviceError> {
        kernel(&format!("{family}_{}", self.ty.name()))
    }

    /// A call of a kernel.
    pub fn encode(&self, kernel: &'static KernelSpec, grid: Grid) -> KernelCall<'a> {
        self.stream.encode(kernel, grid)
    }
}

/// The kernel called `name`.
pub(super) fn kernel(name: &str) -> Result<&'static KernelSpec, DeviceError> {
    static KERNELS: OnceLock<HashMap<&'static str, &'static KernelSpec>> = OnceLock::new();
    let kernels = KERNELS.get_or_init(|| {
        let all = LIBRARY.units.iter().flat_map(|unit| unit.kernels);
        all.map(|kernel| (kernel.name, kernel)).collect()
    });
    kernels
        .get(name)
        .copied()
        .ok_or(DeviceError::Unsupported("the element type"))
}
