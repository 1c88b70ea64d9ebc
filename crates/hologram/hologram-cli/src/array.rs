//! Arrays as files hold them and buffers take them.

use hologram_backends::Ty;

/// A dense row-major array.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Element type.
    pub ty: Ty,
    /// Extent of each dimension; none for a single number.
    pub shape: Vec<usize>,
    /// Elements, little-endian.
    pub data: Vec<u8>,
}

impl Array {
    /// Zeros.
    ///
    /// # Errors
    /// A size that does not fit.
    pub fn zeros(ty: Ty, shape: Vec<usize>) -> Result<Self, String> {
        let bytes = byte_len(ty, &shape)?;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes)
            .map_err(|_| format!("no memory for {bytes} bytes"))?;
        data.resize(bytes, 0);
        Ok(Self { ty, shape, data })
    }
}

/// Bytes of an array.
///
/// # Errors
/// A size that does not fit.
pub fn byte_len(ty: Ty, shape: &[usize]) -> Result<usize, String> {
    shape
        .iter()
        .try_fold(ty.size(), |product, &extent| product.checked_mul(extent))
        .filter(|&bytes| bytes <= isize::MAX as usize)
        .ok_or_else(|| format!("{shape:?} elements of {ty} do not fit memory"))
}
