//! A KZG opening over BN254 verified through the pairing, curve and field extensions: the polynomial committed to in C
//! takes the value y at z.
//!
//! Input: C (x then y, 64 bytes), z (32 bytes), y (32 bytes), the opening proof W (x then y, 64 bytes), all big endian.
//! Public values: SHA-256 of C, z and y. A wrong opening ends the program with a panic.
#![no_std]
#![no_main]

extern crate alloc;

use hex_literal::hex;
use openvm_algebra_guest::IntMod;
use openvm_ecc_guest::{
    weierstrass::{IntrinsicCurve, WeierstrassPoint},
    AffinePoint, CyclicGroup, Group,
};
use openvm_pairing::{
    bn254::{Bn254, Fp, Fp2, G1Affine, Scalar},
    PairingCheck,
};
use openvm_sha2::Sha256;

openvm::init!();
openvm::entry!(main);

/// The generator of the second group. Coordinates are little endian.
const G2: AffinePoint<Fp2> = AffinePoint::new(
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "edf692d95cbdde46ddda5ef7d422436779445c5e66006a42761e1f12efde0018"
        )),
        Fp::from_const_bytes(hex!(
            "c212f3aeb785e49712e7a9353349aaf1255dfb31b7bf60723a480d9293938e19"
        )),
    ),
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "aa7dfa6601cce64c7bd3430c69e7d1e38f40cb8d8071ab4aeb6d8cdba55ec812"
        )),
        Fp::from_const_bytes(hex!(
            "5b9722d1dcdaac55f38eb37033314bbc95330c69ad999eec75f05f58d0890609"
        )),
    ),
);

/// tau times the generator. The secret tau of this example is public (it is in inputs.py), so it convinces nobody.
const TAU_G2: AffinePoint<Fp2> = AffinePoint::new(
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "c5bd66067c8e641f1d1ea507e4dbdf0cc62b5f66988a0b46e574f2e3ecd5ee09"
        )),
        Fp::from_const_bytes(hex!(
            "7a25087a8aca27bf28abf658fb6c0efe0a81ce7d229ce590a266cf8150cf1718"
        )),
    ),
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "e9ba4931fccac1ccabe8390e1a4513ad77e0c3a8dd6a488f047cee2e663b8310"
        )),
        Fp::from_const_bytes(hex!(
            "e570abd9d676a91a9c683523785eaad0ca3500cd89e380e101e2bedea959b403"
        )),
    ),
);

fn main() {
    let commitment = openvm::io::read_vec();
    let z = openvm::io::read_vec();
    let y = openvm::io::read_vec();
    let opening = openvm::io::read_vec();

    let c = point(&commitment);
    let w = point(&opening);
    // e(C - y G1 + z W, G2) = e(W, tau G2)
    let left = Bn254::msm(
        &[Scalar::ONE, -scalar(&y), scalar(&z)],
        &[c, G1Affine::GENERATOR, w.clone()],
    );
    Bn254::pairing_check(&[affine(left), affine(-w)], &[G2, TAU_G2])
        .expect("the opening does not verify");

    let mut statement = Sha256::new();
    statement.update(&commitment);
    statement.update(&z);
    statement.update(&y);
    openvm::io::reveal_bytes32(statement.finalize());
}

fn scalar(bytes: &[u8]) -> Scalar {
    Scalar::from_be_bytes(bytes).expect("not a scalar: 32 bytes, below the group's order")
}

/// A point of the first group, which has prime order: on the curve is enough.
fn point(bytes: &[u8]) -> G1Affine {
    assert_eq!(bytes.len(), 64, "a point has 64 bytes");
    let coordinate = |bytes| Fp::from_be_bytes(bytes).expect("not a coordinate");
    let (x, y) = (coordinate(&bytes[..32]), coordinate(&bytes[32..]));
    // SAFETY: every point of the curve is in the group of prime order.
    let point = unsafe { G1Affine::from_xy(x, y) }.expect("not on the curve");
    assert!(!point.is_identity(), "the identity is not a commitment here");
    point
}

fn affine(point: G1Affine) -> AffinePoint<Fp> {
    assert!(!point.is_identity(), "a constant polynomial has no opening here");
    let (x, y) = point.into_coords();
    AffinePoint::new(x, y)
}
