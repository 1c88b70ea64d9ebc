//! Every operation against values calculated another way, at sizes that do not fill blocks.

mod elementwise;
mod floats;
mod folds;
mod halves;
mod rows;

use super::{run, HostError, HostSpan};
use crate::Operation;

/// Sizes around the block of 64 and the piece of 16,384 elements.
const SIZES: [usize; 10] = [0, 1, 3, 63, 64, 65, 1000, 16_385, 32_769, 140_001];

fn span<T>(data: &[T]) -> HostSpan {
    HostSpan {
        ptr: data.as_ptr().cast_mut().cast(),
        len: size_of_val(data),
    }
}

/// Runs a call on slices that do not overlap.
fn run_on<T>(call: &Operation, dst: &mut [T], src: &[&[T]]) -> Result<(), HostError> {
    let written = HostSpan {
        ptr: dst.as_mut_ptr().cast(),
        len: size_of_val(dst),
    };
    let spans: Vec<HostSpan> = std::iter::once(written)
        .chain(src.iter().map(|s| span(s)))
        .collect();
    // SAFETY: slices that live and do not overlap.
    unsafe { run(call, &spans) }
}

/// Numbers that look random, the same every time.
pub(in crate::host) fn random(seed: u64) -> impl FnMut() -> u64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

/// Values between -2 and 2.
fn values(seed: u64, count: usize) -> Vec<f64> {
    let mut next = random(seed);
    (0..count)
        .map(|_| (next() >> 11) as f64 / (1u64 << 51) as f64 - 2.0)
        .collect()
}

fn singles(seed: u64, count: usize) -> Vec<f32> {
    values(seed, count).into_iter().map(|x| x as f32).collect()
}
