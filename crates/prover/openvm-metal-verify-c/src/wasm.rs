//! The functions of the WebAssembly module, which `npm/core.js` calls: bytes go in and a JSON object comes out.

use std::{mem, slice};

use openvm_metal_verify::{verify_files, Trust, Verified};
use serde::Serialize;

/// The result as an object.
#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Valid(Verified),
    Refused { error: String },
}

/// Makes room for `length` bytes, and returns its address.
#[no_mangle]
extern "C" fn openvm_metal_verify_room(length: usize) -> *mut u8 {
    let mut room = vec![0; length].into_boxed_slice();
    let address = room.as_mut_ptr();
    // The instance serves one call, and its memory ends with it.
    mem::forget(room);
    address
}

/// Verifies the files at three addresses. Returns the address of 4 bytes with the length of the JSON, least significant
/// first, and the JSON after them.
///
/// `trust` is 0 for nothing, 1 for a trusted key, 2 if there is a file of the caller's.
///
/// # Safety
/// Each address is one of [`openvm_metal_verify_room`], with its length, or its length is 0.
#[no_mangle]
unsafe extern "C" fn openvm_metal_verify_json(
    proof: *const u8,
    proof_length: usize,
    key: *const u8,
    key_length: usize,
    expected: *const u8,
    expected_length: usize,
    trust: u32,
    min_security_bits: f64,
) -> *const u8 {
    // SAFETY: rooms of these lengths, which live as long as the instance. A room of no bytes has an aligned address, too.
    let (proof, key, expected) = unsafe {
        (
            slice::from_raw_parts(proof, proof_length),
            slice::from_raw_parts(key, key_length),
            slice::from_raw_parts(expected, expected_length),
        )
    };
    let trust = match trust {
        0 => Trust::Nothing,
        1 => Trust::Key,
        _ => Trust::Expected(expected),
    };
    let outcome = match verify_files(proof, key, trust, min_security_bits) {
        Ok(verified) => Outcome::Valid(verified),
        Err(error) => Outcome::Refused {
            error: error.to_string(),
        },
    };
    let json = serde_json::to_vec(&outcome).unwrap_or_default();
    let mut answer = (json.len() as u32).to_le_bytes().to_vec();
    answer.extend(json);
    answer.leak().as_ptr()
}
