//! The functions of `include/openvm_metal_verify.h`, which says what callers have to know.

use std::{
    ffi::{c_char, c_int, CString},
    ptr, slice,
};

use openvm_metal_verify::{catch_panic, verify_files, ComparedWith, Trust, Verified, VerifyError};

/// The proof is valid.
pub const VALID: c_int = 0;
/// The proof is refused; `error` says why.
pub const REFUSED: c_int = 1;
/// A pointer or a length is not possible.
pub const INVALID_ARGUMENT: c_int = 2;

/// `openvm_metal_verified` of the header, field for field.
#[repr(C)]
pub struct OpenvmMetalVerified {
    /// Null if the proof is valid, else a text that ends with 0.
    error: *mut c_char,
    app_exe_commit: [u8; 32],
    app_vm_commit: [u8; 32],
    public_values: *mut u8,
    public_values_length: usize,
    exit_code: u32,
    /// 0: nothing, 1: commitments, 2: a baseline.
    compared_with: u32,
    security_bits: f64,
    is_of_all_circuits: u32,
    seconds: f64,
}

impl OpenvmMetalVerified {
    const EMPTY: Self = Self {
        error: ptr::null_mut(),
        app_exe_commit: [0; 32],
        app_vm_commit: [0; 32],
        public_values: ptr::null_mut(),
        public_values_length: 0,
        exit_code: 0,
        compared_with: 0,
        security_bits: 0.0,
        is_of_all_circuits: 0,
        seconds: 0.0,
    };

    fn refused(error: &str) -> Self {
        // Texts of paths and keys' names hold no zeros, but nothing says so.
        let text = CString::new(error.replace('\0', " ")).unwrap_or_default();
        Self {
            error: text.into_raw(),
            ..Self::EMPTY
        }
    }
}

impl From<Verified> for OpenvmMetalVerified {
    fn from(verified: Verified) -> Self {
        let values = verified.public_values.into_boxed_slice();
        let public_values_length = values.len();
        Self {
            error: ptr::null_mut(),
            app_exe_commit: *verified.app_exe_commit.as_bytes(),
            app_vm_commit: *verified.app_vm_commit.as_bytes(),
            public_values: Box::into_raw(values).cast(),
            public_values_length,
            exit_code: verified.exit_code,
            compared_with: match verified.compared_with {
                ComparedWith::Nothing => 0,
                ComparedWith::Commitments => 1,
                ComparedWith::Baseline => 2,
            },
            security_bits: verified.security_bits,
            is_of_all_circuits: verified.is_of_all_circuits.into(),
            seconds: verified.seconds.unwrap_or(0.0),
        }
    }
}

/// The bytes of a caller. Nothing if there can be none.
///
/// # Safety
/// `length` bytes at `bytes` stay readable and unchanged while the result is used, unless `bytes` is null.
unsafe fn caller_bytes<'a>(bytes: *const u8, length: usize) -> Option<&'a [u8]> {
    if bytes.is_null() {
        return (length == 0).then_some(&[]);
    }
    if length > isize::MAX as usize {
        return None;
    }
    // SAFETY: not null, the caller promises `length` readable bytes, and a slice may have so many.
    Some(unsafe { slice::from_raw_parts(bytes, length) })
}

/// `openvm_metal_verify` of the header.
///
/// # Safety
/// As the header says: each of the first three pointers is null with length 0 or points to so many readable bytes, and
/// `out` is null or points to a writable `openvm_metal_verified`.
#[no_mangle]
pub unsafe extern "C" fn openvm_metal_verify(
    proof: *const u8,
    proof_length: usize,
    key: *const u8,
    key_length: usize,
    expected: *const u8,
    expected_length: usize,
    trust_key: c_int,
    min_security_bits: f64,
    out: *mut OpenvmMetalVerified,
) -> c_int {
    if out.is_null() {
        return INVALID_ARGUMENT;
    }
    // SAFETY: the caller promises these lengths, or null.
    let inputs = unsafe {
        (
            caller_bytes(proof, proof_length),
            caller_bytes(key, key_length),
            caller_bytes(expected, expected_length),
        )
    };
    let (status, result) = match inputs {
        (Some(proof), Some(key), Some(given)) => {
            let trust = match (expected.is_null(), trust_key) {
                (false, _) => Trust::Expected(given),
                (true, 0) => Trust::Nothing,
                (true, _) => Trust::Key,
            };
            verified(proof, key, trust, min_security_bits)
        }
        _ => (
            INVALID_ARGUMENT,
            OpenvmMetalVerified::refused("a pointer is null, or a length is not possible"),
        ),
    };
    // SAFETY: not null, and the caller promises that it is writable. What was there is not read.
    unsafe { out.write(result) };
    status
}

fn verified(
    proof: &[u8],
    key: &[u8],
    trust: Trust<'_>,
    min_security_bits: f64,
) -> (c_int, OpenvmMetalVerified) {
    #[cfg(not(target_family = "wasm"))]
    silence::install();
    // Panics do not leave this library.
    let result = catch_panic(|| verify_files(proof, key, trust, min_security_bits))
        .unwrap_or_else(|message| Err(VerifyError::Unverifiable { message }));
    match result {
        Ok(verified) => (VALID, verified.into()),
        Err(error) => (REFUSED, OpenvmMetalVerified::refused(&error.to_string())),
    }
}

/// The header's promise that nothing is printed. WebAssembly has no standard error.
#[cfg(not(target_family = "wasm"))]
mod silence {
    use std::{panic, sync::Once, thread};

    use openvm_metal_verify::is_thread_guarded;

    /// Keeps panics that become refusals from being printed. All others go to the hook that was there before.
    pub fn install() {
        static INSTALLED: Once = Once::new();
        // A panicking thread may not set a hook.
        if thread::panicking() {
            return;
        }
        INSTALLED.call_once(|| {
            let before = panic::take_hook();
            panic::set_hook(Box::new(move |info| {
                if !is_thread_guarded() {
                    before(info);
                }
            }));
        });
    }

    #[cfg(test)]
    mod tests {
        use std::sync::atomic::{AtomicUsize, Ordering};

        use openvm_metal_verify::catch_panic;

        use super::*;

        /// Catches a message of a panic that becomes a refusal, and a hook of the caller's that hears no more of its own panics.
        #[test]
        fn panics_that_become_refusals_are_not_printed() {
            static HEARD: AtomicUsize = AtomicUsize::new(0);
            panic::set_hook(Box::new(|_| {
                HEARD.fetch_add(1, Ordering::SeqCst);
            }));
            install();
            install();
            let refused = catch_panic::<()>(|| panic!("a proof is damaged"));
            assert_eq!(refused, Err("a proof is damaged".to_owned()));
            let others = || thread::spawn::<_, ()>(|| panic!("of the caller")).join();
            let within = catch_panic(others).expect("the thread's panic stays there");
            assert!(within.is_err() && others().is_err());
            let heard = HEARD.load(Ordering::SeqCst);
            drop(panic::take_hook());
            assert_eq!(heard, 2);
        }
    }
}

/// `openvm_metal_verified_free` of the header.
///
/// # Safety
/// As the header says: `verified` is null, or was filled by `openvm_metal_verify` and its pointers are as it left them.
#[no_mangle]
pub unsafe extern "C" fn openvm_metal_verified_free(verified: *mut OpenvmMetalVerified) {
    if verified.is_null() {
        return;
    }
    // SAFETY: not null, and the caller promises that it was filled. Its pointers are taken out, so that a second call finds
    // null.
    let taken = unsafe { verified.replace(OpenvmMetalVerified::EMPTY) };
    if !taken.error.is_null() {
        // SAFETY: made by `CString::into_raw`, of the same length.
        drop(unsafe { CString::from_raw(taken.error) });
    }
    if !taken.public_values.is_null() {
        let values = ptr::slice_from_raw_parts_mut(taken.public_values, taken.public_values_length);
        // SAFETY: made by `Box::into_raw` of a slice with this length.
        drop(unsafe { Box::from_raw(values) });
    }
}
