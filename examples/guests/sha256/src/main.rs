//! SHA-256 of a file, through the SHA-2 extension.
//!
//! Input: the bytes. Public values: the digest.
#![no_std]
#![no_main]

use openvm_sha2::Sha256;

openvm::entry!(main);

fn main() {
    let data = openvm::io::read_vec();
    let mut hasher = Sha256::new();
    hasher.update(&data);
    openvm::io::reveal_bytes32(hasher.finalize());
}
