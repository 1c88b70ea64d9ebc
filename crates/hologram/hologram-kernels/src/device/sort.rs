//! Sorts of the rows of a matrix: tiles by threadgroups, then runs of them merged two at a time.

use openvm_metal_common::kernel::KernelSpec;
use openvm_metal_common::{CommandStream, Grid, MetalBuffer, MetalSlice};

use super::launch::kernel;
use super::{DeviceError, DeviceSpan};
use crate::params::{SortParams, WidenParams};
use crate::sorting::Sorting;

/// Elements of a tile, as `metal/sort.h` has it.
const TILE: u64 = 1024;
const THREADS: u32 = 256;
/// Threadgroups, and threads, of a launch.
const MAX_GROUPS: u64 = 1 << 23;
const MAX_THREADS: u64 = 1 << 31;

/// Kind of a type's words for kernels.
fn kind(sorting: &Sorting) -> u32 {
    match sorting.ty {
        ty if ty.is_float() => 2,
        ty if ty.is_signed_int() => 1,
        _ => 0,
    }
}

/// A sort on its way to the device.
struct Sort<'a> {
    sorting: &'a Sorting,
    stream: &'a CommandStream,
    /// Bytes of the rows.
    bytes: usize,
    /// Tiles of a row.
    tiles: u64,
    /// Threadgroups of a launch at most.
    most_groups: u64,
    /// Threads of a launch at most.
    most_threads: u64,
}

/// Encodes the rows of `src` in order to `dst`, which may be the same bytes, or else nothing of them.
///
/// # Errors
/// [`DeviceError::Unsupported`] for elements that are no words of 32 or 64 bits and rows of 2^31 elements or more, before
/// anything is encoded; a span that is too short; those of the device.
pub fn sort(
    sorting: &Sorting,
    stream: &CommandStream,
    src: DeviceSpan<'_>,
    dst: DeviceSpan<'_>,
) -> Result<(), DeviceError> {
    Sort::new(sorting, stream)?.values(src, dst)
}

/// Encodes the indices, `i64`, that put the rows of `src` in order, to `dst`; equal elements keep their order.
///
/// # Errors
/// Those of [`sort`].
pub fn order(
    sorting: &Sorting,
    stream: &CommandStream,
    src: DeviceSpan<'_>,
    dst: DeviceSpan<'_>,
) -> Result<(), DeviceError> {
    Sort::new(sorting, stream)?.order(src, dst)
}

/// The first `bytes` bytes of an operand.
fn cut(span: DeviceSpan<'_>, bytes: usize) -> Result<MetalSlice<'_, u8>, DeviceError> {
    Ok(span.memory.try_slice(span.offset..span.offset + bytes)?)
}

impl<'a> Sort<'a> {
    fn new(sorting: &'a Sorting, stream: &'a CommandStream) -> Result<Self, DeviceError> {
        let size = sorting.ty.size();
        if size < 4 {
            return Err(DeviceError::Unsupported("sorts of 8 and 16 bits"));
        }
        if sorting.cols >= 1 << 31 {
            return Err(DeviceError::Unsupported(
                "sorts of 2^31 elements in a row and more",
            ));
        }
        let count = sorting.rows.checked_mul(sorting.cols);
        let bytes = count.and_then(|count| usize::try_from(count).ok()?.checked_mul(size));
        Ok(Self {
            sorting,
            stream,
            bytes: bytes.ok_or(DeviceError::Unsupported("so many elements"))?,
            tiles: sorting.cols.div_ceil(TILE),
            most_groups: MAX_GROUPS,
            most_threads: MAX_THREADS,
        })
    }

    fn values(&self, src: DeviceSpan<'_>, dst: DeviceSpan<'_>) -> Result<(), DeviceError> {
        if self.bytes == 0 {
            return Ok(());
        }
        let (src, dst) = (cut(src, self.bytes)?, cut(dst, self.bytes)?);
        let rounds = self.rounds();
        let mut other = self.memory(if rounds == 0 { 0 } else { self.bytes })?;
        let other = other.as_slice_mut();
        // The last round writes the target.
        let places = match rounds % 2 {
            0 => [dst, other.as_slice()],
            _ => [other.as_slice(), dst],
        };
        self.launch("sort_tiles", 0, &[src, places[0]])?;
        for round in 0..rounds as usize {
            let (from, to) = (places[round % 2], places[(round + 1) % 2]);
            self.launch("merge_tiles", 1 << round, &[from, to])?;
        }
        Ok(())
    }

    fn order(&self, src: DeviceSpan<'_>, dst: DeviceSpan<'_>) -> Result<(), DeviceError> {
        if self.bytes == 0 {
            return Ok(());
        }
        let count = self.bytes / self.sorting.ty.size();
        let (src, dst) = (cut(src, self.bytes)?, cut(dst, count * size_of::<i64>())?);
        let rounds = self.rounds();
        let second = |bytes: usize| self.memory(if rounds == 0 { 0 } else { bytes });
        let orders = count * size_of::<u32>();
        let mut values = [self.memory(self.bytes)?, second(self.bytes)?];
        let mut indices = [self.memory(orders)?, second(orders)?];
        let [v0, v1] = values.each_mut().map(MetalBuffer::as_slice_mut);
        let [o0, o1] = indices.each_mut().map(MetalBuffer::as_slice_mut);
        let values = [v0.as_slice(), v1.as_slice()];
        let orders = [o0.as_slice(), o1.as_slice()];
        self.launch("order_tiles", 0, &[src, values[0], orders[0]])?;
        for round in 0..rounds as usize {
            let (from, to) = (round % 2, (round + 1) % 2);
            let buffers = [values[from], orders[from], values[to], orders[to]];
            self.launch("merge_orders", 1 << round, &buffers)?;
        }
        self.widen(orders[rounds as usize % 2], dst, count as u64)
    }

    /// Numbers of 32 bits to numbers of 64.
    fn widen(
        &self,
        src: MetalSlice<'_, u8>,
        dst: MetalSlice<'_, u8>,
        count: u64,
    ) -> Result<(), DeviceError> {
        let widen = kernel("widen_order")?;
        for first in (0..count).step_by(self.most_threads as usize) {
            let threads = (count - first).min(self.most_threads);
            self.stream
                .encode(widen, Grid::threads(threads as usize))
                .buffer_range(0, src)
                .buffer_range(1, dst)
                .value(2, &WidenParams { first, count })
                .dispatch()?;
        }
        Ok(())
    }

    /// Number of merges of runs.
    fn rounds(&self) -> u32 {
        self.tiles.next_power_of_two().trailing_zeros()
    }

    fn memory(&self, bytes: usize) -> Result<MetalBuffer<u8>, DeviceError> {
        Ok(MetalBuffer::uninit(self.stream.context(), bytes)?)
    }

    fn kernel(&self, family: &str) -> Result<&'static KernelSpec, DeviceError> {
        kernel(&format!("{family}_{}", self.sorting.ty.bits()))
    }

    /// A launch for every tile of every row; `run` tiles are in order before.
    fn launch(
        &self,
        family: &str,
        run: u32,
        buffers: &[MetalSlice<'_, u8>],
    ) -> Result<(), DeviceError> {
        let kernel = self.kernel(family)?;
        let groups = self.sorting.rows * self.tiles;
        for first in (0..groups).step_by(self.most_groups as usize) {
            let params = SortParams {
                first,
                cols: self.sorting.cols as u32,
                run,
                kind: kind(self.sorting),
                flip: if self.sorting.descending { u32::MAX } else { 0 },
            };
            let count = (groups - first).min(self.most_groups) as u32;
            let mut call = self.stream.encode(kernel, Grid::groups(count, THREADS));
            for (index, &buffer) in buffers.iter().enumerate() {
                call = call.buffer_range(index as u8, buffer);
            }
            call.value(buffers.len() as u8, &params).dispatch()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use openvm_metal_common::{Device, MetalContext};

    use super::*;
    use crate::{device::LIBRARY, host, Ty};

    /// Launches of three threadgroups and of 1,000 threads: what large sorts are cut into.
    #[test]
    fn sorts_of_several_launches() -> Result<(), DeviceError> {
        let context = MetalContext::new(Device::Cpu, &[&LIBRARY])?;
        let stream = context.stream();
        for (rows, cols) in [(7, 40), (1, 9_000), (3, 2_500)] {
            let sorting = Sorting {
                ty: Ty::U32,
                rows,
                cols,
                descending: false,
            };
            let count = (rows * cols) as usize;
            let word = |i: usize| (i as u32).wrapping_mul(0x9e37_79b9) >> 7;
            let data: Vec<u8> = (0..count).flat_map(|i| word(i).to_le_bytes()).collect();
            let sort = Sort {
                most_groups: 3,
                most_threads: 1_000,
                ..Sort::new(&sorting, &stream)?
            };
            let source = MetalBuffer::from_host(&stream, &data)?;
            let target = MetalBuffer::from_host(&stream, &vec![0xee_u8; 8 * count])?;
            let span = |buffer| DeviceSpan {
                memory: MetalBuffer::as_slice(buffer),
                offset: 0,
            };
            sort.values(span(&source), span(&target))?;
            let mut expected = vec![0; 4 * count];
            host::sort::sort(&sorting, &data, &mut expected);
            assert!(target.to_host(&stream)?[..4 * count] == expected);
            sort.order(span(&source), span(&target))?;
            let mut expected = vec![0; count];
            host::sort::order(&sorting, &data, &mut expected);
            let expected: Vec<u8> = expected.into_iter().flat_map(i64::to_le_bytes).collect();
            assert!(target.to_host(&stream)? == expected);
        }
        Ok(())
    }
}
