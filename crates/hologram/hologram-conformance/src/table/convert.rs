//! Conversions between all 144 pairs of types.

use hologram_backends::Ty;

use super::case::{Case, Expected};
use super::softfloat::{self as soft, Number};
use super::{floats, integers};

pub fn cases(doubles: bool) -> Vec<Case> {
    let types: Vec<Ty> = Ty::ALL
        .into_iter()
        .filter(|&ty| doubles || ty != Ty::F64)
        .collect();
    types.iter().map(|&src| case(src, &types)).collect()
}

/// Edge values, and those next to where other types end or round.
fn values(src: Ty) -> Vec<u64> {
    let mut values = if src.is_int() {
        integers::edges(src)
    } else {
        floats::edges(src)
    };
    for dst in Ty::ALL {
        for shift in 0..4 {
            let limits = if dst.is_int() {
                [1i128 << (dst.bits() - 1), 1 << dst.bits()]
            } else {
                // Numbers with one bit more than the mantissa, and with a sticky one far behind.
                let m = floats::format(dst).mantissa.min(40);
                [(1 << (m + 1)) + 1, ((1 << (m + 1)) + 1) << 10 | 1]
            };
            for limit in limits {
                for near in [limit - (1 << shift), limit + (1 << shift), limit, -limit] {
                    values.push(if src.is_int() {
                        integers::wrap(src, near)
                    } else {
                        floats::format(src).encode(soft::integer(near))
                    });
                }
            }
        }
    }
    // Ties of the 16-bit floats at their smallest and largest.
    if !src.is_int() {
        let f = floats::format(src);
        for (m, e) in [
            (1, -25),
            (3, -25),
            (3, -26),
            (65519, 0),
            (65520, 0),
            (131039, -1),
            (0x1ff, 119),
            (0x3fd, 118),
        ] {
            for sign in [false, true] {
                values.push(f.encode(Number::Finite(sign, m, e)));
                values.push(f.encode(Number::Finite(sign, (m << 13) + 1, e - 13)));
                values.push(f.encode(Number::Finite(sign, (m << 13) - 1, e - 13)));
            }
        }
    }
    values.sort_unstable();
    values.dedup();
    values
}

fn case(src: Ty, types: &[Ty]) -> Case {
    let values = values(src);
    let mut case = Case::new(format!("cvt from {src}"), values.len());
    case.load(10, src, &values);
    for &dst in types {
        let expected = values.iter().map(|&bits| expected(src, dst, bits));
        case.check(&format!("cvt.{dst}.{src} r20, r10"), dst, expected);
    }
    case
}

fn expected(src: Ty, dst: Ty, bits: u64) -> Expected {
    let number = if src.is_int() {
        soft::integer(integers::value(src, bits))
    } else {
        floats::format(src).decode(bits)
    };
    if !dst.is_int() {
        return Expected::Float(floats::format(dst).encode(number), 0);
    }
    let value = if src.is_int() {
        integers::value(src, bits)
    } else if dst.is_signed_int() {
        let limit = 1i128 << (dst.bits() - 1);
        soft::truncate(number, -limit, limit - 1)
    } else {
        soft::truncate(number, 0, (1 << dst.bits()) - 1)
    };
    Expected::Bits(integers::wrap(dst, value))
}
