//! Random buffers, and what they are compared with.

use hologram_core::{Buffer, Element, Executor};

pub const SIZES: [usize; 6] = [0, 1, 7, 64, 1001, 70_003];

pub fn cpu() -> Executor {
    Executor::new().expect("the CPU's backend")
}

/// Numbers between -4 and 4, with steps of 1/16.
pub fn data(n: usize, seed: u64) -> Vec<f64> {
    let mut state = seed;
    (0..n)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((state >> 40) % 129) as f64 / 16.0 - 4.0
        })
        .collect()
}

/// Numbers that tests make from `f64` and compare as such.
pub trait Sample: Element {
    fn of(x: f64) -> Self;
    fn value(self) -> f64;
}

macro_rules! sample {
    ($($t:ty)*) => {$(
        impl Sample for $t {
            fn of(x: f64) -> Self {
                x as $t
            }
            fn value(self) -> f64 {
                self as f64
            }
        }
    )*};
}

sample!(f32 f64 i32 i64 u32);

pub fn make<T: Sample>(exec: &Executor, values: &[f64]) -> (Buffer<T>, Vec<f64>) {
    let values: Vec<T> = values.iter().map(|&x| T::of(x)).collect();
    let buffer = exec.from_slice(&values).unwrap();
    (buffer, values.into_iter().map(T::value).collect())
}

pub fn close<T: Sample>(name: &str, actual: &Buffer<T>, expected: &[f64], tolerance: f64) {
    let actual = actual.to_vec().unwrap();
    assert_eq!(actual.len(), expected.len());
    for (i, (&a, &e)) in actual.iter().zip(expected).enumerate() {
        let (a, e) = (a.value(), T::of(e).value());
        let near =
            a == e || (a.is_nan() && e.is_nan()) || (a - e).abs() <= tolerance * (1.0 + e.abs());
        assert!(near, "{name}[{i}]: {a}, expected {e}");
    }
}
