//! The number of GPU cores, which Metal does not tell: `gpu-core-count` in the I/O registry.

use std::ffi::{c_char, c_void};
use std::ptr::{null, NonNull};

use objc2::rc::Retained;
use objc2::runtime::AnyObject;
use objc2_foundation::{NSNumber, NSString};

#[link(name = "IOKit", kind = "framework")]
extern "C" {
    fn IOServiceMatching(name: *const c_char) -> *mut c_void;
    fn IOServiceGetMatchingService(port: u32, matching: *mut c_void) -> u32;
    fn IORegistryEntryCreateCFProperty(
        entry: u32,
        key: *const c_void,
        allocator: *const c_void,
        options: u32,
    ) -> *mut c_void;
    fn IOObjectRelease(object: u32) -> i32;
}

/// Cores of the first Apple GPU; nothing under virtualisation and on GPUs of others.
pub(super) fn count() -> Option<u32> {
    let key = NSString::from_str("gpu-core-count");
    // SAFETY: port 0 is the default; the second call takes over the dictionary of the first, which may be
    // null; the entry is released once; an `NSString` may stand for a `CFString`.
    let property = unsafe {
        let matching = IOServiceMatching(c"AGXAccelerator".as_ptr());
        if matching.is_null() {
            return None;
        }
        let entry = IOServiceGetMatchingService(0, matching);
        if entry == 0 {
            return None;
        }
        let key = Retained::as_ptr(&key).cast::<c_void>();
        let property = IORegistryEntryCreateCFProperty(entry, key, null(), 0);
        IOObjectRelease(entry);
        property
    };
    let property = NonNull::new(property.cast::<AnyObject>())?;
    // SAFETY: the caller owns what a function with "Create" in its name returns.
    let property = unsafe { Retained::from_raw(property.as_ptr()) }?;
    let number = property.downcast::<NSNumber>().ok()?;
    Some(number.as_u32()).filter(|&cores| cores > 0)
}
