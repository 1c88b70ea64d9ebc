//! Powers and products modulo the primes whose fields have instructions.

use alloc::vec::Vec;

use alloy_primitives::U256;
use openvm_algebra_guest::{IntMod, Reduce};
use openvm_pairing::{bls12_381, bn254};

use crate::{p256, secp256k1};

/// Power, if the modulus is one of these primes and the base no longer than it.
pub fn power(base: &[u8], exponent: &[u8], modulus: &[u8]) -> Option<Vec<u8>> {
    let base = &base[base.iter().take_while(|byte| **byte == 0).count()..];
    if base.len() > modulus.len() {
        return None;
    }
    in_field::<bn254::Scalar, 32>(base, exponent, modulus)
        .or_else(|| in_field::<bn254::Fp, 32>(base, exponent, modulus))
        .or_else(|| in_field::<bls12_381::Scalar, 32>(base, exponent, modulus))
        .or_else(|| in_field::<secp256k1::Coordinate, 32>(base, exponent, modulus))
        .or_else(|| in_field::<secp256k1::Scalar, 32>(base, exponent, modulus))
        .or_else(|| in_field::<p256::P256Coordinate, 32>(base, exponent, modulus))
        .or_else(|| in_field::<p256::P256Scalar, 32>(base, exponent, modulus))
        .or_else(|| in_field::<bls12_381::Fp, 48>(base, exponent, modulus))
}

fn in_field<F: IntMod<Repr = [u8; N]> + Reduce, const N: usize>(
    base: &[u8],
    exponent: &[u8],
    modulus: &[u8],
) -> Option<Vec<u8>> {
    if modulus.len() != N || !modulus.iter().rev().eq(&F::MODULUS) {
        return None;
    }
    let mut bytes = [0; N];
    bytes[N - base.len()..].copy_from_slice(base);
    let base = F::from_be_bytes(&bytes).unwrap_or_else(|| F::reduce_be_bytes(&bytes));
    let mut result = F::ONE;
    let exponent = &exponent[exponent.iter().take_while(|byte| **byte == 0).count()..];
    for byte in exponent {
        for bit in (0..8).rev() {
            result.square_assign();
            if byte >> bit & 1 == 1 {
                result *= &base;
            }
        }
    }
    Some(crate::points::reduced(&result).to_vec())
}

/// Product, if the modulus is a prime of BN254 and the factors are below it.
pub fn product(a: U256, b: U256, modulus: U256) -> Option<U256> {
    if a >= modulus || b >= modulus {
        return None;
    }
    if modulus.as_le_slice() == bn254::Scalar::MODULUS {
        Some(product_in::<bn254::Scalar>(&a, &b))
    } else if modulus.as_le_slice() == bn254::Fp::MODULUS {
        Some(product_in::<bn254::Fp>(&a, &b))
    } else {
        None
    }
}

fn product_in<F: IntMod>(a: &U256, b: &U256) -> U256 {
    let product =
        F::from_le_bytes_unchecked(a.as_le_slice()) * F::from_le_bytes_unchecked(b.as_le_slice());
    product.assert_reduced();
    U256::from_le_slice(product.as_le_bytes())
}
