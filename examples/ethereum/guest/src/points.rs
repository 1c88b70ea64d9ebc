//! Points of curves: scalars in windows, and subgroups.

use core::ops::Add;

use openvm_algebra_guest::{IntMod, Reduce};
use openvm_ecc_guest::{
    weierstrass::{CachedMulTable, IntrinsicCurve, WeierstrassPoint},
    Group,
};

/// Sum of multiples of points, each of which has prime order or is the identity.
pub fn sum<C>(scalars: &[C::Scalar], points: &[C::Point]) -> C::Point
where
    C: IntrinsicCurve<Scalar: IntMod, Point: WeierstrassPoint + Group>,
    for<'a> &'a C::Point: Add<&'a C::Point, Output = C::Point>,
{
    CachedMulTable::<C>::new_with_prime_order(points, 4).windowed_mul(scalars)
}

/// Multiple of a point by a number, whatever its order. Bytes are big endian.
pub fn multiple<P: Group>(point: &P, number: &[u8]) -> P {
    let mut result = <P as Group>::IDENTITY;
    for byte in number {
        for bit in (0..8).rev() {
            result.double_assign();
            if byte >> bit & 1 == 1 {
                result += point;
            }
        }
    }
    result
}

/// Big-endian bytes of a number, which a prover may have left unreduced.
pub fn reduced<T: IntMod>(number: &T) -> T::Repr {
    number.assert_reduced();
    number.to_be_bytes()
}

/// Number of 32 bytes, reduced.
pub fn scalar<T: IntMod<Repr = [u8; 32]> + Reduce>(bytes: &[u8; 32]) -> T {
    T::from_be_bytes(bytes).unwrap_or_else(|| T::reduce_be_bytes(bytes))
}
