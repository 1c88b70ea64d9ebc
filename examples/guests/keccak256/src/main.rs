//! Keccak-256 of a file, through the Keccak extension.
//!
//! Input: the bytes. Public values: the digest.
#![no_std]
#![no_main]

openvm::entry!(main);

fn main() {
    let data = openvm::io::read_vec();
    openvm::io::reveal_bytes32(openvm_keccak256::keccak256(&data));
}
