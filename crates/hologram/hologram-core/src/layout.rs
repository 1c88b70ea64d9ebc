//! Shapes, strides and views, without data.

use crate::error::{Error, Result};

/// Shape, strides and offset of a view, in elements; strides may be negative, or 0 for broadcasts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Layout {
    shape: Vec<usize>,
    strides: Vec<isize>,
    offset: usize,
}

fn invalid<T>(message: String) -> Result<T> {
    Err(Error::InvalidView(message))
}

/// Product of a shape.
///
/// # Errors
/// [`Error::TooLarge`] when it passes `isize::MAX`.
pub fn count(shape: &[usize]) -> Result<usize> {
    // A zero anywhere makes the product zero, however large the rest is.
    if shape.contains(&0) {
        return Ok(0);
    }
    let mut product = 1u128;
    for &extent in shape {
        product = product.saturating_mul(extent as u128);
    }
    usize::try_from(product)
        .ok()
        .filter(|&n| n <= isize::MAX as usize)
        .ok_or(Error::TooLarge {
            what: "shape",
            elements: product,
        })
}

/// The shape that two shapes broadcast to: aligned at the end, extents equal or one of them 1.
///
/// # Errors
/// [`Error::InvalidShape`].
pub fn broadcast_shapes(a: &[usize], b: &[usize]) -> Result<Vec<usize>> {
    let rank = a.len().max(b.len());
    let extent =
        |shape: &[usize], i: usize| (i + shape.len()).checked_sub(rank).map_or(1, |j| shape[j]);
    (0..rank)
        .map(|i| match (extent(a, i), extent(b, i)) {
            (x, y) if x == y => Ok(x),
            (1, y) => Ok(y),
            (x, 1) => Ok(x),
            _ => Err(Error::InvalidShape(format!(
                "{a:?} and {b:?} do not broadcast"
            ))),
        })
        .collect()
}

impl Layout {
    /// Row-major, from offset 0.
    ///
    /// # Errors
    /// [`Error::TooLarge`].
    pub fn contiguous(shape: &[usize]) -> Result<Self> {
        count(shape)?;
        let mut strides = vec![0; shape.len()];
        let mut stride = 1usize;
        for (s, &extent) in strides.iter_mut().zip(shape).rev() {
            *s = stride as isize;
            stride = stride
                .saturating_mul(extent.max(1))
                .min(isize::MAX as usize);
        }
        Ok(Self {
            shape: shape.to_vec(),
            strides,
            offset: 0,
        })
    }

    /// Any strides over a buffer of `len` elements.
    ///
    /// # Errors
    /// Different numbers of extents and strides; an element outside the buffer.
    pub fn strided(shape: &[usize], strides: &[isize], offset: usize, len: usize) -> Result<Self> {
        if shape.len() != strides.len() {
            return invalid(format!(
                "{} extents, but {} strides",
                shape.len(),
                strides.len()
            ));
        }
        let elements = count(shape)?;
        let (mut low, mut high) = (offset as i128, offset as i128);
        for (&extent, &stride) in shape.iter().zip(strides) {
            let reach = (extent as i128 - 1).max(0) * stride as i128;
            low += reach.min(0);
            high += reach.max(0);
        }
        if elements > 0 && (low < 0 || high >= len as i128) {
            return invalid(format!(
                "elements {low} to {high} of a buffer of {len} (shape {shape:?}, strides {strides:?}, offset {offset})"
            ));
        }
        Ok(Self {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offset,
        })
    }

    /// Extents.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Elements from one index to the next, along each dimension.
    pub fn strides(&self) -> &[isize] {
        &self.strides
    }

    /// Element of the buffer that index 0 is.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of dimensions.
    pub fn ndim(&self) -> usize {
        self.shape.len()
    }

    /// Number of elements.
    pub fn numel(&self) -> usize {
        // Without zeros the product was checked; with one it might pass `usize` on the way.
        if self.shape.contains(&0) {
            0
        } else {
            self.shape.iter().product()
        }
    }

    /// The lowest and the highest element of the buffer that is seen; both the offset if none is.
    pub fn reach(&self) -> (usize, usize) {
        let (mut low, mut high) = (self.offset, self.offset);
        if self.numel() > 0 {
            for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
                let distance = stride * (extent as isize - 1);
                low = low.wrapping_add_signed(distance.min(0));
                high = high.wrapping_add_signed(distance.max(0));
            }
        }
        (low, high)
    }

    /// Row-major without gaps (from any offset).
    pub fn is_contiguous(&self) -> bool {
        if self.numel() == 0 {
            return true;
        }
        let mut expected = 1isize;
        for (&extent, &stride) in self.shape.iter().zip(&self.strides).rev() {
            if extent != 1 && stride != expected {
                return false;
            }
            expected *= extent as isize;
        }
        true
    }

    fn check_dim(&self, dim: usize) -> Result<()> {
        if dim < self.ndim() {
            Ok(())
        } else {
            invalid(format!("dimension {dim} of a tensor of {}", self.ndim()))
        }
    }

    fn moved(&self, dim: usize, steps: usize) -> usize {
        if self.numel() == 0 {
            return self.offset;
        }
        self.offset
            .wrapping_add_signed(self.strides[dim].wrapping_mul(steps as isize))
    }

    /// The dimensions in another order.
    ///
    /// # Errors
    /// `order` is not a permutation of the dimensions.
    pub fn permute(&self, order: &[usize]) -> Result<Self> {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..self.ndim()) {
            return invalid(format!(
                "{order:?} is not a permutation of {} dimensions",
                self.ndim()
            ));
        }
        Ok(Self {
            shape: order.iter().map(|&d| self.shape[d]).collect(),
            strides: order.iter().map(|&d| self.strides[d]).collect(),
            offset: self.offset,
        })
    }

    /// Two dimensions exchanged.
    ///
    /// # Errors
    /// A dimension that does not exist.
    pub fn transpose(&self, a: usize, b: usize) -> Result<Self> {
        self.check_dim(a)?;
        self.check_dim(b)?;
        let mut order: Vec<usize> = (0..self.ndim()).collect();
        order.swap(a, b);
        self.permute(&order)
    }

    /// One index of a dimension, which goes.
    ///
    /// # Errors
    /// A dimension or an index that does not exist.
    pub fn select(&self, dim: usize, index: usize) -> Result<Self> {
        let mut view = self.slice(dim, index, index.saturating_add(1), 1)?;
        view.shape.remove(dim);
        view.strides.remove(dim);
        Ok(view)
    }

    /// `len` indices of a dimension from `start` on.
    ///
    /// # Errors
    /// A dimension or an index that does not exist.
    pub fn narrow(&self, dim: usize, start: usize, len: usize) -> Result<Self> {
        self.slice(dim, start, start.saturating_add(len), 1)
    }

    /// Every `step`-th index of a dimension from `start` to before `end`; a negative step counts
    /// down from `end - 1`.
    ///
    /// # Errors
    /// A dimension or an index that does not exist; a step of 0.
    pub fn slice(&self, dim: usize, start: usize, end: usize, step: isize) -> Result<Self> {
        self.check_dim(dim)?;
        let extent = self.shape[dim];
        if start > end || end > extent {
            return invalid(format!(
                "indices {start} to {end} of dimension {dim}, which has {extent}"
            ));
        }
        if step == 0 {
            return invalid("step 0".into());
        }
        let mut view = self.clone();
        view.shape[dim] = (end - start).div_ceil(step.unsigned_abs());
        view.strides[dim] = self.strides[dim].saturating_mul(step);
        if view.shape[dim] <= 1 {
            // One index needs no stride, and a huge step would not fit in a product.
            view.strides[dim] = 1;
        }
        if end > start {
            view.offset = self.moved(dim, if step > 0 { start } else { end - 1 });
        }
        Ok(view)
    }

    /// A dimension of 1 at `dim`.
    ///
    /// # Errors
    /// `dim` over the number of dimensions.
    pub fn unsqueeze(&self, dim: usize) -> Result<Self> {
        if dim > self.ndim() {
            return self.check_dim(dim).map(|()| self.clone());
        }
        let mut view = self.clone();
        view.shape.insert(dim, 1);
        view.strides.insert(dim, 1);
        Ok(view)
    }

    /// All dimensions of 1 go.
    pub fn squeeze(&self) -> Self {
        let keep = || self.shape.iter().map(|&extent| extent != 1);
        Self {
            shape: self.shape.iter().copied().filter(|&e| e != 1).collect(),
            strides: self
                .strides
                .iter()
                .zip(keep())
                .filter(|(_, k)| *k)
                .map(|(&s, _)| s)
                .collect(),
            offset: self.offset,
        }
    }

    /// Another shape of the same elements; `None` if this needs a copy.
    ///
    /// # Errors
    /// Another number of elements.
    pub fn reshape(&self, shape: &[usize]) -> Result<Option<Self>> {
        if count(shape)? != self.numel() {
            return Err(Error::InvalidShape(format!(
                "{:?} has {} elements, {shape:?} has {}",
                self.shape,
                self.numel(),
                count(shape)?
            )));
        }
        if !self.is_contiguous() {
            return Ok(None);
        }
        let mut view = Self::contiguous(shape)?;
        view.offset = self.offset;
        Ok(Some(view))
    }

    /// Repeated along new dimensions and those of 1, without copying.
    ///
    /// # Errors
    /// Shapes that do not broadcast.
    pub fn broadcast_to(&self, shape: &[usize]) -> Result<Self> {
        count(shape)?;
        if broadcast_shapes(&self.shape, shape)? != shape {
            return Err(Error::InvalidShape(format!(
                "{:?} does not broadcast to {shape:?}",
                self.shape
            )));
        }
        let lead = shape.len() - self.ndim();
        let stride = |i: usize| match i.checked_sub(lead) {
            Some(j) if self.shape[j] == shape[i] => self.strides[j],
            _ => 0,
        };
        Ok(Self {
            strides: (0..shape.len()).map(stride).collect(),
            shape: shape.to_vec(),
            offset: self.offset,
        })
    }

    /// The same elements in the same order with as few dimensions as possible: those of 1 dropped,
    /// neighbours merged where one continues the other.
    pub fn coalesced(&self) -> Self {
        let mut shape: Vec<usize> = Vec::new();
        let mut strides: Vec<isize> = Vec::new();
        for (&extent, &stride) in self.shape.iter().zip(&self.strides) {
            if extent == 1 {
                continue;
            }
            match (shape.last_mut(), strides.last_mut()) {
                (Some(e), Some(s)) if *s == stride.wrapping_mul(extent as isize) => {
                    *e *= extent;
                    *s = stride;
                }
                _ => {
                    shape.push(extent);
                    strides.push(stride);
                }
            }
        }
        Self {
            shape,
            strides,
            offset: self.offset,
        }
    }
}
