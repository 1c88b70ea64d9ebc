//! Numbers, shapes and loops over index arithmetic.

use hologram_core::{Element, Tensor};
pub type Outcome = Result<(), Box<dyn std::error::Error>>;

/// A number from a place, different for neighbours.
pub fn number(i: usize, seed: u64) -> u64 {
    let mixed = (i as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(seed);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40
}

pub fn floats(n: usize, seed: u64) -> Vec<f32> {
    (0..n)
        .map(|i| (number(i, seed) % 2001) as f32 / 250.0 - 4.0)
        .collect()
}

pub fn integers(n: usize, seed: u64) -> Vec<i32> {
    (0..n).map(|i| (number(i, seed) % 41) as i32 - 20).collect()
}

/// Places of a shape that a linear index names.
pub fn places(mut linear: usize, shape: &[usize]) -> Vec<usize> {
    let mut out = vec![0; shape.len()];
    for (place, &extent) in out.iter_mut().zip(shape).rev() {
        *place = linear % extent;
        linear /= extent;
    }
    out
}

pub fn linear(places: &[usize], shape: &[usize]) -> usize {
    places.iter().zip(shape).fold(0, |at, (&p, &n)| at * n + p)
}

/// The element of row-major data that a broadcast to `shape` has at a place.
pub fn broadcast<T: Copy>(data: &[T], own: &[usize], at: &[usize]) -> T {
    let at = &at[at.len() - own.len()..];
    let own_at: Vec<usize> = at
        .iter()
        .zip(own)
        .map(|(&p, &n)| if n == 1 { 0 } else { p })
        .collect();
    data[linear(&own_at, own)]
}

pub const SHAPES: [(&[usize], &[usize], &[usize]); 6] = [
    (&[], &[], &[]),
    (&[1], &[3], &[3]),
    (&[3, 5, 7], &[5, 1], &[3, 5, 7]),
    (&[4, 1, 2], &[3, 1], &[4, 3, 2]),
    (&[65_537], &[1], &[65_537]),
    (&[0, 3], &[3], &[0, 3]),
];

pub fn shapes() -> impl Iterator<Item = (Vec<usize>, Vec<usize>, Vec<usize>)> {
    SHAPES
        .iter()
        .map(|(a, b, c)| (a.to_vec(), b.to_vec(), c.to_vec()))
}

pub fn len(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Compares `found` with `want` of both operands at each place.
pub fn check<T: Element, R: Element>(
    (a, a_shape): (&[T], &[usize]),
    (b, b_shape): (&[T], &[usize]),
    found: &Tensor<R>,
    want: impl Fn(T, T) -> R,
) -> Outcome {
    let shape = found.shape().to_vec();
    for (i, found) in found.to_vec()?.into_iter().enumerate() {
        let at = places(i, &shape);
        let want = want(broadcast(a, a_shape, &at), broadcast(b, b_shape, &at));
        assert!(
            found == want,
            "{found:?} is not {want:?} at {at:?} of {shape:?}"
        );
    }
    Ok(())
}
