//! One allocation.

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::NonNull;

use super::Span;

/// Alignment of the first byte.
const ALIGN: usize = 64;
/// Alignment asked of the allocator, which then takes zeroed pages from the system as they are.
const ASKED: usize = 16;

/// Zeroed bytes, aligned to 64, freed on drop.
pub(super) struct Block {
    /// What the allocator gave; `None` for no bytes.
    base: Option<(NonNull<u8>, Layout)>,
    span: Span,
}

impl Block {
    /// `len` zeroed bytes; `None` when the system gives none.
    ///
    /// Cost: large blocks are mapped by the system and touched only when used.
    pub fn zeroed(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Self {
                base: None,
                span: Span::EMPTY,
            });
        }
        let layout = Layout::from_size_align(len.checked_add(ALIGN)?, ASKED).ok()?;
        // SAFETY: the layout has a size.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        let shift = base.as_ptr().align_offset(ALIGN).min(ALIGN);
        Some(Self {
            base: Some((base, layout)),
            span: Span {
                // SAFETY: `shift` is at most the 64 bytes allocated beyond `len`.
                ptr: unsafe { base.as_ptr().add(shift) },
                len: len as u64,
            },
        })
    }

    pub fn span(&self) -> Span {
        self.span
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some((base, layout)) = self.base {
            // SAFETY: allocated with this layout, freed once.
            unsafe { dealloc(base.as_ptr(), layout) }
        }
    }
}

// SAFETY: the block owns its memory; what of it is shared is accessed as `Span` says.
unsafe impl Send for Block {}
// SAFETY: as above.
unsafe impl Sync for Block {}
