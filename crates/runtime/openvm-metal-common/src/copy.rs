//! Copies between host and device memory and within the device.

use crate::argument::KernelArgMut;
use crate::buffer::MetalBuffer;
use crate::driver::Read;
use crate::elem::{as_bytes, as_bytes_mut, zeroed_vec, DeviceElem};
use crate::error::{MetalError, Result};
use crate::memory::POISON;
use crate::slice::{MetalSlice, MetalSliceMut};
use crate::stream::CommandStream;

/// Bytes of a page of host memory, or fewer.
const PAGE: usize = 4096;

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

impl<T: DeviceElem> MetalBuffer<T> {
    /// Memory with every byte zero.
    pub fn zeroed(stream: &CommandStream, len: usize) -> Result<Self> {
        let mut buffer = Self::allocate(stream.context(), len, false)?;
        buffer.fill_zero(stream)?;
        Ok(buffer)
    }

    /// A copy of host data.
    pub fn from_host(stream: &CommandStream, data: &[T]) -> Result<Self> {
        let buffer = Self::allocate(stream.context(), data.len(), true)?;
        stream.upload(buffer.span(), as_bytes(data), true)?;
        Ok(buffer)
    }

    /// Sets every byte to zero.
    pub fn fill_zero(&mut self, stream: &CommandStream) -> Result<()> {
        self.as_slice_mut().fill_zero(stream)
    }

    /// Sets every byte to a pattern that no kernel should produce, to find what is never written.
    pub fn poison(&mut self, stream: &CommandStream) -> Result<()> {
        stream.same_context(&self.allocation, "fill")?;
        stream.fill(self.span(), POISON)
    }

    /// Submits, waits and copies to the host.
    pub fn to_host(&self, stream: &CommandStream) -> Result<Vec<T>> {
        self.as_slice().to_host(stream)
    }
}

impl<T: DeviceElem> MetalSlice<'_, T> {
    /// Host memory for a copy, its pages touched: the first access to a page takes the system's time, which belongs before the wait
    /// for the device.
    fn host_vec(&self) -> Result<Vec<T>> {
        let host = zeroed_vec(self.len());
        let mut host = host.ok_or_else(|| MetalError::HostMemory {
            bytes: self.span().bytes,
        })?;
        for byte in as_bytes_mut(&mut host).iter_mut().step_by(PAGE) {
            // SAFETY: a byte of the vector, borrowed alone; volatile, for its value does not change.
            unsafe { std::ptr::write_volatile(byte, 0) };
        }
        Ok(host)
    }

    /// Submits, waits and copies to the host.
    pub fn to_host(&self, stream: &CommandStream) -> Result<Vec<T>> {
        stream.same_context(self.allocation, "copy to the host")?;
        let mut host = self.host_vec()?;
        stream.download(self.span(), as_bytes_mut(&mut host))?;
        Ok(host)
    }
}

impl<T: DeviceElem> MetalSliceMut<'_, T> {
    /// Sets every byte to zero.
    pub fn fill_zero(&mut self, stream: &CommandStream) -> Result<()> {
        stream.same_context(self.allocation, "fill")?;
        stream.fill(self.span(), 0)
    }

    /// Submits, waits and copies to the host.
    pub fn to_host(&self, stream: &CommandStream) -> Result<Vec<T>> {
        self.as_slice().to_host(stream)
    }
}

impl CommandStream {
    /// Reads several slices with one wait.
    pub fn read_many<T: DeviceElem>(&self, slices: &[MetalSlice<'_, T>]) -> Result<Vec<Vec<T>>> {
        let mut hosts = Vec::with_capacity(slices.len());
        for slice in slices {
            self.same_context(slice.allocation, "read of several slices")?;
            hosts.push(slice.host_vec()?);
        }
        let reads = slices.iter().zip(&mut hosts).map(|(slice, host)| Read {
            src: slice.span(),
            out: as_bytes_mut(host),
        });
        self.download_many(reads.collect())?;
        Ok(hosts)
    }
}
