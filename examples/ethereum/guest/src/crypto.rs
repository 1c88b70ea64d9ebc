//! Cryptography of the EVM by OpenVM's extensions. The rest is revm's, in software: RIPEMD-160, BLAKE2,
//! moduli other than those of the fields, and of BLS12-381 sums in the second group and maps to the curves.

use alloc::vec::Vec;

use alloy_primitives::{Signature, B256};
use ethereum_core::{Accelerator, PublicKey};
use openvm_sha2::Sha256;
use revm::precompile::{
    bls12_381::{G1Point, G1PointScalar, G2Point},
    Crypto, DefaultCrypto, PrecompileHalt as Halt,
};

use crate::{bls12_381, bn254, modexp, p256, secp256k1};

/// Cryptography and 256-bit arithmetic by OpenVM's extensions.
#[derive(Clone, Copy, Debug)]
pub struct Extensions;

impl Accelerator for Extensions {
    fn signed(&self, hash: &B256, signature: &Signature, key: &PublicKey) -> bool {
        secp256k1::signed(hash, signature, key)
    }
}

impl Crypto for Extensions {
    fn sha256(&self, input: &[u8]) -> [u8; 32] {
        Sha256::digest(input)
    }

    fn bn254_g1_add(&self, a: &[u8], b: &[u8]) -> Result<[u8; 64], Halt> {
        bn254::add(a, b)
    }

    fn bn254_g1_mul(&self, point: &[u8], scalar: &[u8]) -> Result<[u8; 64], Halt> {
        bn254::mul(point, scalar)
    }

    fn bn254_pairing_check(&self, pairs: &[(&[u8], &[u8])]) -> Result<bool, Halt> {
        bn254::pairing(pairs)
    }

    fn secp256k1_ecrecover(
        &self,
        signature: &[u8; 64],
        parity: u8,
        hash: &[u8; 32],
    ) -> Result<[u8; 32], Halt> {
        secp256k1::recover(signature, parity, hash).ok_or(Halt::Secp256k1RecoverFailed)
    }

    fn modexp(&self, base: &[u8], exponent: &[u8], modulus: &[u8]) -> Result<Vec<u8>, Halt> {
        match modexp::power(base, exponent, modulus) {
            Some(power) => Ok(power),
            None => DefaultCrypto.modexp(base, exponent, modulus),
        }
    }

    fn secp256r1_verify_signature(
        &self,
        hash: &[u8; 32],
        signature: &[u8; 64],
        key: &[u8; 64],
    ) -> bool {
        p256::verifies(hash, signature, key)
    }

    fn verify_kzg_proof(
        &self,
        z: &[u8; 32],
        y: &[u8; 32],
        commitment: &[u8; 48],
        proof: &[u8; 48],
    ) -> Result<(), Halt> {
        if bls12_381::opening(commitment, z, y, proof) {
            Ok(())
        } else {
            Err(Halt::BlobVerifyKzgProofFailed)
        }
    }

    fn bls12_381_g1_add(&self, a: G1Point, b: G1Point) -> Result<[u8; 96], Halt> {
        bls12_381::add(&a, &b)
    }

    fn bls12_381_g1_msm(
        &self,
        pairs: &mut dyn Iterator<Item = Result<G1PointScalar, Halt>>,
    ) -> Result<[u8; 96], Halt> {
        bls12_381::sum(pairs)
    }

    fn bls12_381_pairing_check(&self, pairs: &[(G1Point, G2Point)]) -> Result<bool, Halt> {
        bls12_381::pairing(pairs)
    }
}
