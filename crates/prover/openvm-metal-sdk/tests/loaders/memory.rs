//! An allocator that counts the bytes of each thread, and ends the process if a case takes too many.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use crate::campaign;

/// Most bytes that a case may take.
pub const LIMIT: isize = 1 << 30;

thread_local! {
    /// Bytes that this thread has taken and not given back. What others gave back counts here as taken still.
    static TAKEN: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
    static BOUND: Cell<isize> = const { Cell::new(isize::MAX) };
}

pub struct Counting;

fn count(bytes: isize) {
    // A thread that ends has no counters.
    let _ = TAKEN.try_with(|taken| {
        let now = taken.get() + bytes;
        taken.set(now);
        if now > PEAK.get() {
            PEAK.set(now);
        }
        if now > BOUND.get() {
            // The report needs memory, too.
            BOUND.set(isize::MAX);
            campaign::abort("takes more than 1 GiB of memory");
        }
    });
}

// SAFETY: every request goes to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size as isize - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

/// Runs a function, and gives the most bytes that this thread had taken meanwhile, beside those that it had before.
pub fn peak<T>(f: impl FnOnce() -> T) -> (T, isize) {
    let before = TAKEN.get();
    PEAK.set(before);
    BOUND.set(before + LIMIT);
    let result = f();
    BOUND.set(isize::MAX);
    (result, PEAK.get() - before)
}
