//! BLS12-381: openings of blobs, sums in the first group, and pairings.

use alloc::vec::Vec;

use hex_literal::hex;
use openvm_algebra_guest::{IntMod, Sqrt};
use openvm_ecc_guest::{weierstrass::WeierstrassPoint, AffinePoint, CyclicGroup, Group};
use openvm_pairing::{
    bls12_381::{Bls12_381, Fp, Fp2, G1Affine, G2Affine, Scalar},
    PairingCheck,
};
use revm::precompile::{
    bls12_381::{G1Point, G1PointScalar, G2Point},
    PrecompileHalt as Halt,
};

use crate::points::{multiple, reduced};

/// Generator of the second group. Bytes are little endian.
const G2: AffinePoint<Fp2> = AffinePoint::new(
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "b8bd21c1c85680d4efbb05a82603ac0b77d1e37a640b51b4023b40fad47ae4c65110c52d27050826910a8ff0b2a24a02"
        )),
        Fp::from_const_bytes(hex!(
            "7e2b045d057dace5575d941312f14c3349507fdcbb61dab51ab62099d0d06b59654f2788a0d3ac7d609f7152602be013"
        )),
    ),
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "0128b808865493e189a2ac3bccc93a922cd16051699a426da7d3bd8caa9bfdad1a352edac6cdc98c116e7d7227d5e50c"
        )),
        Fp::from_const_bytes(hex!(
            "be795ff05f07a9aaa11dec5c270d373fab992e57ab927426af63a7857e283ecb998bc22bb0d2ac32cc34a72ea0c40606"
        )),
    ),
);

/// Multiple of the generator by the secret of the ceremony for blobs, `g2_monomial[1]` of its published output.
const TAU_G2: AffinePoint<Fp2> = AffinePoint::new(
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "f2dec120dada8ec9ed001062de4170080bc6a47b475168a3c9eaeccc11c92639e20886b3b729447314274953eebf5c18"
        )),
        Fp::from_const_bytes(hex!(
            "729f49f324abaaafd252b40c87e514293dc55a61cea20910a8effbcb7570182689f30a2387c23b8428b1de8cddd7bf15"
        )),
    ),
    Fp2::new(
        Fp::from_const_bytes(hex!(
            "992a83bbfb9b68ee83f34159106de24c79c9a996a45124e818de280e49691513a2fcd19985eed5d76d626bb9bd534301"
        )),
        Fp::from_const_bytes(hex!(
            "4f150a0df38e0423cdc97a3d6f3495948907fa9bbad15eda1f6763fc09de79ef4b1b18e0ca2f43039552320a4bc56616"
        )),
    ),
);

/// Order of the groups, big endian.
fn order() -> [u8; 32] {
    let mut order = Scalar::MODULUS;
    order.reverse();
    order
}

fn affine(point: G1Affine) -> AffinePoint<Fp> {
    let (x, y) = point.into_coords();
    AffinePoint::new(x, y)
}

/// Point of the first group from its compressed form, whose first three bits are flags.
fn decompress(bytes: &[u8; 48]) -> Option<G1Affine> {
    let flags = bytes[0] >> 5;
    let mut abscissa = *bytes;
    abscissa[0] &= 0x1f;
    let x = Fp::from_be_bytes(&abscissa)?;
    match flags {
        // The identity has no other bits.
        0b110 => return (x == Fp::ZERO).then_some(<G1Affine as Group>::IDENTITY),
        0b100 | 0b101 => {}
        _ => return None,
    }
    let mut y = (&x * &x * &x + Fp::from_u8(4)).sqrt()?;
    let greatest = |y: &Fp| reduced(y) > reduced(&-y.clone());
    if greatest(&y) != (flags & 1 == 1) {
        y = -y;
    }
    // SAFETY: the order is checked below.
    let point = unsafe { G1Affine::from_xy_nonidentity(x, y) }?;
    multiple(&point, &order()).is_identity().then_some(point)
}

/// Returns whether the polynomial of `commitment` takes the value `y` at `z`: e(C - y G + z W, G2) = e(W, tau G2).
pub fn opening(commitment: &[u8; 48], z: &[u8; 32], y: &[u8; 32], proof: &[u8; 48]) -> bool {
    let opens = || {
        let (commitment, proof) = (decompress(commitment)?, decompress(proof)?);
        // Both have to be below the order.
        Scalar::from_be_bytes(z)?;
        Scalar::from_be_bytes(y)?;
        let left = commitment - multiple(&G1Affine::GENERATOR, y) + multiple(&proof, z);
        Some(paired(&[(left, G2), (-proof, TAU_G2)]))
    };
    opens().unwrap_or(false)
}

/// Returns whether the product of pairings is one.
fn paired(pairs: &[(G1Affine, AffinePoint<Fp2>)]) -> bool {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (a, b) in pairs {
        // A pairing with the identity is one.
        if !a.is_identity() {
            first.push(affine(a.clone()));
            second.push(b.clone());
        }
    }
    first.is_empty() || Bls12_381::pairing_check(&first, &second).is_ok()
}

fn coordinate(bytes: &[u8; 48]) -> Result<Fp, Halt> {
    Fp::from_be_bytes(bytes).ok_or(Halt::NonCanonicalFp)
}

/// Point of the curve, of any order.
fn on_curve((x, y): &G1Point) -> Result<G1Affine, Halt> {
    // SAFETY: callers check the order where it matters.
    unsafe { G1Affine::from_xy(coordinate(x)?, coordinate(y)?) }.ok_or(Halt::Bls12381G1NotOnCurve)
}

fn in_group(point: &G1Point) -> Result<G1Affine, Halt> {
    let point = on_curve(point)?;
    if !multiple(&point, &order()).is_identity() {
        return Err(Halt::Bls12381G1NotInSubgroup);
    }
    Ok(point)
}

fn in_group2((x0, x1, y0, y1): &G2Point) -> Result<G2Affine, Halt> {
    let x = Fp2::new(coordinate(x0)?, coordinate(x1)?);
    let y = Fp2::new(coordinate(y0)?, coordinate(y1)?);
    // SAFETY: the order is checked below.
    let point = unsafe { G2Affine::from_xy(x, y) }.ok_or(Halt::Bls12381G2NotOnCurve)?;
    if !multiple(&point, &order()).is_identity() {
        return Err(Halt::Bls12381G2NotInSubgroup);
    }
    Ok(point)
}

fn bytes(point: &G1Affine) -> [u8; 96] {
    let mut bytes = [0; 96];
    bytes[..48].copy_from_slice(&reduced(point.x()));
    bytes[48..].copy_from_slice(&reduced(point.y()));
    bytes
}

pub fn add(a: &G1Point, b: &G1Point) -> Result<[u8; 96], Halt> {
    Ok(bytes(&(on_curve(a)? + on_curve(b)?)))
}

pub fn sum(pairs: &mut dyn Iterator<Item = Result<G1PointScalar, Halt>>) -> Result<[u8; 96], Halt> {
    let mut sum = <G1Affine as Group>::IDENTITY;
    for pair in pairs {
        let (point, number) = pair?;
        sum += multiple(&in_group(&point)?, &number);
    }
    Ok(bytes(&sum))
}

pub fn pairing(pairs: &[(G1Point, G2Point)]) -> Result<bool, Halt> {
    let mut points = Vec::with_capacity(pairs.len());
    for (a, b) in pairs {
        let (a, b) = (in_group(a)?, in_group2(b)?);
        if !b.is_identity() {
            let (x, y) = b.into_coords();
            points.push((a, AffinePoint::new(x, y)));
        }
    }
    Ok(paired(&points))
}
