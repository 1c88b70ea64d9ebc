//! Little-endian words in memory that several lanes may access at once.

use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64, AtomicU8, Ordering::Relaxed};

/// 1, 2, 4 or 8 bytes, read and written at any address.
///
/// Aligned words are accessed by one relaxed atomic, others byte by byte: what lanes that race leave
/// in memory is unspecified, but nothing else is.
pub(in crate::cpu) trait Word: Copy + 'static {
    /// Bytes.
    const SIZE: u64;

    /// The word at `ptr`.
    ///
    /// # Safety
    /// `SIZE` bytes there are live memory, accessed by other threads only through this trait.
    unsafe fn read(ptr: *mut u8) -> Self;

    /// Writes the word at `ptr`.
    ///
    /// # Safety
    /// As [`Word::read`].
    unsafe fn write(ptr: *mut u8, value: Self);
}

macro_rules! words {
    ($($t:ident $atomic:ident $n:literal;)*) => {$(
        impl Word for $t {
            const SIZE: u64 = $n;

            #[inline(always)]
            unsafe fn read(ptr: *mut u8) -> Self {
                if (ptr as usize).is_multiple_of($n) {
                    // SAFETY: live by the contract, aligned as tested.
                    let word = unsafe { $atomic::from_ptr(ptr.cast()) };
                    return $t::from_le(word.load(Relaxed));
                }
                let mut bytes = [0; $n];
                for (i, byte) in bytes.iter_mut().enumerate() {
                    // SAFETY: within the bytes that the contract promises.
                    *byte = unsafe { AtomicU8::from_ptr(ptr.add(i)) }.load(Relaxed);
                }
                $t::from_le_bytes(bytes)
            }

            #[inline(always)]
            unsafe fn write(ptr: *mut u8, value: Self) {
                if (ptr as usize).is_multiple_of($n) {
                    // SAFETY: live by the contract, aligned as tested.
                    let word = unsafe { $atomic::from_ptr(ptr.cast()) };
                    word.store(value.to_le(), Relaxed);
                    return;
                }
                for (i, byte) in value.to_le_bytes().into_iter().enumerate() {
                    // SAFETY: within the bytes that the contract promises.
                    unsafe { AtomicU8::from_ptr(ptr.add(i)) }.store(byte, Relaxed);
                }
            }
        }
    )*};
}

words! {
    u8 AtomicU8 1;
    u16 AtomicU16 2;
    u32 AtomicU32 4;
    u64 AtomicU64 8;
}
