//! Functions of `f32` calculated in `f64` to about 1e-10.

use super::math::{exp, ln};

#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

/// Error function: 1 - exp(-g), where g = -ln(1 - erf) is smooth.
#[inline(always)]
pub(super) fn error_function(x: f32) -> f32 {
    let a = f64::from(x.abs());
    let t = if a > 4.0 { 4.0 } else { a };
    let g = t * polynomial(
        t,
        [
            1.1283791670996175,
            0.6366197717008967,
            0.10277262147693107,
            -0.019128645378267695,
            -0.00020804091869186303,
            0.0016920793609012475,
            -0.000580244989406304,
            9.167023252203262e-06,
            8.517298050893888e-05,
            -4.8844290102480045e-05,
            1.6699706828084612e-05,
            -4.008376256662129e-06,
            6.916484785847298e-07,
            -8.323600472741194e-08,
            6.3573994744197765e-09,
            -2.2691773971018705e-10,
            -3.716401694254937e-12,
            4.5373106048906585e-13,
        ],
    );
    // Small arguments: 1 - exp(-g) loses digits.
    let small = g * (g * (g * (g * (1.0 / 24.0) - 1.0 / 6.0) + 0.5)).mul_add(-1.0, 1.0);
    let result = if g < 1e-3 { small } else { 1.0 - exp(-g) };
    (result as f32).copysign(x)
}

/// `x` to the `y`, with the special values of IEEE 754.
#[inline(always)]
pub(super) fn power(x: f32, y: f32) -> f32 {
    let magnitude = exp(f64::from(y) * ln(f64::from(x.abs())));
    let whole = y.floor() == y;
    let half = y * 0.5;
    let odd = whole && half.floor() != half;
    let result = if odd {
        (magnitude as f32).copysign(x)
    } else {
        magnitude as f32
    };
    // Of a negative finite base only integer powers are real.
    let complex = x < 0.0 && !whole && x != f32::NEG_INFINITY;
    let result = if complex { f32::NAN } else { result };
    // ln gives 0 times infinity where the power is 1.
    let unit = y == 0.0 || x == 1.0 || (x == -1.0 && y.abs() == f32::INFINITY);
    if unit {
        1.0
    } else {
        result
    }
}

/// Angle of the point (`x`, `y`), with the special values of IEEE 754.
#[inline(always)]
pub(super) fn angle(y: f32, x: f32) -> f32 {
    let (a, b) = (f64::from(y.abs()), f64::from(x.abs()));
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    let quotient = small / large;
    // 0 / 0 and infinity / infinity.
    let quotient = if large == 0.0 { 0.0 } else { quotient };
    let quotient = if small == f64::INFINITY {
        1.0
    } else {
        quotient
    };
    let z = quotient * quotient;
    let t = quotient
        * polynomial(
            z,
            [
                0.9999999999981967,
                -0.333333332624797,
                0.19999995340385063,
                -0.14285592394282529,
                0.11109428364330506,
                -0.09076798876650477,
                0.07614250199003121,
                -0.06366092236096826,
                0.050455577528416146,
                -0.03526772086942244,
                0.01993744283625617,
                -0.008241899893996813,
                0.002162794422156479,
                -0.00026660196719267425,
            ],
        );
    let t = if a > b {
        std::f64::consts::FRAC_PI_2 - t
    } else {
        t
    };
    let t = if x.is_sign_negative() {
        std::f64::consts::PI - t
    } else {
        t
    };
    let result = (t as f32).copysign(y);
    if x.is_nan() || y.is_nan() {
        f32::NAN
    } else {
        result
    }
}
