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

/// What the words of a type are to kernels.
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
    /// Of the rows, in bytes.
    bytes: usize,
    /// Of a row.
    tiles: u64,
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
    let sort = Sort::new(sorting, stream)?;
    if sort.bytes == 0 {
        return Ok(());
    }
    let (src, dst) = (cut(src, sort.bytes)?, cut(dst, sort.bytes)?);
    let rounds = sort.rounds();
    let mut other = sort.memory(if rounds == 0 { 0 } else { sort.bytes })?;
    let other = other.as_slice_mut();
    // The last round writes the target.
    let places = match rounds % 2 {
        0 => [dst, other.as_slice()],
        _ => [other.as_slice(), dst],
    };
    sort.launch("sort_tiles", 0, &[src, places[0]])?;
    for round in 0..rounds as usize {
        let (from, to) = (places[round % 2], places[(round + 1) % 2]);
        sort.launch("merge_tiles", 1 << round, &[from, to])?;
    }
    Ok(())
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
    let sort = Sort::new(sorting, stream)?;
    if sort.bytes == 0 {
        return Ok(());
    }
    let count = sort.bytes / sorting.ty.size();
    let (src, dst) = (cut(src, sort.bytes)?, cut(dst, count * size_of::<i64>())?);
    let rounds = sort.rounds();
    let second = |bytes: usize| sort.memory(if rounds == 0 { 0 } else { bytes });
    let orders = count * size_of::<u32>();
    let mut values = [sort.memory(sort.bytes)?, second(sort.bytes)?];
    let mut indices = [sort.memory(orders)?, second(orders)?];
    let [v0, v1] = values.each_mut().map(MetalBuffer::as_slice_mut);
    let [o0, o1] = indices.each_mut().map(MetalBuffer::as_slice_mut);
    let values = [v0.as_slice(), v1.as_slice()];
    let orders = [o0.as_slice(), o1.as_slice()];
    sort.launch("order_tiles", 0, &[src, values[0], orders[0]])?;
    for round in 0..rounds as usize {
        let (from, to) = (round % 2, (round + 1) % 2);
        let buffers = [values[from], orders[from], values[to], orders[to]];
        sort.launch("merge_orders", 1 << round, &buffers)?;
    }
    let last = orders[rounds as usize % 2];
    let widen = kernel("widen_order")?;
    let count = count as u64;
    for first in (0..count).step_by(MAX_THREADS as usize) {
        let threads = (count - first).min(MAX_THREADS);
        stream
            .encode(widen, Grid::threads(threads as usize))
            .buffer_range(0, last)
            .buffer_range(1, dst)
            .value(2, &WidenParams { first, count })
            .dispatch()?;
    }
    Ok(())
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
        })
    }

    /// How often runs are merged.
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
        for first in (0..groups).step_by(MAX_GROUPS as usize) {
            let params = SortParams {
                first,
                cols: self.sorting.cols as u32,
                run,
                kind: kind(self.sorting),
                flip: if self.sorting.descending { u32::MAX } else { 0 },
            };
            let count = (groups - first).min(MAX_GROUPS) as u32;
            let mut call = self.stream.encode(kernel, Grid::groups(count, THREADS));
            for (index, &buffer) in buffers.iter().enumerate() {
                call = call.buffer_range(index as u8, buffer);
            }
            call.value(buffers.len() as u8, &params).dispatch()?;
        }
        Ok(())
    }
}
