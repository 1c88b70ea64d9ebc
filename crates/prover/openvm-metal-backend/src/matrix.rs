//! `MetalMatrix`: a column-major matrix in device memory, and the shared range it is a view of.

use std::{fmt, sync::Arc};

use openvm_metal_common::{DeviceElem, MetalBuffer, MetalSlice};
use openvm_stark_backend::prover::MatrixDimensions;

use crate::{error::MetalProverError, prelude::F};

/// A range of a shared device buffer. Cloning is O(1) and copies nothing.
pub struct MetalSliceOwned<T> {
    buffer: Arc<MetalBuffer<T>>,
    offset: usize,
    len: usize,
}

impl<T> Clone for MetalSliceOwned<T> {
    fn clone(&self) -> Self {
        Self {
            buffer: self.buffer.clone(),
            offset: self.offset,
            len: self.len,
        }
    }
}

impl<T: DeviceElem> MetalSliceOwned<T> {
    /// `len` elements of `buffer` from element `offset` on.
    ///
    /// # Panics
    /// If the range does not lie inside the buffer.
    #[track_caller]
    pub fn new(buffer: Arc<MetalBuffer<T>>, offset: usize, len: usize) -> Self {
        let end = offset.checked_add(len);
        assert!(
            end.is_some_and(|end| end <= buffer.len()),
            "range {offset}+{len} is outside a buffer of {} elements",
            buffer.len()
        );
        Self {
            buffer,
            offset,
            len,
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

    /// The elements, borrowed.
    pub fn slice(&self) -> MetalSlice<'_, T> {
        self.buffer.slice(self.offset..self.offset + self.len)
    }

    /// The buffer that holds the range, and where the range starts in it (elements).
    pub fn parts(&self) -> (&Arc<MetalBuffer<T>>, usize) {
        (&self.buffer, self.offset)
    }
}

impl<T: DeviceElem> fmt::Debug for MetalSliceOwned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MetalSliceOwned[{}+{}]", self.offset, self.len)
    }
}

/// A `height` x `width` matrix, column major: cell (row, column) is element `column * height + row`.
///
/// The height may be 0. Cloning is O(1): clones share the cells, which no prover phase writes.
///
/// The transport traits of `openvm-stark-backend` cannot fail, so a matrix that could not be brought
/// to the device carries the [error](Self::error) instead of cells; a proof that needs it is refused
/// with that error.
pub struct MetalMatrix<T = F> {
    cells: Result<MetalSliceOwned<T>, Arc<MetalProverError>>,
    height: usize,
    width: usize,
}

impl<T> Clone for MetalMatrix<T> {
    fn clone(&self) -> Self {
        Self {
            cells: self.cells.clone(),
            height: self.height,
            width: self.width,
        }
    }
}

impl<T: DeviceElem> MetalMatrix<T> {
    /// The matrix whose cells are the whole buffer.
    ///
    /// # Panics
    /// If the buffer does not hold `height * width` elements.
    #[track_caller]
    pub fn from_buffer(
        buffer: impl Into<Arc<MetalBuffer<T>>>,
        height: usize,
        width: usize,
    ) -> Self {
        let buffer = buffer.into();
        let len = buffer.len();
        Self::from_slice(MetalSliceOwned::new(buffer, 0, len), height, width)
    }

    /// The matrix whose cells are a range of a shared buffer.
    ///
    /// # Panics
    /// If the range does not hold `height * width` elements.
    #[track_caller]
    pub fn from_slice(cells: MetalSliceOwned<T>, height: usize, width: usize) -> Self {
        assert_eq!(
            Some(cells.len()),
            height.checked_mul(width),
            "{height} x {width} matrix"
        );
        Self {
            cells: Ok(cells),
            height,
            width,
        }
    }

    /// A matrix that could not be brought to the device, or made there.
    pub fn failed(error: Arc<MetalProverError>, height: usize, width: usize) -> Self {
        Self {
            cells: Err(error),
            height,
            width,
        }
    }

    /// Reason why the matrix has no cells, if it has none.
    pub fn error(&self) -> Option<&Arc<MetalProverError>> {
        self.cells.as_ref().err()
    }

    /// Number of rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Number of cells.
    pub fn num_cells(&self) -> usize {
        self.height * self.width
    }

    /// All cells, column after column.
    ///
    /// # Panics
    /// If the matrix carries an error; a proof checks every input before it starts.
    #[track_caller]
    pub fn slice(&self) -> MetalSlice<'_, T> {
        self.cells().slice()
    }

    /// The cells of column `j`; panics as [`slice`](Self::slice) and if `j` is not a column.
    #[track_caller]
    pub fn column(&self, j: usize) -> MetalSlice<'_, T> {
        self.slice().slice(j * self.height..(j + 1) * self.height)
    }

    /// The shared range that holds the cells; panics as [`slice`](Self::slice).
    #[track_caller]
    pub fn cells(&self) -> &MetalSliceOwned<T> {
        match &self.cells {
            Ok(cells) => cells,
            Err(error) => panic!("the matrix is not on the device: {error}"),
        }
    }

    /// Keeps the first `width` columns. The memory of the others is given back unless it is shared.
    pub(crate) fn truncate_columns(&mut self, width: usize) {
        self.width = self.width.min(width);
        let len = self.height * self.width;
        if let Ok(cells) = &mut self.cells {
            cells.len = len;
            if let Some(buffer) = Arc::get_mut(&mut cells.buffer) {
                buffer.shrink_to(cells.offset + len);
            }
        }
    }
}

impl<T: Send + Sync> MatrixDimensions for MetalMatrix<T> {
    fn height(&self) -> usize {
        self.height
    }

    fn width(&self) -> usize {
        self.width
    }
}

impl<T> fmt::Debug for MetalMatrix<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.cells.is_ok() { "" } else { " (failed)" };
        write!(f, "MetalMatrix[{} x {}]{state}", self.height, self.width)
    }
}
