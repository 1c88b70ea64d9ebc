//! NIST P-256 on the extensions' instructions: its two prime fields, its points, its generator.

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
    Coordinate { modulus = "115792089210356248762697446949407573530086143415290314195533631308867097853951" },
    Scalar { modulus = "115792089210356248762697446949407573529996955224135760342422259061068512044369" },
}

// SP 800-186, section 3.2.1.3; bytes are little endian. The first coefficient is -3.
const CURVE_A: Coordinate = Coordinate::from_const_bytes(hex!(
    "fcffffffffffffffffffffff00000000000000000000000001000000ffffffff"
));
const CURVE_B: Coordinate = Coordinate::from_const_bytes(hex!(
    "4b60d2273e3cce3bf6b053ccb0061d65bc86987655bdebb3e7933aaad835c65a"
));

sw_declare! {
    P256Point { mod_type = Coordinate, a = CURVE_A, b = CURVE_B },
}

impl CyclicGroup for P256Point {
    const GENERATOR: Self = P256Point {
        x: Coordinate::from_const_bytes(hex!(
            "96c298d84539a1f4a033eb2d817d0377f240a463e5e6bcf847422ce1f2d1176b"
        )),
        y: Coordinate::from_const_bytes(hex!(
            "f551bf376840b6cbce5e316b5733ce2b169e0f7c4aebe78e9b7f1afee242e34f"
        )),
    };
    const NEG_GENERATOR: Self = P256Point {
        x: Coordinate::from_const_bytes(hex!(
            "96c298d84539a1f4a033eb2d817d0377f240a463e5e6bcf847422ce1f2d1176b"
        )),
        y: Coordinate::from_const_bytes(hex!(
            "0aae40c897bf493431a1ce94a9cc31d4e961f083b51418716580e5011cbd1cb0"
        )),
    };
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct P256;

impl Curve for P256 {
    type FieldBytesSize = U32;
    type Uint = U256;
    const ORDER: U256 =
        U256::from_be_hex("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551");
}

impl PrimeCurve for P256 {}

impl FieldBytesEncoding<P256> for U256 {}

impl IntrinsicCurve for P256 {
    type Scalar = Scalar;
    type Point = P256Point;

    /// The group has prime order, so tables of small multiples need no special cases.
    fn msm(coeffs: &[Scalar], bases: &[P256Point]) -> P256Point
    where
        for<'a> &'a P256Point: Add<&'a P256Point, Output = P256Point>,
    {
        CachedMulTable::<Self>::new_with_prime_order(bases, 4).windowed_mul(coeffs)
    }
}
