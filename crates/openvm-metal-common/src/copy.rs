//! Copies between host and device memory and within the device.

use std::ops::Deref;

use crate::argument::KernelArgMut;
use crate::buffer::MetalBuffer;
use crate::elem::{as_bytes, as_bytes_mut, DeviceElem};
use crate::error::{MetalError, Result};
use crate::slice::{MetalSlice, MetalSliceMut};
use crate::stream::CommandStream;
use crate::view::Seen;

/// Copies from the host to the device.
pub trait MemCopyH2D<T: DeviceElem> {
    /// Copies all elements to `destination` in queue order; the host data may be changed when this
    /// returns.
    ///
    /// # Errors
    /// [`MetalError::LengthMismatch`] if the lengths differ.
    fn copy_to(&self, destination: impl KernelArgMut<T>, stream: &CommandStream) -> Result<()>;
}

/// Copies from the device to the host.
pub trait MemCopyD2H<T: DeviceElem> {
    /// Submits, waits and copies all elements to `destination`.
    ///
    /// # Errors
    /// [`MetalError::LengthMismatch`] if the lengths differ.
    fn copy_to_host(&self, destination: &mut [T], stream: &CommandStream) -> Result<()>;
}

/// Copies within the device.
pub trait MemCopyD2D<T: DeviceElem> {
    /// Encodes a copy of all elements to `destination`.
    ///
    /// # Errors
    /// [`MetalError::LengthMismatch`] if the lengths differ.
    fn copy_to(&self, destination: impl KernelArgMut<T>, stream: &CommandStream) -> Result<()>;
}

impl<T: DeviceElem> MemCopyH2D<T> for [T] {
    fn copy_to(&self, mut destination: impl KernelArgMut<T>, stream: &CommandStream) -> Result<()> {
        let bound = destination.bound_mut();
        same_length(self.len() as u64, bound.len)?;
        stream.same_context(bound.allocation, "copy to the device")?;
        stream.upload(bound.span(), as_bytes(self), false)
    }
}

impl<T: DeviceElem> MemCopyD2H<T> for MetalSlice<'_, T> {
    fn copy_to_host(&self, destination: &mut [T], stream: &CommandStream) -> Result<()> {
        same_length(self.len() as u64, destination.len() as u64)?;
        stream.same_context(self.allocation, "copy to the host")?;
        stream.download(self.span(), as_bytes_mut(destination))
    }
}

impl<T: DeviceElem> MemCopyD2H<T> for MetalBuffer<T> {
    fn copy_to_host(&self, destination: &mut [T], stream: &CommandStream) -> Result<()> {
        self.as_slice().copy_to_host(destination, stream)
    }
}

impl<T: DeviceElem> MemCopyD2D<T> for MetalSlice<'_, T> {
    fn copy_to(&self, mut destination: impl KernelArgMut<T>, stream: &CommandStream) -> Result<()> {
        let bound = destination.bound_mut();
        same_length(self.len() as u64, bound.len)?;
        stream.same_context(bound.allocation, "copy within the device")?;
        stream.same_context(self.allocation, "copy within the device")?;
        stream.copy(self.span(), bound.span())
    }
}

impl<T: DeviceElem> MemCopyD2D<T> for MetalBuffer<T> {
    fn copy_to(&self, destination: impl KernelArgMut<T>, stream: &CommandStream) -> Result<()> {
        self.as_slice().copy_to(destination, stream)
    }
}

impl<T: DeviceElem> MemCopyD2D<T> for MetalSliceMut<'_, T> {
    fn copy_to(&self, destination: impl KernelArgMut<T>, stream: &CommandStream) -> Result<()> {
        self.as_slice().copy_to(destination, stream)
    }
}

fn same_length(source: u64, destination: u64) -> Result<()> {
    if source == destination {
        return Ok(());
    }
    Err(MetalError::LengthMismatch {
        source_len: source as usize,
        destination_len: destination as usize,
    })
}

/// Elements of a buffer as the host sees them: the memory itself on unified devices, else a copy.
pub struct HostView<'a, T> {
    elements: Elements<'a, T>,
    /// Keeps kernels from writing what is shown in place.
    _seen: Option<Seen>,
}

enum Elements<'a, T> {
    Shared(&'a [T]),
    Copied(Vec<T>),
}

impl<T> Deref for HostView<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match &self.elements {
            Elements::Shared(elements) => elements,
            Elements::Copied(elements) => elements,
        }
    }
}

impl<'a, T: DeviceElem> MetalSlice<'a, T> {
    /// Submits, waits and shows the elements to the host, without a copy on unified devices.
    pub fn host_view(&self, stream: &CommandStream) -> Result<HostView<'a, T>> {
        stream.same_context(self.allocation, "host view")?;
        if !self.context().device_profile().unified {
            return Ok(HostView {
                elements: Elements::Copied(self.to_host(stream)?),
                _seen: None,
            });
        }
        let span = self.span();
        let seen = Seen::new(self.context(), span);
        stream.wait_to_read(span.bytes)?;
        // SAFETY: on unified devices the address is host memory of the allocation, which lives as
        // long as the borrow 'a; nothing on the device writes it, because that takes a mutable
        // borrow or a range that is not seen, and all earlier work has finished. `DeviceElem` allows any bit pattern, and the
        // address is a multiple of the alignment of `T` (allocations of 256, offsets of whole elements).
        let elements =
            unsafe { std::slice::from_raw_parts(span.address() as *const T, self.len()) };
        Ok(HostView {
            elements: Elements::Shared(elements),
            _seen: Some(seen),
        })
    }
}

impl<T: DeviceElem> MetalBuffer<T> {
    /// Submits, waits and shows the elements to the host, without a copy on unified devices.
    pub fn host_view(&self, stream: &CommandStream) -> Result<HostView<'_, T>> {
        self.as_slice().host_view(stream)
    }

    /// Submits, waits and lends the elements to the host in place; `None` on devices with memory of their own.
    pub fn host_view_mut(&mut self, stream: &CommandStream) -> Result<Option<&mut [T]>> {
        let (span, len) = (self.as_slice().span(), self.len());
        stream.same_context(self.as_slice().allocation, "host view")?;
        if !self.context().device_profile().unified {
            return Ok(None);
        }
        stream.wait()?;
        // SAFETY: as in `MetalSlice::host_view`; the borrow is exclusive, and earlier work that reads the
        // elements has finished too.
        Ok(Some(unsafe {
            std::slice::from_raw_parts_mut(span.address() as *mut T, len)
        }))
    }
}
