//! BN254: additions, multiples and pairings.

use alloc::vec::Vec;

use openvm_algebra_guest::IntMod;
use openvm_ecc_guest::{weierstrass::WeierstrassPoint, AffinePoint, Group};
use openvm_pairing::{
    bn254::{Bn254, Fp, Fp2, G1Affine, G2Affine, Scalar},
    PairingCheck,
};
use revm::precompile::PrecompileHalt as Halt;

use crate::points::{multiple, reduced, scalar, sum};

fn coordinate(bytes: &[u8]) -> Result<Fp, Halt> {
    Fp::from_be_bytes(bytes).ok_or(Halt::Bn254FieldPointNotAMember)
}

/// Point of the first group, which is the whole curve.
fn point(bytes: &[u8]) -> Result<G1Affine, Halt> {
    let (x, y) = (coordinate(&bytes[..32])?, coordinate(&bytes[32..64])?);
    // SAFETY: every point of the curve is in the group of prime order.
    unsafe { G1Affine::from_xy(x, y) }.ok_or(Halt::Bn254AffineGFailedToCreate)
}

/// Point of the second group, a part of the twisted curve. Of a coordinate the imaginary part is first.
fn point2(bytes: &[u8]) -> Result<G2Affine, Halt> {
    let part = |index: usize| coordinate(&bytes[32 * index..32 * (index + 1)]);
    let (x, y) = (Fp2::new(part(1)?, part(0)?), Fp2::new(part(3)?, part(2)?));
    // SAFETY: the order is checked below.
    let point = unsafe { G2Affine::from_xy(x, y) }.ok_or(Halt::Bn254AffineGFailedToCreate)?;
    let mut order = Scalar::MODULUS;
    order.reverse();
    if !multiple(&point, &order).is_identity() {
        return Err(Halt::Bn254AffineGFailedToCreate);
    }
    Ok(point)
}

fn bytes(point: &G1Affine) -> [u8; 64] {
    let mut bytes = [0; 64];
    bytes[..32].copy_from_slice(&reduced(point.x()));
    bytes[32..].copy_from_slice(&reduced(point.y()));
    bytes
}

pub fn add(a: &[u8], b: &[u8]) -> Result<[u8; 64], Halt> {
    Ok(bytes(&(point(a)? + point(b)?)))
}

pub fn mul(a: &[u8], number: &[u8]) -> Result<[u8; 64], Halt> {
    let mut word = [0; 32];
    word.copy_from_slice(number);
    Ok(bytes(&sum::<Bn254>(&[scalar(&word)], &[point(a)?])))
}

pub fn pairing(pairs: &[(&[u8], &[u8])]) -> Result<bool, Halt> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (a, b) in pairs {
        let (a, b) = (point(a)?, point2(b)?);
        // A pairing with the identity is one.
        if !a.is_identity() && !b.is_identity() {
            let (x, y) = a.into_coords();
            first.push(AffinePoint::new(x, y));
            let (x, y) = b.into_coords();
            second.push(AffinePoint::new(x, y));
        }
    }
    Ok(first.is_empty() || Bn254::pairing_check(&first, &second).is_ok())
}
