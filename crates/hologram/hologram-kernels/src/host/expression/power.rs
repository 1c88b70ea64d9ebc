//! Powers with one exponent of few halves, as products and a square root.

use std::marker::PhantomData;

use super::super::math::Float;
use super::super::vector::{self, blocks, none, Work, BLOCK};
use super::kernels::{single, Places, Value};

/// An exponent from -2 to 4 that is a multiple of 1/2. Of others products would be off by more than 4 ULP.
#[derive(Clone, Copy)]
struct Halves {
    whole: u32,
    has_half: bool,
    negative: bool,
}

impl Halves {
    fn of(exponent: f64) -> Option<Self> {
        let twice = 2.0 * exponent.abs();
        let fits = twice.floor() == twice && (-2.0..=4.0).contains(&exponent);
        fits.then_some(Self {
            whole: twice as u32 / 2,
            has_half: twice % 2.0 == 1.0,
            negative: exponent < 0.0,
        })
    }

    /// The powers, with the special values of IEEE 754. Each condition on the exponent is one of a block, which vector units go
    /// through without the rest.
    #[inline(always)]
    fn powers<const N: usize>(self, mut x: [f64; N]) -> [f64; N] {
        // Products of numbers so scaled are neither too large nor too small where their reciprocals are not.
        const LARGE: f64 = f64::from_bits((1023 + 500) << 52);
        const SMALL: f64 = 1.0 / LARGE;
        if self.has_half {
            for x in &mut x {
                // The only ones whose roots are not positive, or NaN.
                let is_special = *x == 0.0 || *x == f64::NEG_INFINITY;
                *x = if is_special { x.abs() } else { *x };
            }
        }
        if !self.negative {
            return self.products(x);
        }
        let [small, large] = self.products([SMALL, LARGE]);
        let mut dividends = [1.0; N];
        for (x, dividend) in x.iter_mut().zip(&mut dividends) {
            let size = x.abs();
            let (scale, scaled) = if size > LARGE {
                (SMALL, small)
            } else {
                (1.0, 1.0)
            };
            let (scale, scaled) = if size < SMALL {
                (LARGE, large)
            } else {
                (scale, scaled)
            };
            (*x, *dividend) = (*x * scale, scaled);
        }
        let mut out = self.products(x);
        for (x, dividend) in out.iter_mut().zip(dividends) {
            *x = dividend / *x;
        }
        out
    }

    /// The powers without regard to the sign of the exponent.
    #[inline(always)]
    fn products<const N: usize>(self, x: [f64; N]) -> [f64; N] {
        let mut out = [1.0; N];
        if self.whole >= 2 {
            for (out, x) in out.iter_mut().zip(x) {
                *out = x * x;
            }
        }
        if self.whole == 4 {
            for out in &mut out {
                *out *= *out;
            }
        }
        if self.whole % 2 == 1 {
            for (out, x) in out.iter_mut().zip(x) {
                *out *= x;
            }
        }
        if self.has_half {
            for (out, x) in out.iter_mut().zip(x) {
                *out *= x.sqrt();
            }
        }
        out
    }
}

struct Power<T> {
    places: Places,
    exponent: Halves,
    types: PhantomData<T>,
}

impl<T: Float + Value> Work for Power<T> {
    type Out = ();
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) {
        let Places { dst, args, count } = self.places;
        let x = (args[0].cast::<T>(), T::ONE);
        // SAFETY: every place has `count` elements.
        unsafe {
            blocks(
                dst.cast::<T>(),
                (x, none(), none()),
                count,
                |x: [T; BLOCK], _, _| {
                    let mut wide = [0.0; BLOCK];
                    for i in 0..BLOCK {
                        wide[i] = x[i].to_f64();
                    }
                    let powers = self.exponent.powers(wide);
                    let mut out = x;
                    for i in 0..BLOCK {
                        out[i] = T::from_f64(powers[i]);
                    }
                    out
                },
            );
        }
    }
}

/// Computes powers with one exponent; false if there are several, or it is another one.
///
/// # Safety
/// Places must be those of [`run`](super::kernels::run).
pub(super) unsafe fn power<T: Float + Value>(places: &Places) -> bool {
    // SAFETY: the caller's promise.
    let exponent = unsafe { single::<T>(places.args[1], places.count) };
    let Some(exponent) = exponent.and_then(|exponent| Halves::of(exponent.to_f64())) else {
        return false;
    };
    vector::run(Power::<T> {
        places: *places,
        exponent,
        types: PhantomData,
    });
    true
}

#[cfg(test)]
mod tests {
    use super::Halves;

    fn ulps(x: f64, y: f64) -> u64 {
        let place = |x: f64| x.to_bits() as i64 ^ (((x.to_bits() as i64 >> 63) as u64) >> 1) as i64;
        if x.is_nan() && y.is_nan() {
            0
        } else {
            place(x).abs_diff(place(y))
        }
    }

    #[test]
    fn powers_of_whole_numbers_are_rounded_once() {
        let power = |x: i32, exponent| {
            let of = Halves::of(exponent).expect("an exponent of few halves");
            of.powers([f64::from(x)])
        };
        for x in 1..1000 {
            let of_x = f64::from(x);
            assert_eq!(power(x, -1.0), [1.0 / of_x]);
            assert_eq!(power(x, -2.0), [1.0 / f64::from(x * x)]);
            assert_eq!(power(x, 3.0), [f64::from(x * x * x)]);
            assert_eq!(power(x * x, -0.5), [1.0 / of_x]);
            assert_eq!(power(x * x, -1.5), [1.0 / f64::from(x * x * x)]);
            assert_eq!(power(x * x, 1.5), [f64::from(x * x * x)]);
        }
    }

    #[test]
    fn powers_are_near_those_of_the_library() {
        let special = [
            0.0,
            1.0,
            f64::INFINITY,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            f64::NAN,
        ];
        let mut state = 1u64;
        let mut values: Vec<f64> = special.iter().flat_map(|&x| [x, -x]).collect();
        for i in 0..20_000 {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
            let mantissa = (state >> 12) | 1f64.to_bits();
            // All exponents, and near those where powers are too large or too small.
            let ends = [
                1024 / 2,
                1024 / 3,
                1024 * 2 / 3,
                1024 / 4,
                1024 * 2 / 5,
                1024,
            ];
            let exponent = match i % 3 {
                0 => (state % 2046) as i32 - 1022,
                1 => ends[(state % 6) as usize] - 3 + (state >> 8) as i32 % 6,
                _ => -ends[(state % 6) as usize] - 3 + (state >> 8) as i32 % 6,
            };
            let x = f64::from_bits(mantissa) * 2f64.powi(exponent);
            values.extend([x, -x]);
        }
        for exponent in (-4..=8).map(|twice| f64::from(twice) / 2.0) {
            let power = Halves::of(exponent).expect("an exponent of few halves");
            for &x in &values {
                let ([found], expected) = (power.powers([x]), x.powf(exponent));
                let near = ulps(found, expected) <= 4;
                let same_zero =
                    found != 0.0 || expected != 0.0 || found.to_bits() == expected.to_bits();
                assert!(
                    near && same_zero,
                    "{x:e} to {exponent}: {found:e}, {expected:e}"
                );
            }
        }
        for other in [-2.5, 4.5, 0.25, f64::NAN, f64::INFINITY] {
            assert!(Halves::of(other).is_none());
        }
    }
}
