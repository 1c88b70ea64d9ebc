//! Arguments of a kernel: buffers and slices.

use std::sync::Arc;

use crate::allocation::Allocation;
use crate::buffer::MetalBuffer;
use crate::elem::DeviceElem;
use crate::memory::Span;
use crate::slice::{MetalSlice, MetalSliceMut};

/// Device memory bound to an argument.
#[doc(hidden)]
pub struct Bound<'a> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) offset: u64,
    /// Elements.
    pub(crate) len: u64,
    elem: u64,
}

impl Bound<'_> {
    pub(crate) fn span(&self) -> Span {
        self.allocation.span(self.offset, self.len * self.elem)
    }
}

/// Something a kernel can read elements of `T` from: a buffer or a slice.
pub trait KernelArg<T: DeviceElem> {
    #[doc(hidden)]
    fn bound(&self) -> Bound<'_>;
}

/// Something a kernel can write elements of `T` to: a mutable buffer or slice.
pub trait KernelArgMut<T: DeviceElem> {
    #[doc(hidden)]
    fn bound_mut(&mut self) -> Bound<'_>;
}

fn bind<T>(allocation: &Arc<Allocation>, offset: u64, len: usize) -> Bound<'_> {
    Bound {
        allocation,
        offset,
        len: len as u64,
        elem: size_of::<T>() as u64,
    }
}

impl<T: DeviceElem> KernelArg<T> for &MetalBuffer<T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(&self.allocation, self.offset, self.len)
    }
}

impl<T: DeviceElem> KernelArg<T> for &Arc<MetalBuffer<T>> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(&self.allocation, self.offset, self.len)
    }
}

impl<T: DeviceElem> KernelArg<T> for MetalSlice<'_, T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArg<T> for &MetalSlice<'_, T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArg<T> for &MetalSliceMut<'_, T> {
    fn bound(&self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArgMut<T> for &mut MetalBuffer<T> {
    fn bound_mut(&mut self) -> Bound<'_> {
        bind::<T>(&self.allocation, self.offset, self.len)
    }
}

impl<T: DeviceElem> KernelArgMut<T> for MetalSliceMut<'_, T> {
    fn bound_mut(&mut self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}

impl<T: DeviceElem> KernelArgMut<T> for &mut MetalSliceMut<'_, T> {
    fn bound_mut(&mut self) -> Bound<'_> {
        bind::<T>(self.allocation, self.offset, self.len())
    }
}
