//! Views that an expression reads and writes, by handles.

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

/// Result of a fold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum FoldForm {
    /// The fold of all elements along the folded dimensions.
    #[default]
    Value,
    /// The positions of the first largest or smallest elements, `i64`; of types of up to 32 bits.
    Position,
    /// The fold of the elements up to each, along one dimension.
    Scan,
}

/// The views of an expression, all over one shape.
#[derive(Clone, Debug)]
pub struct ExpressionViews<'a> {
    /// Extents.
    pub shape: &'a [usize],
    /// Operands, then outputs, or what a scan is written to.
    pub views: Vec<BufferView>,
    /// Bits of the scalars.
    pub scalars: &'a [u64],
    /// Dimensions that are folded; none without a fold.
    pub folded: &'a [bool],
    /// Target of the fold; strides along folded dimensions do not count. None of a scan.
    pub target: Option<BufferView>,
    /// Form of the target.
    pub form: FoldForm,
}
