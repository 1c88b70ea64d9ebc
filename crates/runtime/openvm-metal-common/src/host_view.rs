//! Elements of a buffer as the host sees them.

use std::ops::Deref;

use crate::buffer::MetalBuffer;
use crate::context::MetalContext;
use crate::elem::DeviceElem;
use crate::error::Result;
use crate::memory::Span;
use crate::slice::MetalSlice;
use crate::stream::CommandStream;

/// Enters a range as seen until it is dropped.
struct Seen {
    context: MetalContext,
    range: Span,
}

impl Seen {
    fn new(context: &MetalContext, range: Span) -> Self {
        context.inner.views.enter(range);
        let context = context.clone();
        Self { context, range }
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.context.inner.views.leave(self.range);
    }
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
            let span = buffer.as_slice().span();
            // SAFETY: as in `MetalSlice::host_view`: `len` elements from the address on are the allocation's, which nobody else
            // has seen. It was taken as written by the host, so all work that used it before has finished.
            fill(unsafe { std::slice::from_raw_parts_mut(span.address() as *mut T, len) });
        }
        Ok(Some(buffer))
    }

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
