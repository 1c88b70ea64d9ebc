//! P-256: verification of signatures, EIP-7951.

use core::ops::{Add, Neg};

use hex_literal::hex;
use openvm_algebra_guest::{moduli_macros::moduli_declare, DivUnsafe, IntMod};
use openvm_ecc_guest::{
    sw_macros::sw_declare,
    weierstrass::{IntrinsicCurve, WeierstrassPoint},
    CyclicGroup, Group,
};

use crate::points::{reduced, scalar, sum};

moduli_declare! {
    P256Coordinate { modulus = "115792089210356248762697446949407573530086143415290314195533631308867097853951" },
    P256Scalar { modulus = "115792089210356248762697446949407573529996955224135760342422259061068512044369" },
}

// SEC 2, version 2, section 2.4.2; bytes are little endian.
const CURVE_A: P256Coordinate = P256Coordinate::from_const_bytes(hex!(
    "fcffffffffffffffffffffff00000000000000000000000001000000ffffffff"
));
const CURVE_B: P256Coordinate = P256Coordinate::from_const_bytes(hex!(
    "4b60d2273e3cce3bf6b053ccb0061d65bc86987655bdebb3e7933aaad835c65a"
));

sw_declare! {
    P256Point { mod_type = P256Coordinate, a = CURVE_A, b = CURVE_B },
}

impl CyclicGroup for P256Point {
    const GENERATOR: Self = P256Point {
        x: P256Coordinate::from_const_bytes(hex!(
            "96c298d84539a1f4a033eb2d817d0377f240a463e5e6bcf847422ce1f2d1176b"
        )),
        y: P256Coordinate::from_const_bytes(hex!(
            "f551bf376840b6cbce5e316b5733ce2b169e0f7c4aebe78e9b7f1afee242e34f"
        )),
    };
    const NEG_GENERATOR: Self = P256Point {
        x: P256Coordinate::from_const_bytes(hex!(
            "96c298d84539a1f4a033eb2d817d0377f240a463e5e6bcf847422ce1f2d1176b"
        )),
        y: P256Coordinate::from_const_bytes(hex!(
            "0aae40c897bf493431a1ce94a9cc31d4e961f083b51418716580e5011cbd1cb0"
        )),
    };
}

struct P256;

impl IntrinsicCurve for P256 {
    type Scalar = P256Scalar;
    type Point = P256Point;

    fn msm(coeffs: &[P256Scalar], bases: &[P256Point]) -> P256Point
    where
        for<'a> &'a P256Point: Add<&'a P256Point, Output = P256Point>,
    {
        // The group has prime order.
        sum::<Self>(coeffs, bases)
    }
}

/// Returns whether a signature verifies.
pub fn verifies(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> bool {
    try_verify(hash, signature, key).unwrap_or(false)
}

fn try_verify(hash: &[u8; 32], signature: &[u8; 64], key: &[u8; 64]) -> Option<bool> {
    let nonzero = |bytes: &[u8]| {
        P256Scalar::from_be_bytes(bytes).filter(|scalar| *scalar != P256Scalar::ZERO)
    };
    let (r, s) = (nonzero(&signature[..32])?, nonzero(&signature[32..])?);
    let x = P256Coordinate::from_be_bytes(&key[..32])?;
    let y = P256Coordinate::from_be_bytes(&key[32..])?;
    // SAFETY: every point of the curve is in the group of prime order.
    let key = unsafe { P256Point::from_xy_nonidentity(x, y) }?;
    let z: P256Scalar = scalar(hash);
    let point = P256::msm(
        &[z.div_unsafe(&s), r.clone().div_unsafe(&s)],
        &[P256Point::GENERATOR, key],
    );
    if point.is_identity() {
        return None;
    }
    Some(scalar::<P256Scalar>(&reduced(point.x())) == r)
}
