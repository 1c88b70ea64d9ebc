//! Types that may live in device memory.

/// A plain-data type that can be copied between host and device memory byte by byte.
///
/// # Safety
/// The type must have no padding, no pointers and no invalid bit patterns that could cause undefined
/// behaviour when read: device memory may hold anything before it is written.
pub unsafe trait DeviceElem: Copy + Send + Sync + 'static {}

macro_rules! plain_data {
    ($($t:ty),* $(,)?) => {
        // SAFETY: primitive numbers have no padding and every bit pattern is a value.
        $(unsafe impl DeviceElem for $t {})*
    };
}
plain_data!(u8, i8, u16, i16, u32, i32, u64, i64, f32);

// SAFETY: arrays add no padding to their element.
unsafe impl<T: DeviceElem, const N: usize> DeviceElem for [T; N] {}

/// The bytes of a slice of plain data.
pub fn as_bytes<T: DeviceElem>(data: &[T]) -> &[u8] {
    // SAFETY: `DeviceElem` types have no padding, so every byte is initialised.
    unsafe { std::slice::from_raw_parts(data.as_ptr().cast(), size_of_val(data)) }
}

/// The bytes of a mutable slice of plain data.
pub(crate) fn as_bytes_mut<T: DeviceElem>(data: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`, and any bytes written make a value that may be read.
    unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), size_of_val(data)) }
}

/// A vector of `len` zero elements in fresh pages, or `None` if the host has no memory for it.
pub(crate) fn zeroed_vec<T: DeviceElem>(len: usize) -> Option<Vec<T>> {
    let layout = std::alloc::Layout::array::<T>(len).ok()?;
    if layout.size() == 0 {
        return Some(Vec::new());
    }
    // SAFETY: the layout is not empty and is that of a vector of `len` elements, all of which are
    // initialised: zero bytes are a value of every `DeviceElem`.
    unsafe {
        let start = std::alloc::alloc_zeroed(layout).cast::<T>();
        (!start.is_null()).then(|| Vec::from_raw_parts(start, len, len))
    }
}
