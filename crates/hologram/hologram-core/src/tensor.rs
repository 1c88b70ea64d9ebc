//! Buffers with a shape, and views of them.

mod product;

use crate::buffer::Buffer;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::executor::Executor;
use crate::layout::{count, Layout};
use crate::ops::strided;

/// A buffer seen through a [`Layout`]. Views and clones share memory; copies and products are new, dense tensors.
///
/// Operations on elements and folds are those of [`ops`](crate::ops), on buffers, and of
/// [`expression`](crate::expression), on views as they lie.
#[derive(Clone, Debug)]
pub struct Tensor<T: Element> {
    executor: Executor,
    buffer: Buffer<T>,
    layout: Layout,
}

impl<T: Element> Tensor<T> {
    /// The first elements of a buffer, row-major.
    ///
    /// # Errors
    /// A buffer that is too short or of another executor.
    pub fn from_buffer(executor: &Executor, buffer: Buffer<T>, shape: &[usize]) -> Result<Self> {
        let needed = count(shape)?;
        if buffer.len() < needed {
            return Err(Error::BufferTooSmall {
                argument: "buffer",
                needed,
                len: buffer.len(),
            });
        }
        Self::with_layout(executor, buffer, Layout::contiguous(shape)?)
    }

    /// Any strides over a buffer, in elements.
    ///
    /// # Errors
    /// An element outside the buffer; a buffer of another executor.
    pub fn from_buffer_with_strides(
        executor: &Executor,
        buffer: Buffer<T>,
        shape: &[usize],
        strides: &[isize],
        offset: usize,
    ) -> Result<Self> {
        let layout = Layout::strided(shape, strides, offset, buffer.len())?;
        Self::with_layout(executor, buffer, layout)
    }

    fn with_layout(executor: &Executor, buffer: Buffer<T>, layout: Layout) -> Result<Self> {
        if !buffer.belongs_to(executor) {
            return Err(Error::ForeignBuffer { argument: "buffer" });
        }
        Ok(Self {
            executor: executor.clone(),
            buffer,
            layout,
        })
    }

    /// A new tensor with the elements of a slice, row-major.
    ///
    /// # Errors
    /// Another number of elements; out of memory.
    pub fn from_slice(executor: &Executor, data: &[T], shape: &[usize]) -> Result<Self> {
        if count(shape)? != data.len() {
            return Err(Error::LengthMismatch {
                argument: "data",
                expected: count(shape)?,
                actual: data.len(),
            });
        }
        Self::from_buffer(executor, executor.from_slice(data)?, shape)
    }

    /// A new tensor of zeros.
    ///
    /// # Errors
    /// Out of memory.
    pub fn zeros(executor: &Executor, shape: &[usize]) -> Result<Self> {
        Self::from_buffer(executor, executor.allocate(count(shape)?)?, shape)
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        self.layout.shape()
    }

    /// Elements from one index to the next, along each dimension.
    pub fn strides(&self) -> &[isize] {
        self.layout.strides()
    }

    /// Element of the buffer that index 0 is.
    pub fn offset(&self) -> usize {
        self.layout.offset()
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.layout.ndim()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        self.layout.numel()
    }

    /// True if it is dense and row-major.
    pub fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// The memory it shows.
    pub fn buffer(&self) -> &Buffer<T> {
        &self.buffer
    }

    /// Shape, strides and offset.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Executor of its memory.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    fn view(&self, layout: Layout) -> Self {
        Self {
            executor: self.executor.clone(),
            buffer: self.buffer.clone(),
            layout,
        }
    }

    /// The same elements, dense and row-major: the tensor itself or a copy made on the device.
    ///
    /// # Errors
    /// Out of memory.
    pub fn contiguous(&self) -> Result<Self> {
        if self.is_contiguous() {
            return Ok(self.clone());
        }
        let dense = Self::zeros(&self.executor, self.shape())?;
        strided::gather(&self.executor, &self.buffer, &self.layout, &dense.buffer)?;
        Ok(dense)
    }

    /// Another shape of the same elements; a copy if the view is not contiguous.
    ///
    /// # Errors
    /// Another number of elements; out of memory.
    pub fn reshape(&self, shape: &[usize]) -> Result<Self> {
        match self.layout.reshape(shape)? {
            Some(layout) => Ok(self.view(layout)),
            None => self.contiguous()?.reshape(shape),
        }
    }

    /// One dimension with all elements; a copy if the view is not contiguous.
    ///
    /// # Errors
    /// Out of memory.
    pub fn view_1d(&self) -> Result<Self> {
        self.reshape(&[self.numel()])
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    /// A dimension that does not exist.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self> {
        Ok(self.view(self.layout.transpose(a, b)?))
    }

    /// The dimensions in another order.
    ///
    /// # Errors
    /// `order` is not a permutation of the dimensions.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        Ok(self.view(self.layout.permute(order)?))
    }

    /// One index of a dimension, which goes.
    ///
    /// # Errors
    /// A dimension or an index that does not exist.
    pub fn select(&self, dim: usize, index: usize) -> Result<Self> {
        Ok(self.view(self.layout.select(dim, index)?))
    }

    /// `len` indices of a dimension from `start` on.
    ///
    /// # Errors
    /// A dimension or an index that does not exist.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        Ok(self.view(self.layout.narrow(dim, start, len)?))
    }

    /// Every `step`-th index from `start` to before `end`; a negative step counts down from `end - 1`.
    ///
    /// # Errors
    /// A dimension or an index that does not exist; a step of 0.
    pub fn slice(&self, dim: usize, start: usize, end: usize, step: isize) -> Result<Self> {
        Ok(self.view(self.layout.slice(dim, start, end, step)?))
    }

    /// A dimension of 1 at `dim`.
    ///
    /// # Errors
    /// `dim` over the number of dimensions.
    pub fn unsqueeze(&self, dim: usize) -> Result<Self> {
        Ok(self.view(self.layout.unsqueeze(dim)?))
    }

    /// All dimensions of 1 go.
    pub fn squeeze(&self) -> Self {
        self.view(self.layout.squeeze())
    }

    /// Repeated along new dimensions and those of 1, without copying.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        Ok(self.view(self.layout.broadcast_to(shape)?))
    }

    /// All elements in row-major order.
    ///
    /// # Errors
    /// Out of memory; what went wrong on the device before.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let dense = self.contiguous()?;
        let mut data = vec![T::default(); self.numel()];
        let offset = dense.offset() * dense.buffer.element_size();
        let bytes = crate::element::as_bytes_mut(&mut data);
        dense.buffer.read_bytes(offset, bytes)?;
        Ok(data)
    }
}
