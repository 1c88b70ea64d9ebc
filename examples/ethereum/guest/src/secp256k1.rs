//! secp256k1: verification of signatures by keys that the host gives, and recovery of keys.

use core::ops::{Add, Neg};

use alloy_primitives::{keccak256, Signature, B256};
use hex_literal::hex;
use openvm_algebra_guest::{moduli_macros::moduli_declare, DivUnsafe, IntMod, Sqrt};
use openvm_ecc_guest::{
    sw_macros::sw_declare,
    weierstrass::{IntrinsicCurve, WeierstrassPoint},
    CyclicGroup, Group,
};

use crate::points::{reduced, scalar, sum};

moduli_declare! {
    Coordinate { modulus = "115792089237316195423570985008687907853269984665640564039457584007908834671663" },
    Scalar { modulus = "115792089237316195423570985008687907852837564279074904382605163141518161494337" },
}

const CURVE_B: Coordinate = Coordinate::from_const_u8(7);

sw_declare! {
    Secp256k1Point { mod_type = Coordinate, b = CURVE_B },
}

impl CyclicGroup for Secp256k1Point {
    // SEC 2, version 2, section 2.4.1; bytes are little endian.
    const GENERATOR: Self = Secp256k1Point {
        x: Coordinate::from_const_bytes(hex!(
            "9817f8165b81f259d928ce2ddbfc9b02070b87ce9562a055acbbdcf97e66be79"
        )),
        y: Coordinate::from_const_bytes(hex!(
            "b8d410fb8fd0479c195485a648b417fda808110efcfba45d65c4a32677da3a48"
        )),
    };
    const NEG_GENERATOR: Self = Secp256k1Point {
        x: Coordinate::from_const_bytes(hex!(
            "9817f8165b81f259d928ce2ddbfc9b02070b87ce9562a055acbbdcf97e66be79"
        )),
        y: Coordinate::from_const_bytes(hex!(
            "7727ef046f2fb863e6ab7a59b74be80257f7eef103045ba29a3b5cd98825c5b7"
        )),
    };
}

#[derive(Clone, Copy, Debug)]
pub struct Secp256k1;

impl IntrinsicCurve for Secp256k1 {
    type Scalar = Scalar;
    type Point = Secp256k1Point;

    fn msm(coeffs: &[Scalar], bases: &[Secp256k1Point]) -> Secp256k1Point
    where
        for<'a> &'a Secp256k1Point: Add<&'a Secp256k1Point, Output = Secp256k1Point>,
    {
        // The group has prime order.
        sum::<Self>(coeffs, bases)
    }
}

/// Scalar that is not zero.
fn nonzero(bytes: &[u8]) -> Option<Scalar> {
    Scalar::from_be_bytes(bytes).filter(|scalar| *scalar != Scalar::ZERO)
}

/// Returns whether recovery gives `key`: R = (z G + r Q) / s has to have r as its abscissa and the signature's parity.
pub fn signed(hash: &B256, signature: &Signature, key: &[u8; 64]) -> bool {
    recovers(hash, signature, key).unwrap_or(false)
}

fn recovers(hash: &B256, signature: &Signature, key: &[u8; 64]) -> Option<bool> {
    let bytes = signature.as_rsy();
    let (r, s) = (nonzero(&bytes[..32])?, nonzero(&bytes[32..64])?);
    let x = Coordinate::from_be_bytes(&key[..32])?;
    let y = Coordinate::from_be_bytes(&key[32..])?;
    // SAFETY: every point of the curve is in the group of prime order.
    let key = unsafe { Secp256k1Point::from_xy_nonidentity(x, y) }?;
    let z: Scalar = scalar(&hash.0);
    let point = Secp256k1::msm(
        &[z.div_unsafe(&s), r.div_unsafe(&s)],
        &[Secp256k1Point::GENERATOR, key],
    );
    if point.is_identity() {
        return None;
    }
    let odd = reduced(point.y())[31] & 1 == 1;
    Some(reduced(point.x())[..] == bytes[..32] && odd == signature.v())
}

/// Point of an abscissa and the parity of its ordinate.
///
/// Not OpenVM's `decompress`, which reads the parity of the negated root without asserting that it is reduced: for an ordinate next to 0 a
/// prover could choose that there is no such point.
fn point(x: Coordinate, odd: bool) -> Option<Secp256k1Point> {
    let root = (&x * &x * &x + &CURVE_B).sqrt()?;
    // The order of the group is odd, so that no ordinate is 0.
    let y = if (reduced(&root)[31] & 1 == 1) == odd {
        root
    } else {
        -root
    };
    // SAFETY: `sqrt` has verified the curve's equation, and every point of the curve is in the group of prime order.
    Some(unsafe { Secp256k1Point::from_xy_unchecked(x, y) })
}

/// Hash of the key that signed, as a word with the address in its last 20 bytes.
pub fn recover(signature: &[u8; 64], parity: u8, hash: &[u8; 32]) -> Option<[u8; 32]> {
    // Abscissas above the group's order are not recovered on Ethereum.
    if parity > 1 {
        return None;
    }
    let (r, s) = (nonzero(&signature[..32])?, nonzero(&signature[32..])?);
    let x = Coordinate::from_be_bytes(&signature[..32])?;
    let point = point(x, parity == 1)?;
    let z: Scalar = scalar(hash);
    let key = Secp256k1::msm(
        &[(-z).div_unsafe(&r), s.div_unsafe(&r)],
        &[Secp256k1Point::GENERATOR, point],
    );
    if key.is_identity() {
        return None;
    }
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&reduced(key.x()));
    bytes[32..].copy_from_slice(&reduced(key.y()));
    let mut word = keccak256(bytes).0;
    word[..12].fill(0);
    Some(word)
}
