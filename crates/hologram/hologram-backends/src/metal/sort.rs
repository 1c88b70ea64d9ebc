//! Sorts by the kernels of `hologram-kernels`.

use hologram_kernels::device::{self, DeviceError, DeviceSpan};

use super::{apart::lost, device_error, MetalBackend};
use crate::backend::sorting::{Rows, Sorted, Sorting};
use crate::error::{BackendError, Result};

impl MetalBackend {
    /// Starts a sort.
    ///
    /// # Errors
    /// Those of [`Backend::sort`](crate::Backend::sort).
    pub(super) fn launch_sort(
        &mut self,
        sorting: &Sorting,
        sorted: Sorted,
        source: Rows,
        target: Rows,
    ) -> Result<()> {
        let count = sorting.rows.saturating_mul(sorting.cols);
        let bytes = |size: usize| {
            let bytes = count.checked_mul(size as u64);
            bytes.and_then(|bytes| usize::try_from(bytes).ok())
        };
        let target_size = match sorted {
            Sorted::Values => sorting.ty.size(),
            Sorted::Order => size_of::<i64>(),
        };
        let mut place = |rows: Rows, size: usize| {
            let bytes = bytes(size).unwrap_or(usize::MAX);
            self.memory
                .buffer_range(&self.stream, rows.buffer, rows.offset, bytes)
        };
        let (from, to) = (
            place(source, sorting.ty.size())?,
            place(target, target_size)?,
        );
        if count == 0 {
            return Ok(());
        }
        let (read, written) = (
            count as usize * sorting.ty.size(),
            count as usize * target_size,
        );
        let in_place = from == to && sorted == Sorted::Values;
        if from < to + written && to < from + read && !in_place {
            return Err(BackendError::OverlappingCopy {
                handle: target.buffer,
                src_offset: source.offset,
                dst_offset: target.offset,
                len: read,
            });
        }
        let span = |at: usize| {
            let found = self.memory.store.around(at);
            let (memory, offset) = found.ok_or_else(lost)?;
            Ok::<_, BackendError>(DeviceSpan { memory, offset })
        };
        let (source, target) = (span(from)?, span(to)?);
        let launched = match sorted {
            Sorted::Values => device::sort(sorting, &self.stream, source, target),
            Sorted::Order => device::order(sorting, &self.stream, source, target),
        };
        launched.map_err(|error| refused(sorting, error))?;
        self.stats.intrinsics += 1;
        Ok(())
    }
}

fn refused(sorting: &Sorting, error: DeviceError) -> BackendError {
    match error {
        DeviceError::Device(error) => device_error(error),
        other => BackendError::UnsupportedOperation(format!(
            "a sort of {} rows of {} elements of {}: {other}",
            sorting.rows, sorting.cols, sorting.ty
        )),
    }
}
