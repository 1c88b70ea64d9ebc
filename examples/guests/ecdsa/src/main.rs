//! An ECDSA signature over secp256k1, verified through the elliptic curve, modular and SHA-2 extensions.
//!
//! Input: the message; the public key (33 bytes, SEC1 compressed); the signature (r then s, 64 bytes big endian).
//! Public values: SHA-256 of the public key followed by the message. A wrong signature ends the program with a panic.
#![no_std]
#![no_main]

extern crate alloc;

mod secp256k1;

use openvm_ecc_guest::ecdsa::{verify_prehashed, PublicKey};
use openvm_sha2::Sha256;
use secp256k1::Secp256k1;

openvm::init!();
openvm::entry!(main);

fn main() {
    let message = openvm::io::read_vec();
    let key = openvm::io::read_vec();
    let signature = openvm::io::read_vec();

    let public = PublicKey::<Secp256k1>::from_sec1_bytes(&key).expect("not a public key");
    let digest = Sha256::digest(&message);
    verify_prehashed::<Secp256k1>(public.into_affine(), &digest, &signature)
        .expect("the signature does not verify");

    let mut statement = Sha256::new();
    statement.update(&key);
    statement.update(&message);
    openvm::io::reveal_bytes32(statement.finalize());
}
