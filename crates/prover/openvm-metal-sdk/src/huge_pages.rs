//! `HugePages`: an allocator that asks the system for huge pages.

use std::alloc::{GlobalAlloc, Layout, System};

/// Bytes of a huge page where pages have 4 KiB; a system with larger ones gives what it has.
#[cfg(target_os = "linux")]
const PAGE: usize = 2 << 20;

/// The system's allocator, with huge pages for allocations of several MiB where Linux gives them on request.
///
/// Records and traces of a segment take hundreds of MiB that are new with each segment. In pages of 4 KiB, a quarter of all
/// processor time goes into making them (docs/notebook/programs.md). A program that proves names it once:
///
/// ```
/// #[global_allocator]
/// static ALLOCATOR: openvm_metal_sdk::HugePages = openvm_metal_sdk::HugePages;
/// # fn main() { assert!(vec![1u8; 9 << 20].iter().all(|&byte| byte == 1)) }
/// ```
///
/// On other systems it is the system's allocator.
#[derive(Clone, Copy, Debug, Default)]
pub struct HugePages;

/// Asks for huge pages for those that lie wholly in `bytes` bytes from `start`, if there are any.
#[cfg(target_os = "linux")]
fn ask(start: *mut u8, bytes: usize) {
    if start.is_null() || bytes < 2 * PAGE {
        return;
    }
    let skipped = start.align_offset(PAGE);
    let whole = bytes.saturating_sub(skipped) / PAGE * PAGE;
    // SAFETY: `skipped + whole` is at most `bytes`, so the range lies in the allocation. The advice changes neither contents nor
    // validity; a refusal leaves small pages.
    unsafe { libc::madvise(start.add(skipped).cast(), whole, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask(_start: *mut u8, _bytes: usize) {}

// SAFETY: every call is the system allocator's, and its result is returned unchanged.
unsafe impl GlobalAlloc for HugePages {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        let start = unsafe { System.alloc(layout) };
        ask(start, layout.size());
        start
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above. New memory of the system is zero without being written, so the advice comes before it is touched.
        let start = unsafe { System.alloc_zeroed(layout) };
        ask(start, layout.size());
        start
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above.
        let start = unsafe { System.realloc(old, layout, bytes) };
        ask(start, bytes);
        start
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocations of sizes around those that are asked for keep what is written through growth and shrinking.
    #[test]
    fn contents_are_the_system_allocators() {
        for bytes in [
            1,
            4095,
            (2 << 20) + 1,
            (4 << 20) - 1,
            4 << 20,
            (9 << 20) + 5,
        ] {
            let layout = Layout::from_size_align(bytes, 64).expect("a layout");
            // SAFETY: sizes are above 0, each block is freed once with its layout, and only bytes inside are used.
            unsafe {
                let start = HugePages.alloc_zeroed(layout);
                assert!(!start.is_null() && start.align_offset(64) == 0);
                assert!(std::slice::from_raw_parts(start, bytes)
                    .iter()
                    .all(|&byte| byte == 0));
                start.add(bytes - 1).write(7);
                let start = HugePages.realloc(start, layout, bytes + (5 << 20));
                assert_eq!(start.add(bytes - 1).read(), 7);
                let larger = Layout::from_size_align(bytes + (5 << 20), 64).expect("a layout");
                HugePages.dealloc(start, larger);
                let start = HugePages.alloc(layout);
                start.write_bytes(1, bytes);
                HugePages.dealloc(start, layout);
            }
        }
    }
}
