//! Float functions without branches, so that loops over them become vector code.
//!
//! Coefficients are minimax fits over the reduced ranges; errors are at most 2 ULP of `f64`.

use super::element::Element;
use super::math_single as single;

/// A float with its functions.
pub(super) trait Float: Element {
    fn from_f64(x: f64) -> Self;
    fn to_f64(self) -> f64;
    fn root(self) -> Self;
    fn reciprocal_root(self) -> Self;
    fn up(self) -> Self;
    fn down(self) -> Self;
    /// Halves to even.
    fn nearest(self) -> Self;
    fn exponential(self) -> Self;
    fn logarithm(self) -> Self;
    fn hyperbolic_tangent(self) -> Self;
    fn logistic(self) -> Self;
    fn gelu(self) -> Self;
    fn error_function(self) -> Self;
    fn power(self, exponent: Self) -> Self;
    fn angle(self, x: Self) -> Self;
    fn sine(self) -> Self;
    fn cosine(self) -> Self;
    fn tangent(self) -> Self;
    /// The three above do not hold.
    fn is_far(self) -> bool;
    fn sine_far(self) -> Self;
    fn cosine_far(self) -> Self;
    fn tangent_far(self) -> Self;
}

macro_rules! float {
    ($name:ident, $exp:expr, $power:expr, $angle:expr, $erf:expr) => {
        impl Float for $name {
            #[inline(always)]
            fn from_f64(x: f64) -> Self {
                x as $name
            }
            #[inline(always)]
            fn to_f64(self) -> f64 {
                self.into()
            }
            #[inline(always)]
            fn root(self) -> Self {
                self.sqrt()
            }
            #[inline(always)]
            fn reciprocal_root(self) -> Self {
                (1.0 / f64::from(self).sqrt()) as $name
            }
            #[inline(always)]
            fn up(self) -> Self {
                self.ceil()
            }
            #[inline(always)]
            fn down(self) -> Self {
                self.floor()
            }
            #[inline(always)]
            fn nearest(self) -> Self {
                self.round_ties_even()
            }
            #[inline(always)]
            fn exponential(self) -> Self {
                $exp(self)
            }
            #[inline(always)]
            fn logarithm(self) -> Self {
                ln(self.into()) as $name
            }
            #[inline(always)]
            fn hyperbolic_tangent(self) -> Self {
                tanh(self.into()) as $name
            }
            #[inline(always)]
            fn logistic(self) -> Self {
                (1.0 / (1.0 + exp(-f64::from(self)))) as $name
            }
            #[inline(always)]
            fn gelu(self) -> Self {
                gelu(self.into()) as $name
            }
            #[inline(always)]
            fn error_function(self) -> Self {
                $erf(self)
            }
            #[inline(always)]
            fn power(self, exponent: Self) -> Self {
                $power(self, exponent)
            }
            #[inline(always)]
            fn angle(self, x: Self) -> Self {
                $angle(self, x)
            }
            #[inline(always)]
            fn sine(self) -> Self {
                let (sine, _) = sine_cosine(self.into());
                sine as $name
            }
            #[inline(always)]
            fn cosine(self) -> Self {
                let (_, cosine) = sine_cosine(self.into());
                cosine as $name
            }
            #[inline(always)]
            fn tangent(self) -> Self {
                let (sine, cosine) = sine_cosine(self.into());
                (sine / cosine) as $name
            }
            #[inline(always)]
            fn is_far(self) -> bool {
                f64::from(self).abs() >= FAR
            }
            fn sine_far(self) -> Self {
                f64::from(self).sin() as $name
            }
            fn cosine_far(self) -> Self {
                f64::from(self).cos() as $name
            }
            fn tangent_far(self) -> Self {
                f64::from(self).tan() as $name
            }
        }
    };
}
float!(
    f32,
    single::exponential,
    single::power,
    single::angle,
    single::error_function
);
float!(f64, exp, f64::powf, f64::atan2, libm::erf);

/// Greatest angle of the reduction; 2 / pi of it fits 17 bits.
const FAR: f64 = 1e5;
/// Adding it rounds to an integer, which is then in the low bits.
const MAGIC: f64 = 6_755_399_441_055_744.0;
const LN2_HIGH: f64 = f64::from_bits(0x3fe6_2e42_fefa_3800);
const LN2_LOW: f64 = f64::from_bits(0x3d2e_f357_93c7_6730);

#[inline(always)]
pub(super) fn polynomial<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut sum = coefficients[N - 1];
    let mut i = N - 1;
    while i > 0 {
        i -= 1;
        sum = sum.mul_add(x, coefficients[i]);
    }
    sum
}

/// The integer nearest to `x` (of magnitude below 2^51) as float and as integer.
#[inline(always)]
fn nearest(x: f64) -> (f64, i64) {
    let shifted = x + MAGIC;
    let integer = (shifted.to_bits() as i64).wrapping_sub(MAGIC.to_bits() as i64);
    (shifted - MAGIC, integer)
}

/// 2^k for -1022 <= k <= 1023.
#[inline(always)]
fn power_of_two(k: i64) -> f64 {
    f64::from_bits((k.wrapping_add(1023) as u64) << 52)
}

/// k and exp(r) - 1 with x = k ln 2 + r, for |x| < 800.
#[inline(always)]
fn exp_parts(x: f64) -> (i64, f64) {
    let (k, integer) = nearest(x * std::f64::consts::LOG2_E);
    let r = (-k).mul_add(LN2_LOW, (-k).mul_add(LN2_HIGH, x));
    let q = polynomial(
        r,
        [
            0.5,
            0.1666666666666667,
            0.04166666666666667,
            0.008333333333325544,
            0.0013888888888883327,
            0.00019841269876864356,
            2.4801587327007187e-05,
            2.755725283351691e-06,
            2.75572718102198e-07,
            2.5106274733573296e-08,
            2.0915442297780116e-09,
        ],
    );
    (integer, (r * r).mul_add(q, r))
}

/// e to the `x`.
#[inline(always)]
pub(super) fn exp(x: f64) -> f64 {
    let low = if x < -746.0 { -746.0 } else { x };
    let (k, p) = exp_parts(if low > 710.0 { 710.0 } else { low });
    // In two steps: 2^k may be out of range where the result is not. Arithmetic shift by hand, as
    // not every vector unit has it.
    let half = (((k.wrapping_add(2048)) as u64) >> 1) as i64 - 1024;
    (1.0 + p) * power_of_two(half) * power_of_two(k.wrapping_sub(half))
}

/// Natural logarithm.
#[inline(always)]
pub(super) fn ln(x: f64) -> f64 {
    const ROOT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    const ONE: u64 = 0x3ff0_0000_0000_0000;
    let tiny = x < f64::MIN_POSITIVE;
    let scaled = if tiny {
        x * 18_014_398_509_481_984.0
    } else {
        x
    };
    let shifted = scaled.to_bits().wrapping_add(ONE - ROOT_HALF);
    let exponent = (shifted >> 52).wrapping_sub(1023);
    let m = f64::from_bits(scaled.to_bits().wrapping_sub(exponent << 52));
    let e = f64::from_bits(MAGIC.to_bits().wrapping_add(exponent)) - MAGIC;
    let e = if tiny { e - 54.0 } else { e };
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let r = z * polynomial(
        z,
        [
            0.6666666666666666,
            0.4000000000000101,
            0.2857142857072283,
            0.2222222240984404,
            0.18181793722272505,
            0.15386342974308154,
            0.1326603503726105,
            0.13114976096717038,
        ],
    );
    // ln(1 + f) = f - s (f - r).
    let ln_m = s.mul_add(r - f, f);
    let result = e.mul_add(LN2_HIGH, e.mul_add(LN2_LOW, ln_m));
    let result = if x == f64::INFINITY { x } else { result };
    let result = if x == 0.0 { f64::NEG_INFINITY } else { result };
    if x >= 0.0 {
        result
    } else {
        f64::NAN
    }
}

/// Hyperbolic tangent.
#[inline(always)]
fn tanh(x: f64) -> f64 {
    let a = 2.0 * x.abs();
    let (k, p) = exp_parts(if a > 44.0 { 44.0 } else { a });
    let scale = power_of_two(k);
    // exp(a) - 1.
    let t = scale.mul_add(p, scale - 1.0);
    (t / (t + 2.0)).copysign(x)
}

/// x / 2 (1 + tanh u) = x / (1 + exp(-2 u)); 0 at minus infinity.
#[inline(always)]
fn gelu(x: f64) -> f64 {
    const ROOT_2_PI: f64 = 0.797_884_560_802_865_4;
    let u = ROOT_2_PI * x * (0.044715 * x).mul_add(x, 1.0);
    let result = x / (1.0 + exp(-2.0 * u));
    if x == f64::NEG_INFINITY {
        -0.0
    } else {
        result
    }
}

/// Sine and cosine for |x| < [`FAR`].
#[inline(always)]
fn sine_cosine(x: f64) -> (f64, f64) {
    let (k, quadrant) = nearest(x * std::f64::consts::FRAC_2_PI);
    let r = (-k).mul_add(std::f64::consts::FRAC_PI_2, x);
    let r = (-k).mul_add(6.123_233_995_736_766e-17, r);
    let r = (-k).mul_add(-1.497_384_904_859_169_8e-33, r);
    let z = r * r;
    let sine = polynomial(
        z,
        [
            -0.16666666666666666,
            0.008333333333333331,
            -0.00019841269841264567,
            2.7557319218954762e-06,
            -2.505210610025599e-08,
            1.6058510875319195e-10,
            -7.585486485235938e-13,
        ],
    );
    let sine = (sine * z).mul_add(r, r);
    let cosine = polynomial(
        z,
        [
            0.041666666666666664,
            -0.0013888888888888887,
            2.4801587301584367e-05,
            -2.75573192211891e-07,
            2.0876755717584403e-09,
            -1.1470449354466773e-11,
            4.745198807202876e-14,
        ],
    );
    let cosine = (z * z).mul_add(cosine, z.mul_add(-0.5, 1.0));
    let swap = quadrant & 1 != 0;
    let (s, c) = if swap { (cosine, sine) } else { (sine, cosine) };
    let s_sign = ((quadrant as u64) & 2) << 62;
    let c_sign = ((quadrant.wrapping_add(1) as u64) & 2) << 62;
    // The sign of zero stays.
    let s = if x == 0.0 { x } else { s };
    (
        f64::from_bits(s.to_bits() ^ s_sign),
        f64::from_bits(c.to_bits() ^ c_sign),
    )
}
