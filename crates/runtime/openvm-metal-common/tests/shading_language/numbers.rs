//! Inputs and the rounding of half.

/// Numbers without pattern.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        (self.next() >> 32) % n
    }
}

/// The multiple of 2^`exponent` that is nearest to `x`.
fn nearest_multiple(x: f64, exponent: i32) -> f64 {
    let unit = 2f64.powi(exponent);
    (x / unit).round_ties_even() * unit
}

/// Weight of the last bit of a half of the size of `x`, as a power of two.
fn last_bit(x: f64) -> i32 {
    let exponent = (x.abs().to_bits() >> 52) as i32 - 1023;
    exponent.max(-14) - 10
}

/// The half nearest to `x`.
pub fn half(x: f32) -> f32 {
    let x = f64::from(x);
    if x == 0.0 || !x.is_finite() {
        return x as f32;
    }
    let rounded = nearest_multiple(x, last_bit(x));
    if rounded.abs() > 65504.0 {
        return f32::INFINITY.copysign(rounded as f32);
    }
    rounded as f32
}

/// The half after `x` in the direction of `y`; neither is NaN, `x` is not 0.
pub fn next_half(x: f32, y: f32) -> f32 {
    if x == y {
        return y;
    }
    let away = (x < y) == (x > 0.0);
    if x.is_infinite() {
        return 65504f32.copysign(x);
    }
    let wide = f64::from(x.abs());
    let inner = 2f64.powi(last_bit(wide * (1.0 - 1e-6)));
    let magnitude = if away {
        wide + 2f64.powi(last_bit(wide))
    } else {
        wide - inner
    };
    half(magnitude as f32).copysign(x)
}

/// The float after `x` in the direction of `y`; neither is NaN, `x` is not 0.
pub fn next_float(x: f32, y: f32) -> f32 {
    if x == y {
        return y;
    }
    let away = (x < y) == (x > 0.0);
    f32::from_bits(if away {
        x.to_bits() + 1
    } else {
        x.to_bits() - 1
    })
}

/// Equal as numbers; NaN equals NaN.
pub fn same(a: f32, b: f32) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

/// Within `tolerance` of the value, or of 1 for smaller values.
pub fn near(got: f32, want: f64, tolerance: f64) -> bool {
    (f64::from(got) - want).abs() <= tolerance * want.abs().max(1.0)
}
