//! Borrowed ranges of device memory.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};
use std::sync::Arc;

use crate::allocation::Allocation;
use crate::context::MetalContext;
use crate::elem::DeviceElem;
use crate::error::{MetalError, Result};
use crate::memory::Span;

/// A range of a [`crate::MetalBuffer`], to be read.
#[derive(Clone, Copy)]
pub struct MetalSlice<'a, T> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) offset: u64,
    len: usize,
    element: PhantomData<&'a T>,
}

/// A range of a [`crate::MetalBuffer`], to be written.
pub struct MetalSliceMut<'a, T> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) offset: u64,
    len: usize,
    element: PhantomData<&'a mut T>,
}

impl<'a, T: DeviceElem> MetalSlice<'a, T> {
    pub(crate) fn new(allocation: &'a Arc<Allocation>, offset: u64, len: usize) -> Self {
        Self {
            allocation,
            offset,
            len,
            element: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context that the memory belongs to.
    pub fn context(&self) -> &'a MetalContext {
        &self.allocation.context
    }

    /// True if both ranges have bytes in common.
    pub fn overlaps<U: DeviceElem>(&self, other: &MetalSlice<'_, U>) -> bool {
        self.span().overlap(&other.span()) > 0
    }

    pub(crate) fn span(&self) -> Span {
        self.allocation
            .span(self.offset, (self.len * size_of::<T>()) as u64)
    }

    /// Address of the first byte for kernels, where one that has it reaches the memory, whatever it was given
    /// ([`DeviceProfile::addresses`](crate::DeviceProfile::addresses)). A kernel that does so says with
    /// [`KernelCall::reaches`](crate::KernelCall::reaches) what it touches: on Apple GPUs it reaches nothing else.
    pub fn address(&self) -> Option<u64> {
        let profile = self.context().device_profile();
        profile.addresses.then(|| self.span().reached())
    }

    /// Address of the first byte for the host; `None` on devices with memory of their own. What is there is known after
    /// [`CommandStream::wait`](crate::CommandStream::wait).
    pub fn host_address(&self) -> Option<u64> {
        let profile = self.context().device_profile();
        profile.unified.then(|| self.span().address())
    }

    /// A range of it.
    ///
    /// # Panics
    /// If the range does not lie inside; see [`MetalSlice::try_slice`].
    #[track_caller]
    pub fn slice(&self, range: impl RangeBounds<usize>) -> MetalSlice<'a, T> {
        or_panic(self.try_slice(range))
    }

    /// A range of it, or [`MetalError::RangeOutOfBounds`].
    pub fn try_slice(&self, range: impl RangeBounds<usize>) -> Result<MetalSlice<'a, T>> {
        let (start, end) = resolve(range, self.len)?;
        let offset = self.offset + (start * size_of::<T>()) as u64;
        Ok(Self::new(self.allocation, offset, end - start))
    }

    /// The same bytes as elements of another type, see [`crate::MetalBuffer::cast`].
    pub fn cast<U: DeviceElem>(self) -> Result<MetalSlice<'a, U>> {
        let len = cast_len::<T, U>(self.offset, self.len)?;
        Ok(MetalSlice::new(self.allocation, self.offset, len))
    }
}

impl<'a, T: DeviceElem> MetalSliceMut<'a, T> {
    pub(crate) fn new(allocation: &'a Arc<Allocation>, offset: u64, len: usize) -> Self {
        Self {
            allocation,
            offset,
            len,
            element: PhantomData,
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True without elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The context that the memory belongs to.
    pub fn context(&self) -> &'a MetalContext {
        &self.allocation.context
    }

    pub(crate) fn span(&self) -> Span {
        self.allocation
            .span(self.offset, (self.len * size_of::<T>()) as u64)
    }

    /// The same range, to be read.
    pub fn as_slice(&self) -> MetalSlice<'_, T> {
        MetalSlice::new(self.allocation, self.offset, self.len)
    }

    /// The same range for a shorter time.
    pub fn reborrow(&mut self) -> MetalSliceMut<'_, T> {
        MetalSliceMut::new(self.allocation, self.offset, self.len)
    }

    /// A range of it.
    ///
    /// # Panics
    /// If the range does not lie inside; see [`MetalSliceMut::try_into_slice`].
    #[track_caller]
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> MetalSliceMut<'_, T> {
        or_panic(self.reborrow().try_into_slice(range))
    }

    /// A range of it, consuming the handle.
    ///
    /// # Panics
    /// If the range does not lie inside; see [`MetalSliceMut::try_into_slice`].
    #[track_caller]
    pub fn into_slice(self, range: impl RangeBounds<usize>) -> MetalSliceMut<'a, T> {
        or_panic(self.try_into_slice(range))
    }

    /// A range of it, or [`MetalError::RangeOutOfBounds`].
    pub fn try_into_slice(self, range: impl RangeBounds<usize>) -> Result<MetalSliceMut<'a, T>> {
        let (start, end) = resolve(range, self.len)?;
        let offset = self.offset + (start * size_of::<T>()) as u64;
        Ok(Self::new(self.allocation, offset, end - start))
    }

    /// The first `middle` elements and the rest.
    ///
    /// # Panics
    /// If `middle > len`.
    #[track_caller]
    pub fn split_at_mut(&mut self, middle: usize) -> (MetalSliceMut<'_, T>, MetalSliceMut<'_, T>) {
        self.reborrow().into_split_at(middle)
    }

    /// The first `middle` elements and the rest, consuming the handle.
    ///
    /// # Panics
    /// If `middle > len`.
    #[track_caller]
    pub fn into_split_at(self, middle: usize) -> (MetalSliceMut<'a, T>, MetalSliceMut<'a, T>) {
        let (_, len) = or_panic(resolve(middle.., self.len));
        let offset = self.offset + (middle * size_of::<T>()) as u64;
        let rest = Self::new(self.allocation, offset, len - middle);
        (Self::new(self.allocation, self.offset, middle), rest)
    }

    /// The same bytes as elements of another type, see [`crate::MetalBuffer::cast`].
    pub fn cast<U: DeviceElem>(self) -> Result<MetalSliceMut<'a, U>> {
        let len = cast_len::<T, U>(self.offset, self.len)?;
        Ok(MetalSliceMut::new(self.allocation, self.offset, len))
    }
}

impl<T: DeviceElem> fmt::Debug for MetalSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "MetalSlice<{}>[{}]",
            std::any::type_name::<T>(),
            self.len
        )
    }
}

impl<T: DeviceElem> fmt::Debug for MetalSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "MetalSliceMut<{}>[{}]",
            std::any::type_name::<T>(),
            self.len
        )
    }
}

fn resolve(range: impl RangeBounds<usize>, len: usize) -> Result<(usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&start) => start.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&end) => end.saturating_add(1),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    if start > end || end > len {
        return Err(MetalError::RangeOutOfBounds { start, end, len });
    }
    Ok((start, end))
}

#[track_caller]
fn or_panic<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

/// Length in elements of `U` of `len` elements of `T` at byte `offset`.
pub(crate) fn cast_len<T, U>(offset: u64, len: usize) -> Result<usize> {
    let (bytes, elem) = ((len * size_of::<T>()) as u64, size_of::<U>() as u64);
    let alignment = if elem.is_power_of_two() {
        elem.min(16)
    } else {
        align_of::<U>() as u64
    };
    if elem == 0 || !bytes.is_multiple_of(elem) || !offset.is_multiple_of(alignment) {
        return Err(MetalError::Misaligned {
            what: "cast of a buffer",
            offset,
            bytes,
            elem,
        });
    }
    Ok((bytes / elem) as usize)
}
