//! Typed device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;

use crate::allocation::Allocation;
use crate::context::MetalContext;
use crate::elem::DeviceElem;
use crate::error::{MetalError, Result};
use crate::memory::{Span, POISON};
use crate::plan::Work;
use crate::slice::{cast_len, MetalSlice, MetalSliceMut};
use crate::stage::current_stage;

/// `len` elements of `T` in device memory, 256-byte aligned when allocated.
///
/// It owns its range exclusively; share one with `Arc<MetalBuffer<T>>`. When dropped, its memory is
/// reused at once by later work of the same context: work encoded before the drop comes first in the
/// queue.
pub struct MetalBuffer<T> {
    pub(crate) allocation: Arc<Allocation>,
    /// Bytes from the start of the allocation.
    pub(crate) offset: u64,
    pub(crate) len: usize,
    pub(crate) element: PhantomData<T>,
}

impl<T: DeviceElem> MetalBuffer<T> {
    /// Memory with undefined contents; in conformance mode they are poisoned.
    ///
    /// # Errors
    /// [`MetalError::OutOfMemory`] over the budget.
    pub fn uninit(context: &MetalContext, len: usize) -> Result<Self> {
        let buffer = Self::allocate(context, len, false)?;
        if context.info().conformance && len > 0 {
            let filled = context
                .inner
                .driver
                .fill(buffer.span(), POISON, Work::untold("fill"), 0);
            context.inner.checked(filled)?;
        }
        Ok(buffer)
    }

    pub(crate) fn allocate(context: &MetalContext, len: usize, host_written: bool) -> Result<Self> {
        let bytes = byte_len::<T>(len).ok_or_else(|| MetalError::OutOfMemory {
            requested: u64::MAX,
            in_use: context.memory().live,
            budget: context.memory().budget,
            stage: current_stage(),
        })?;
        let allocation = Allocation::new(context, bytes, host_written)?;
        Ok(Self {
            allocation,
            offset: 0,
            len,
            element: PhantomData,
        })
    }

    /// Memory that the host fills in place; `None` on devices with memory of their own. `fill` is given `len` elements of any
    /// contents. Nothing is submitted, and nothing waited for: no earlier work uses the memory.
    pub fn filled_by_host(
        context: &MetalContext,
        len: usize,
        fill: impl FnOnce(&mut [T]),
    ) -> Result<Option<Self>> {
        if !context.device_profile().unified {
            return Ok(None);
        }
        let buffer = Self::allocate(context, len, true)?;
        if len > 0 {
            let first = buffer.span().address() as *mut T;
            // SAFETY: on unified devices the address is host memory of the allocation, `len` elements that nobody else has
            // seen, and a multiple of the alignment of `T` (allocations of 256). `DeviceElem` allows any bit pattern. It was
            // taken as written by the host, so all work that used it before has finished.
            fill(unsafe { std::slice::from_raw_parts_mut(first, len) });
        }
        Ok(Some(buffer))
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Size in bytes.
    pub fn size_bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// The context that the memory belongs to.
    pub fn context(&self) -> &MetalContext {
        &self.allocation.context
    }

    pub(crate) fn span(&self) -> Span {
        self.allocation.span(self.offset, self.size_bytes())
    }

    /// All of it, borrowed.
    pub fn as_slice(&self) -> MetalSlice<'_, T> {
        MetalSlice::new(&self.allocation, self.offset, self.len)
    }

    /// All of it, borrowed for writing.
    pub fn as_slice_mut(&mut self) -> MetalSliceMut<'_, T> {
        MetalSliceMut::new(&self.allocation, self.offset, self.len)
    }

    /// A range of elements.
    ///
    /// # Panics
    /// If the range does not lie inside the buffer, as slices do; see [`MetalBuffer::try_slice`].
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> MetalSlice<'_, T> {
        self.as_slice().slice(range)
    }

    /// A range of elements, or [`MetalError::RangeOutOfBounds`].
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Result<MetalSlice<'_, T>> {
        self.as_slice().try_slice(range)
    }

    /// A range of elements for writing.
    ///
    /// # Panics
    /// If the range does not lie inside the buffer; see [`MetalBuffer::try_slice_mut`].
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> MetalSliceMut<'_, T> {
        self.as_slice_mut().into_slice(range)
    }

    /// A range of elements for writing, or [`MetalError::RangeOutOfBounds`].
    pub fn try_slice_mut(
        &mut self,
        range: impl RangeBounds<usize>,
    ) -> Result<MetalSliceMut<'_, T>> {
        self.as_slice_mut().try_into_slice(range)
    }

    /// The first `middle` elements and the rest, both for writing.
    ///
    /// # Panics
    /// If `middle > len`.
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> (MetalSliceMut<'_, T>, MetalSliceMut<'_, T>) {
        self.as_slice_mut().into_split_at(middle)
    }

    /// Keeps the first `middle` elements and returns the rest as a buffer of its own. Both share the
    /// memory, which is freed when the last of them is dropped.
    ///
    /// # Panics
    /// If `middle > len`.
    #[track_caller]
    pub fn split_off(&mut self, middle: usize) -> Self {
        assert!(
            middle <= self.len,
            "split at {middle} of a buffer of {} elements",
            self.len
        );
        let rest = Self {
            allocation: self.allocation.clone(),
            offset: self.offset + (middle * size_of::<T>()) as u64,
            len: self.len - middle,
            element: PhantomData,
        };
        self.len = middle;
        rest
    }

    /// Forgets the elements from `len` on; the memory stays.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// Forgets the elements from `len` on and gives their memory back, unless another buffer shares the
    /// allocation.
    pub fn shrink_to(&mut self, len: usize) {
        self.truncate(len);
        let bytes = self.offset + self.size_bytes();
        if let Some(allocation) = Arc::get_mut(&mut self.allocation) {
            allocation.shrink(bytes);
        }
    }

    /// The same bytes as elements of another type.
    ///
    /// # Errors
    /// [`MetalError::Misaligned`] if the length is no whole number of `U` or the start is not at a
    /// multiple of its size (elements of up to 16 bytes) within the allocation.
    pub fn cast<U: DeviceElem>(self) -> Result<MetalBuffer<U>> {
        let len = cast_len::<T, U>(self.offset, self.len)?;
        Ok(MetalBuffer {
            allocation: self.allocation,
            offset: self.offset,
            len,
            element: PhantomData,
        })
    }
}

impl<T: DeviceElem> fmt::Debug for MetalBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "MetalBuffer<{}>[{}]",
            std::any::type_name::<T>(),
            self.len
        )
    }
}

fn byte_len<T>(len: usize) -> Option<u64> {
    u64::try_from(len.checked_mul(size_of::<T>())?).ok()
}
