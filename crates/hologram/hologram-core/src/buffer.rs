//! Memory of a device, freed when the last clone is dropped.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::Arc;

use hologram_backends::{BufferHandle, Operand, Ty};

use crate::element::{as_bytes, as_bytes_mut, Element};
use crate::error::{Error, Result};
use crate::shared::{Memory, Shared};

/// A buffer whose element type is known at run time. Clones are the same memory.
#[derive(Clone)]
pub struct DynBuffer {
    owned: Arc<Owned>,
    ty: Ty,
    len: usize,
}

/// A buffer of `T`; [`DynBuffer`] has the methods that need no type.
#[derive(Clone)]
pub struct Buffer<T: Element> {
    inner: DynBuffer,
    element: PhantomData<T>,
}

struct Owned {
    shared: Arc<Shared>,
    memory: Memory,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.shared.release(self.memory);
    }
}

impl DynBuffer {
    pub(crate) fn new(shared: Arc<Shared>, memory: Memory, ty: Ty, len: usize) -> Self {
        Self {
            owned: Arc::new(Owned { shared, memory }),
            ty,
            len,
        }
    }

    /// Type of the elements.
    pub fn ty(&self) -> Ty {
        self.ty
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of an element.
    pub fn element_size(&self) -> usize {
        self.ty.size()
    }

    /// Bytes of all elements.
    pub fn size_bytes(&self) -> usize {
        self.owned.memory.bytes
    }

    /// The name in programs; valid as long as a clone of the buffer lives.
    pub fn handle(&self) -> BufferHandle {
        self.owned.memory.handle
    }

    /// Boundary class, if it lies in the boundary pool.
    pub fn class(&self) -> Option<u8> {
        self.handle().as_class()
    }

    /// True if it lies in the boundary pool.
    pub fn is_boundary(&self) -> bool {
        self.class().is_some()
    }

    /// True if both are the same memory.
    pub fn same_memory(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.owned, &other.owned)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.owned.shared
    }

    /// Writes bytes from byte `offset` on.
    ///
    /// # Errors
    /// A range past the end.
    pub fn write_bytes(&self, offset: usize, data: &[u8]) -> Result<()> {
        self.check_bytes(offset, data.len())?;
        let mut state = self.owned.shared.lock();
        state
            .backend
            .copy_to_buffer_at(self.handle(), offset, data)?;
        state.stats.bytes_to_device += data.len() as u64;
        Ok(())
    }

    /// Reads bytes from byte `offset` on, after everything submitted.
    ///
    /// # Errors
    /// A range past the end; what went wrong before.
    pub fn read_bytes(&self, offset: usize, data: &mut [u8]) -> Result<()> {
        self.check_bytes(offset, data.len())?;
        let mut state = self.owned.shared.lock();
        state.synchronize()?;
        state
            .backend
            .copy_from_buffer_at(self.handle(), offset, data)?;
        state.stats.bytes_from_device += data.len() as u64;
        Ok(())
    }

    /// All bytes.
    ///
    /// # Errors
    /// Those of [`DynBuffer::read_bytes`].
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut data = vec![0; self.size_bytes()];
        self.read_bytes(0, &mut data)?;
        Ok(data)
    }

    /// Address of the bytes in the host's memory, after everything submitted; `None` on devices with
    /// memory of their own. Valid as long as a clone of the buffer lives; who uses it must know that no
    /// operation does so at the same time.
    ///
    /// # Errors
    /// What went wrong before.
    pub fn host_pointer(&self) -> Result<Option<NonNull<u8>>> {
        let mut state = self.owned.shared.lock();
        state.synchronize()?;
        Ok(state.backend.host_pointer(self.handle())?)
    }

    /// The buffer with its type known to the compiler.
    ///
    /// # Errors
    /// [`Error::TypeMismatch`].
    pub fn typed<T: Element>(&self) -> Result<Buffer<T>> {
        if self.ty != T::TY {
            return Err(Error::TypeMismatch {
                argument: "buffer",
                expected: T::TY,
                actual: self.ty,
            });
        }
        Ok(Buffer::from_dyn_unchecked(self.clone()))
    }

    /// The whole buffer as an operand.
    pub fn span(&self) -> Span<'_> {
        Span {
            buffer: self,
            offset: 0,
            len: self.len,
        }
    }

    /// `len` elements from `offset` on as an operand.
    ///
    /// # Errors
    /// A range past the end.
    pub fn slice(&self, offset: usize, len: usize) -> Result<Span<'_>> {
        match offset.checked_add(len) {
            Some(end) if end <= self.len => Ok(Span {
                buffer: self,
                offset,
                len,
            }),
            _ => Err(Error::InvalidView(format!(
                "{len} elements from {offset} of a buffer of {}",
                self.len
            ))),
        }
    }

    fn check_bytes(&self, offset: usize, len: usize) -> Result<()> {
        match offset.checked_add(len) {
            Some(end) if end <= self.size_bytes() => Ok(()),
            _ => Err(Error::InvalidView(format!(
                "{len} bytes from {offset} of a buffer of {}",
                self.size_bytes()
            ))),
        }
    }
}

impl fmt::Debug for DynBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({} x {})", self.handle(), self.len, self.ty)
    }
}

impl<T: Element> Buffer<T> {
    /// The caller knows that the type is `T`.
    pub(crate) fn from_dyn_unchecked(inner: DynBuffer) -> Self {
        debug_assert_eq!(inner.ty, T::TY);
        Self {
            inner,
            element: PhantomData,
        }
    }

    /// The buffer with its type known at run time only.
    pub fn as_dyn(&self) -> &DynBuffer {
        &self.inner
    }

    /// Writes all elements.
    ///
    /// # Errors
    /// Another number of elements.
    pub fn copy_from_slice(&self, data: &[T]) -> Result<()> {
        self.check_len("data", data.len())?;
        self.write_bytes(0, as_bytes(data))
    }

    /// Reads all elements, after everything submitted.
    ///
    /// # Errors
    /// Another number of elements; what went wrong before.
    pub fn copy_to_slice(&self, data: &mut [T]) -> Result<()> {
        self.check_len("data", data.len())?;
        self.read_bytes(0, as_bytes_mut(data))
    }

    /// All elements.
    ///
    /// # Errors
    /// What went wrong before.
    pub fn to_vec(&self) -> Result<Vec<T>> {
        let mut data = vec![T::default(); self.len()];
        self.copy_to_slice(&mut data)?;
        Ok(data)
    }

    /// One element.
    ///
    /// # Errors
    /// An index past the end; what went wrong before.
    pub fn get(&self, index: usize) -> Result<T> {
        let mut value = [T::default()];
        self.slice(index, 1)?;
        self.read_bytes(index * self.element_size(), as_bytes_mut(&mut value))?;
        Ok(value[0])
    }

    /// Clears bit 0 of every byte.
    ///
    /// # Errors
    /// What went wrong before.
    pub fn canonicalize(&self) -> Result<()> {
        let mut bytes = self.to_bytes()?;
        bytes.iter_mut().for_each(|byte| *byte &= !1);
        self.write_bytes(0, &bytes)
    }

    /// True if bit 0 of every byte is clear.
    ///
    /// # Errors
    /// What went wrong before.
    pub fn is_canonical(&self) -> Result<bool> {
        Ok(self.to_bytes()?.iter().all(|byte| byte & 1 == 0))
    }

    fn check_len(&self, argument: &'static str, actual: usize) -> Result<()> {
        if actual == self.len() {
            return Ok(());
        }
        Err(Error::LengthMismatch {
            argument,
            expected: self.len(),
            actual,
        })
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = DynBuffer;

    fn deref(&self) -> &DynBuffer {
        &self.inner
    }
}

impl<T: Element> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// A dense run of a buffer's elements: an operand of an operation.
#[derive(Clone, Copy, Debug)]
pub struct Span<'a> {
    buffer: &'a DynBuffer,
    offset: usize,
    len: usize,
}

impl<'a> Span<'a> {
    /// The buffer.
    pub fn buffer(&self) -> &'a DynBuffer {
        self.buffer
    }

    /// First element.
    pub fn offset(&self) -> usize {
        self.offset
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// First byte.
    pub(crate) fn byte_offset(&self) -> usize {
        self.offset * self.buffer.element_size()
    }

    /// For calls to the backend.
    pub(crate) fn operand(&self) -> Operand {
        Operand::new(self.buffer.handle(), self.byte_offset() as u64)
    }
}

impl<'a> From<&'a DynBuffer> for Span<'a> {
    fn from(buffer: &'a DynBuffer) -> Self {
        buffer.span()
    }
}

impl<'a, T: Element> From<&'a Buffer<T>> for Span<'a> {
    fn from(buffer: &'a Buffer<T>) -> Self {
        buffer.span()
    }
}
