//! One allocation.

use std::alloc::{alloc_zeroed, dealloc, Layout};
use std::ptr::NonNull;

use super::Span;

/// Alignment of the first byte.
const ALIGN: usize = 64;
/// Alignment asked of the allocator, which then takes zeroed pages from the system as they are.
const ASKED: usize = 16;

/// Bytes aligned to 64: zeroed ones, freed on drop, or some that another owns.
pub(crate) struct Block {
    /// The allocation; `None` for no bytes and for another owner's bytes.
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
        ask_for_huge_pages(base.as_ptr(), layout.size());
        Some(Self {
            base: Some((base, layout)),
            span: Span {
                // SAFETY: `shift` is at most the 64 bytes allocated beyond `len`.
                ptr: unsafe { base.as_ptr().add(shift) },
                len: len as u64,
            },
        })
    }

    /// Bytes that another owns.
    ///
    /// # Safety
    /// They are live for as long as the block is, aligned to 64, and meanwhile accessed by nobody else.
    pub unsafe fn borrowed(ptr: *mut u8, len: usize) -> Self {
        let len = len as u64;
        let span = if len == 0 {
            Span::EMPTY
        } else {
            Span { ptr, len }
        };
        Self { base: None, span }
    }

    /// Bytes that it may have: as many as when it was made.
    pub fn capacity(&self) -> u64 {
        self.base
            .map_or(self.span.len, |(_, layout)| (layout.size() - ALIGN) as u64)
    }

    /// Makes it shorter, or as long as when it was made.
    pub fn set_len(&mut self, len: u64) {
        assert!(len <= self.capacity());
        self.span.len = len;
    }

    /// Place of the bytes.
    pub fn span(&self) -> Span {
        self.span
    }

    /// All bytes.
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: live, initialised bytes that are written by programs only, which borrow the memory they run on.
        unsafe { std::slice::from_raw_parts(self.span.ptr, self.span.len as usize) }
    }

    /// All bytes.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and the block is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.span.ptr, self.span.len as usize) }
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

/// Asks the system to map a large block by pages of 2 MiB, of which there are 512 times fewer to make.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages(ptr: *mut u8, len: usize) {
    const PAGE: usize = 2 << 20;
    let shift = ptr.align_offset(PAGE);
    if len < 2 * PAGE || shift >= len - PAGE {
        return;
    }
    // SAFETY: whole pages within the block; the advice changes nothing that can be read. It may be refused.
    unsafe {
        libc::madvise(
            ptr.add(shift).cast(),
            (len - shift) / PAGE * PAGE,
            libc::MADV_HUGEPAGE,
        );
    }
}

/// Other systems choose the pages themselves.
#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages(_: *mut u8, _: usize) {}
