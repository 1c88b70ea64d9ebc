//! Sorts of rows of buffers, by handles.

pub use hologram_kernels::host::sort as on_host;
pub use hologram_kernels::Sorting;

use crate::handle::BufferHandle;

/// Start of rows: a buffer and a byte, a multiple of the element's size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rows {
    /// The buffer.
    pub buffer: BufferHandle,
    /// Byte of the first element.
    pub offset: usize,
}

/// Output of a sort.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sorted {
    /// The elements.
    Values,
    /// The indices, `i64`, that put them in order.
    Order,
}
