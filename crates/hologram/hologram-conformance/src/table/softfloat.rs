//! Arithmetic of binary floats in integers: what the expected results of floats are made from.

/// A binary format: explicit bits of the mantissa, bits of the exponent.
#[derive(Clone, Copy)]
pub struct Format {
    pub mantissa: u32,
    pub exponent: u32,
}

pub const F16: Format = Format {
    mantissa: 10,
    exponent: 5,
};
pub const BF16: Format = Format {
    mantissa: 7,
    exponent: 8,
};
pub const F32: Format = Format {
    mantissa: 23,
    exponent: 8,
};
pub const F64: Format = Format {
    mantissa: 52,
    exponent: 11,
};

/// A float's value: `mantissa * 2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    Nan,
    Infinite(bool),
    Finite(bool, u128, i32),
}

use Number::{Finite, Infinite, Nan};

impl Format {
    fn bias(self) -> i32 {
        (1 << (self.exponent - 1)) - 1
    }

    fn largest(self) -> u64 {
        (1 << self.exponent) - 1
    }

    pub fn infinity(self) -> u64 {
        self.largest() << self.mantissa
    }

    pub fn nan(self) -> u64 {
        self.infinity() | 1 << (self.mantissa - 1)
    }

    pub fn sign(self) -> u64 {
        1 << (self.mantissa + self.exponent)
    }

    pub fn decode(self, bits: u64) -> Number {
        let negative = bits & self.sign() != 0;
        let exponent = (bits >> self.mantissa) & self.largest();
        let fraction = u128::from(bits & ((1 << self.mantissa) - 1));
        let lowest = 1 - self.bias() - self.mantissa as i32;
        match exponent {
            e if e == self.largest() && fraction != 0 => Nan,
            e if e == self.largest() => Infinite(negative),
            0 => Finite(negative, fraction, lowest),
            e => Finite(
                negative,
                fraction | 1 << self.mantissa,
                lowest + e as i32 - 1,
            ),
        }
    }

    /// Rounded to the nearest, ties to even.
    pub fn encode(self, number: Number) -> u64 {
        let (negative, mantissa, exponent) = match number {
            Nan => return self.nan(),
            Infinite(negative) => return self.infinity() | (u64::from(negative) * self.sign()),
            Finite(negative, mantissa, exponent) => (negative, mantissa, exponent),
        };
        let sign = u64::from(negative) * self.sign();
        if mantissa == 0 {
            return sign;
        }
        let top = exponent + 127 - mantissa.leading_zeros() as i32;
        let mut unit = top.max(1 - self.bias()) - self.mantissa as i32;
        let mut rounded = if unit <= exponent {
            mantissa << (exponent - unit)
        } else {
            let shift = (unit - exponent) as u32;
            let whole = mantissa.checked_shr(shift).unwrap_or(0);
            let rest = mantissa - whole.checked_shl(shift).unwrap_or(0);
            let half = 1u128.checked_shl(shift - 1).unwrap_or(u128::MAX);
            let up = rest > half || rest == half && whole & 1 == 1;
            whole + u128::from(up)
        };
        if rounded == 2 << self.mantissa {
            rounded /= 2;
            unit += 1;
        }
        if rounded < 1 << self.mantissa {
            return sign | rounded as u64;
        }
        let biased = (unit + self.mantissa as i32 + self.bias()) as u64;
        if biased >= self.largest() {
            return sign | self.infinity();
        }
        sign | biased << self.mantissa | (rounded as u64 & ((1 << self.mantissa) - 1))
    }
}

pub fn integer(value: i128) -> Number {
    Finite(value < 0, value.unsigned_abs(), 0)
}

pub fn negate(a: Number) -> Number {
    match a {
        Nan => Nan,
        Infinite(negative) => Infinite(!negative),
        Finite(negative, mantissa, exponent) => Finite(!negative, mantissa, exponent),
    }
}

/// The exact sum, or one that rounds as it does; mantissas below 2^54.
pub fn add(a: Number, b: Number) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite(x), Infinite(y)) if x != y => Nan,
        (Infinite(x), _) | (_, Infinite(x)) => Infinite(x),
        (Finite(x, 0, e), Finite(y, 0, _)) => Finite(x && y, 0, e),
        (Finite(_, 0, _), _) => b,
        (_, Finite(_, 0, _)) => a,
        (Finite(x, m, e), Finite(y, n, f)) => {
            if e < f {
                return add(b, a);
            }
            let (wide, narrow, unit) = if e - f <= 70 {
                (m << (e - f), n, f)
            } else {
                (m << 70, 1, e - 70)
            };
            let signed = |negative: bool, v: u128| if negative { -(v as i128) } else { v as i128 };
            let sum = signed(x, wide) + signed(y, narrow);
            Finite(sum < 0, sum.unsigned_abs(), unit)
        }
    }
}

pub fn mul(a: Number, b: Number) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) => Nan,
        (Infinite(_), Finite(_, 0, _)) | (Finite(_, 0, _), Infinite(_)) => Nan,
        (Infinite(x), Infinite(y) | Finite(y, ..)) | (Finite(x, ..), Infinite(y)) => {
            Infinite(x != y)
        }
        (Finite(x, m, e), Finite(y, n, f)) => Finite(x != y, m * n, e + f),
    }
}

pub fn div(a: Number, b: Number) -> Number {
    match (a, b) {
        (Nan, _) | (_, Nan) | (Infinite(_), Infinite(_)) => Nan,
        (Finite(_, 0, _), Finite(_, 0, _)) => Nan,
        (Infinite(x), Finite(y, ..)) | (Finite(x, ..), Finite(y, 0, _)) => Infinite(x != y),
        (Finite(x, ..), Infinite(y)) => Finite(x != y, 0, 0),
        (Finite(x, 0, e), Finite(y, ..)) => Finite(x != y, 0, e),
        (Finite(x, m, e), Finite(y, n, f)) => {
            let shift = m.leading_zeros() - 1;
            let (quotient, rest) = ((m << shift) / n, (m << shift) % n);
            let sticky = quotient << 1 | u128::from(rest != 0);
            Finite(x != y, sticky, e - shift as i32 - f - 1)
        }
    }
}

pub fn sqrt(a: Number) -> Number {
    match a {
        Nan | Infinite(true) => Nan,
        Infinite(false) | Finite(_, 0, _) => a,
        Finite(true, ..) => Nan,
        Finite(false, m, e) => {
            let mut shift = m.leading_zeros() as i32 - 6;
            if (e - shift) % 2 != 0 {
                shift += 1;
            }
            let wide = m << shift;
            let root = wide.isqrt();
            let sticky = root << 1 | u128::from(root * root != wide);
            Finite(false, sticky, (e - shift) / 2 - 1)
        }
    }
}

/// Truncated towards zero and clamped; 0 of NaN.
pub fn truncate(a: Number, least: i128, most: i128) -> i128 {
    match a {
        Nan => 0,
        Infinite(true) => least,
        Infinite(false) => most,
        Finite(negative, mantissa, exponent) => {
            let magnitude = if mantissa == 0 {
                0
            } else if exponent <= 0 {
                mantissa.checked_shr(exponent.unsigned_abs()).unwrap_or(0)
            } else if exponent > 70 {
                1 << 126
            } else {
                mantissa << exponent
            };
            let value = magnitude as i128;
            (if negative { -value } else { value }).clamp(least, most)
        }
    }
}

/// -1, 0, 1 for less, equal, greater; `None` with a NaN.
pub fn compare(a: Number, b: Number) -> Option<i32> {
    let negative = |n| match n {
        Infinite(x) => x,
        Finite(x, m, _) => x && m != 0,
        Nan => false,
    };
    match (a, b) {
        (Nan, _) | (_, Nan) => None,
        (Infinite(x), Infinite(y)) if x == y => Some(0),
        (Infinite(x), _) => Some(if x { -1 } else { 1 }),
        (_, Infinite(y)) => Some(if y { 1 } else { -1 }),
        _ => {
            let difference = add(a, negate(b));
            match difference {
                Finite(_, 0, _) => Some(0),
                _ if negative(difference) => Some(-1),
                _ => Some(1),
            }
        }
    }
}

#[test]
fn agrees_with_known_values() {
    let f = |x: f64| F64.decode(x.to_bits());
    assert_eq!(F64.encode(f(0.1)), 0.1f64.to_bits());
    assert_eq!(F64.encode(add(f(0.1), f(0.2))), 0x3fd3_3333_3333_3334);
    assert_eq!(F64.encode(div(f(1.0), f(3.0))), 0x3fd5_5555_5555_5555);
    assert_eq!(F64.encode(sqrt(f(2.0))), 0x3ff6_a09e_667f_3bcd);
    assert_eq!(F32.encode(f(0.1)), 0x3dcc_cccd);
    assert_eq!(F16.encode(f(65520.0)), 0x7c00);
    assert_eq!(F16.encode(f(65519.0)), 0x7bff);
    assert_eq!(F16.encode(f(2f64.powi(-25))), 0);
    assert_eq!(BF16.encode(f(1.0 + 2f64.powi(-8))), 0x3f80);
    assert_eq!(truncate(f(-2.9), -128, 127), -2);
    assert_eq!(truncate(f(1e30), -128, 127), 127);
}
