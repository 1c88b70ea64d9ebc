//! Input from the hint stream: the head at once, trie nodes on demand.

use alloc::alloc::{alloc, Layout};
use core::{mem::size_of, slice};

use alloy_primitives::Bytes;
use ethereum_core::{input, Input, InputError, Nodes};
use openvm::{hint_buffer_chunked, hint_input, io::read_u32};

/// Trie nodes, read from the hint stream on demand.
pub struct Hints {
    bytes: *mut u8,
    /// Bytes that have been read, a multiple of four.
    read: usize,
    length: usize,
}

impl Nodes for Hints {
    fn length(&self) -> usize {
        self.length
    }

    fn read(&mut self, end: usize) {
        let end = input::padded(end.min(self.length));
        if end > self.read {
            // SAFETY: `room` allocated `padded(length)` bytes, `end` is at most that, and `read` is a multiple of four.
            hint_buffer_chunked(
                unsafe { self.bytes.add(self.read) },
                (end - self.read) / size_of::<u32>(),
            );
            self.read = end;
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: these bytes are written, and nothing writes them again.
        unsafe { slice::from_raw_parts(self.bytes, self.read.min(self.length)) }
    }
}

/// Reads the next input up to its trie nodes.
///
/// # Errors
///
/// [`InputError`] for an input of another form.
pub fn read() -> Result<Input<Hints>, InputError> {
    hint_input();
    let length = read_u32() as usize;
    if length < input::START {
        return Err(InputError::Truncated { at: 0, length });
    }
    let mut start = [0; 2];
    hint_buffer_chunked(start.as_mut_ptr().cast(), 2);
    let head_length = input::head_length(start, length)?;
    let head = room(head_length);
    // SAFETY: `head_length` is a multiple of four and at least START; `room` allocated as many bytes, all of which are written here, and
    // nothing writes or frees them again.
    let head = unsafe {
        head.cast::<[u32; 2]>().write(start);
        hint_buffer_chunked(
            head.add(input::START),
            (head_length - input::START) / size_of::<u32>(),
        );
        slice::from_raw_parts(head.cast_const(), head_length)
    };
    let length = length - head_length;
    let nodes = Hints {
        bytes: room(length),
        read: 0,
        length,
    };
    Input::read_head(&Bytes::from_static(head), nodes)
}

/// Allocates `length` bytes, rounded up to words. The host states the length: the guest panics if it exceeds the memory.
fn room(length: usize) -> *mut u8 {
    let size = length.max(4).checked_next_multiple_of(4);
    let layout = size.and_then(|size| Layout::from_size_align(size, 4).ok());
    let layout = layout.expect("the input's length exceeds the guest's memory");
    // SAFETY: the size is not 0.
    let place = unsafe { alloc(layout) };
    assert!(!place.is_null(), "no memory for an input of {length} bytes");
    place
}
