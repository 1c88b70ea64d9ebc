//! secp256k1 on the extensions' instructions: its two prime fields, its points, its generator.

use core::ops::{Add, Neg};

use elliptic_curve::{bigint::U256, consts::U32, Curve, FieldBytesEncoding, PrimeCurve};
use hex_literal::hex;
use openvm_algebra_guest::moduli_macros::moduli_declare;
use openvm_ecc_guest::{
    sw_macros::sw_declare,
    weierstrass::{CachedMulTable, IntrinsicCurve},
    CyclicGroup, Group,
};

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

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Secp256k1;

impl Curve for Secp256k1 {
    type FieldBytesSize = U32;
    type Uint = U256;
    const ORDER: U256 =
        U256::from_be_hex("fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141");
}

impl PrimeCurve for Secp256k1 {}

impl FieldBytesEncoding<Secp256k1> for U256 {}

impl IntrinsicCurve for Secp256k1 {
    type Scalar = Scalar;
    type Point = Secp256k1Point;

    /// The group has prime order, so tables of small multiples need no special cases.
    fn msm(coeffs: &[Scalar], bases: &[Secp256k1Point]) -> Secp256k1Point
    where
        for<'a> &'a Secp256k1Point: Add<&'a Secp256k1Point, Output = Secp256k1Point>,
    {
        CachedMulTable::<Self>::new_with_prime_order(bases, 4).windowed_mul(coeffs)
    }
}
