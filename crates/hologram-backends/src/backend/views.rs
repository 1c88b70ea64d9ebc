//! What an expression reads and writes, by handles.

use crate::handle::BufferHandle;

/// Elements of a buffer.
#[derive(Clone, Debug)]
pub struct BufferView {
    /// The buffer.
    pub buffer: BufferHandle,
    /// Byte of the element with all indices 0.
    pub offset: usize,
    /// Bytes along each dimension.
    pub strides: Vec<isize>,
}

/// The views of an expression, all over one shape.
#[derive(Clone, Debug)]
pub struct ExpressionViews<'a> {
    /// Extents.
    pub shape: &'a [usize],
    /// Operands, then outputs.
    pub views: Vec<BufferView>,
    /// Bits of the scalars.
    pub scalars: &'a [u64],
    /// Dimensions that are folded; none without a fold.
    pub folded: &'a [bool],
    /// Where the fold goes; strides along folded dimensions do not count.
    pub target: Option<BufferView>,
    /// The target gets the indices of the first largest or smallest elements, `i64`, in place of these; of types of up to 32 bits.
    pub positions: bool,
}
