//! The end of memory: a message in the user's terms and status 1 in place of an abort.

use std::{
    alloc::{GlobalAlloc, Layout},
    fmt::{self, Display, Write as _},
};

use openvm_metal_common::{address_space, memory_limit};
use openvm_metal_sdk::HugePages;

use crate::{ending, host::peak_memory};

/// The SDK's allocator for a process that ends when the system refuses memory: code that allocates could only abort it.
pub struct Allocator;

// SAFETY: every call is that of `HugePages`, and its result is returned unchanged; the process ends where it is null.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises, of the layout's size among them, are those of `HugePages`.
        given(unsafe { HugePages.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        given(unsafe { HugePages.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as above; `bytes` is the new size.
        given(unsafe { HugePages.realloc(old, layout, bytes) }, bytes)
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { HugePages.dealloc(start, layout) }
    }
}

fn given(start: *mut u8, bytes: usize) -> *mut u8 {
    if start.is_null() {
        end(format_args!(
            "{} MiB more are needed",
            bytes.div_ceil(1 << 20)
        ));
    }
    start
}

/// Says that memory has ended and why, and ends the process. Allocates nothing.
pub fn end(why: fmt::Arguments<'_>) -> ! {
    let mut text = Text {
        bytes: [0; 1024],
        length: 0,
    };
    // A text that does not fit is cut off.
    let _ = write!(text, "\nerror: out of memory: {why}\nhint: {Remedy}\n");
    // On a terminal the first newline ends the line of a progress bar.
    // SAFETY: a plain query.
    let start = match unsafe { libc::isatty(libc::STDERR_FILENO) } {
        1 => 0,
        _ => 1,
    };
    let text = &text.bytes[start..text.length];
    // SAFETY: pointer and length are those of a slice. A standard error that cannot be written leaves nobody to tell.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
    ending::at_once(1)
}

/// Makes aborts for lack of memory end as [`end`] does. The C library aborts a process itself where it cannot allocate for a new thread.
pub fn explain_aborts() {
    /// Less address space than this is left when memory has ended.
    const LEFT: usize = 64 << 20;

    extern "C" fn aborted(signal: libc::c_int) {
        let (access, kind) = (libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANON);
        // SAFETY: a new mapping of `LEFT` bytes that nobody accesses.
        let probe = unsafe { libc::mmap(std::ptr::null_mut(), LEFT, access, kind, -1, 0) };
        if probe == libc::MAP_FAILED {
            end(format_args!("the system refuses memory to the C library"));
        }
        // SAFETY: the signal's default action, which ends the process, as without this handler.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
            libc::raise(signal);
        }
    }
    let handler: extern "C" fn(libc::c_int) = aborted;
    // SAFETY: the handler has a handler's signature, and calls only functions that a handler may call.
    unsafe { libc::signal(libc::SIGABRT, handler as libc::sighandler_t) };
}

/// Remedies when memory has ended.
pub struct Remedy;

impl Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = address_space().or_else(peak_memory).unwrap_or(0) >> 20;
        match memory_limit() {
            Some(limit) => write!(
                f,
                "{} allows the process {} MiB, of which it has {held}: allow more (`{}`; the proof of a small program takes 2 GiB)",
                limit.name,
                limit.bytes >> 20,
                limit.command
            )?,
            None => write!(f, "the process has {held} MiB: take a machine with more memory")?,
        }
        f.write_str(
            ", or need less: smaller segments (--segment-max-memory 1G), fewer threads (--machines 1, RAYON_NUM_THREADS=1)",
        )
    }
}

/// A text of bounded length that needs no memory.
struct Text {
    bytes: [u8; 1024],
    length: usize,
}

impl fmt::Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let left = &mut self.bytes[self.length..];
        let taken = text.len().min(left.len());
        left[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        match taken == text.len() {
            true => Ok(()),
            false => Err(fmt::Error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_at_its_bound() {
        let mut text = Text {
            bytes: [0; 1024],
            length: 0,
        };
        assert!(write!(text, "{}", "a".repeat(1000)).is_ok());
        assert!(write!(text, "{}", "b".repeat(25)).is_err());
        assert_eq!(text.length, 1024);
        assert_eq!(&text.bytes[999..1001], b"ab");
    }
}
