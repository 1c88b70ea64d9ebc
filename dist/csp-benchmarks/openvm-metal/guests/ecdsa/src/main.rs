//! An ECDSA signature over NIST P-256 of a digest, verified through the elliptic curve and modular extensions.
//!
//! Input: the digest (32 bytes); the public key (65 bytes, SEC1 uncompressed); the signature (r then s, 64 bytes big endian).
//! Public values: the digest. A wrong signature ends the program with a panic.
#![no_std]
#![no_main]

extern crate alloc;

mod p256;

use openvm_ecc_guest::ecdsa::{verify_prehashed, PublicKey};
use p256::P256;

openvm::init!();
openvm::entry!(main);

fn main() {
    let digest = openvm::io::read_vec();
    let key = openvm::io::read_vec();
    let signature = openvm::io::read_vec();
    let public = PublicKey::<P256>::from_sec1_bytes(&key).expect("not a public key");
    verify_prehashed::<P256>(public.into_affine(), &digest, &signature)
        .expect("the signature does not verify");
    openvm::io::reveal_bytes32(digest.try_into().expect("a digest of 32 bytes"));
}
