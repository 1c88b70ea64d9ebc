//! An Ethereum block, validated: its header, transactions, receipts, and the root of the state after it.
//!
//! Input: the bytes that `ethereum-host` makes of the block and its witness. Public values: the block's hash. A block that is
//! refused ends the program with a panic that says why.
#![no_std]
#![no_main]

extern crate alloc;

mod bls12_381;
mod bn254;
mod crypto;
mod input;
mod keccak;
mod memory;
mod modexp;
mod p256;
mod points;
mod secp256k1;
#[cfg(feature = "test-forks")]
mod self_test;
mod words;

use crypto::Extensions;
use ethereum_core::{validate, Forks, Refusal};

openvm::init!();
openvm::entry!(main);

#[cfg(not(feature = "test-forks"))]
const FORKS: Forks = Forks::MAINNET;
#[cfg(feature = "test-forks")]
const FORKS: Forks = Forks::CANCUN;

fn main() {
    #[cfg(feature = "test-forks")]
    self_test::run();
    revm::precompile::install_crypto(Extensions);
    let block = input::read()
        .map_err(Refusal::from)
        .and_then(|input| validate(input, &FORKS, &Extensions));
    match block {
        Ok(block) => openvm::io::reveal_bytes32(block.hash.0),
        Err(refusal) => panic!("the block is refused: {refusal}"),
    }
}
