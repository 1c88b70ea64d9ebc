//! Products of matrices of halves: blocks of them are widened and multiplied as `f32`.

use super::super::parallel::{rows, Shared};
use super::super::reduce::{join_lanes, Sum};
use super::super::vector::{self, each_block, Work, BLOCK};
use super::super::{gemm as single, map};
use super::{Format, CHUNK};

/// Most rows, columns and depth of a block: four of them are 16 MiB.
const SIDE: usize = 1024;

/// `c` (m x n) = `a` (m x k) times `b` (k x n), all row-major; no overlap. Sums are `f32`, rounded at the end.
pub(super) fn gemm(format: Format, c: *mut u16, a: *mut u16, b: *mut u16, [m, n, k]: [usize; 3]) {
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        map::fill(c, 0, m * n);
        return;
    }
    if n == 1 {
        matvec(format, c, a, b, [m, k]);
        return;
    }
    let [height, width, depth] = [m, n, k].map(|extent| extent.min(SIDE));
    let mut left = vec![0.0f32; height * depth];
    let mut right = vec![0.0f32; depth * width];
    let mut part = vec![0.0f32; height * width];
    let mut sum = vec![0.0f32; height * width];
    for i in (0..m).step_by(height) {
        for j in (0..n).step_by(width) {
            let (h, w) = (height.min(m - i), width.min(n - j));
            for l in (0..k).step_by(depth) {
                let d = depth.min(k - l);
                // SAFETY: `run` was promised m * k and k * n elements; the blocks lie in the matrices.
                unsafe {
                    widen(format, a.add(i * k + l), k, &mut left, [h, d]);
                    widen(format, b.add(l * n + j), n, &mut right, [d, w]);
                }
                let size = [h, w, d];
                single::gemm(
                    part.as_mut_ptr(),
                    left.as_mut_ptr(),
                    right.as_mut_ptr(),
                    size,
                );
                if l == 0 {
                    std::mem::swap(&mut part, &mut sum);
                } else {
                    for (x, y) in sum.iter_mut().zip(&part[..h * w]) {
                        *x += y;
                    }
                }
            }
            for (row, values) in sum[..h * w].chunks_exact(w).enumerate() {
                // SAFETY: a row of the block of `c`, of m * n elements.
                unsafe { format.narrow(values, c.add((i + row) * n + j)) };
            }
        }
    }
}

/// A block of `size` of a matrix with rows of `stride` elements, as `f32` and dense.
///
/// # Safety
/// The block is valid for reads.
unsafe fn widen(
    format: Format,
    src: *mut u16,
    stride: usize,
    dst: &mut [f32],
    [height, width]: [usize; 2],
) {
    let dst = &mut dst[..height * width];
    let (src, dst) = (Shared(src), Shared(dst.as_mut_ptr()));
    rows(height, width, 6, |range| {
        for row in range {
            // SAFETY: the caller's promise; each row of the vector is written once.
            unsafe {
                let to = std::slice::from_raw_parts_mut(dst.at(row * width), width);
                format.widen(src.at(row * stride), to);
            }
        }
    });
}

/// `y` (m) = `a` (m x k) times `x` (k).
fn matvec(format: Format, y: *mut u16, a: *mut u16, x: *mut u16, [m, k]: [usize; 2]) {
    let (y, a, x) = (Shared(y), Shared(a), Shared(x));
    rows(m, k, 8, |range| {
        let (mut left, mut right) = ([0.0; CHUNK], [0.0; CHUNK]);
        for row in range {
            let mut sum = 0.0;
            for first in (0..k).step_by(CHUNK) {
                let count = CHUNK.min(k - first);
                // SAFETY: `run` was promised m * k and k elements.
                unsafe {
                    format.widen(a.at(row * k + first), &mut left[..count]);
                    format.widen(x.at(first), &mut right[..count]);
                }
                sum += vector::run(Dot {
                    left: left.as_ptr(),
                    right: right.as_ptr(),
                    count,
                });
            }
            // SAFETY: element `row` of m, which no other thread writes.
            unsafe { y.at(row).write(format.bits(sum)) };
        }
    });
}

/// Sum of products.
struct Dot {
    left: *const f32,
    right: *const f32,
    count: usize,
}

impl Work for Dot {
    type Out = f32;
    const WIDE: bool = true;

    #[inline(always)]
    fn run(self) -> f32 {
        let mut lanes = [0.0; BLOCK];
        // SAFETY: `count` elements of both.
        unsafe {
            let left = (self.left, 0.0);
            each_block(
                (left, (self.right, 0.0)),
                self.count,
                |a: [f32; BLOCK], b| {
                    for i in 0..BLOCK {
                        lanes[i] = a[i].mul_add(b[i], lanes[i]);
                    }
                },
            );
        }
        join_lanes(lanes, Sum)
    }
}
