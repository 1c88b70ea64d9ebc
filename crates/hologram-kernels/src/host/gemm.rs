//! Products of matrices.

use super::math::Float;

/// Multiplications below which one core is faster.
const SMALL: usize = 1 << 18;

/// `c` (m x n) = `a` (m x k) times `b` (k x n), all row-major; no overlap.
pub(super) fn gemm<T: Float>(c: *mut T, a: *mut T, b: *mut T, [m, n, k]: [usize; 3]) {
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        super::map::fill(c, T::ZERO, m * n);
        return;
    }
    let work = m.saturating_mul(n).saturating_mul(k);
    let parallelism = if work > SMALL {
        gemm::Parallelism::Rayon(0)
    } else {
        gemm::Parallelism::None
    };
    // SAFETY: `run` was promised m * k, k * n and m * n elements without overlap; strides are those of
    // row-major matrices. The crate asks for an uninterpreted type that is `f32` or `f64`.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            c,
            1,
            n as isize,
            false,
            a.cast_const(),
            1,
            k as isize,
            b.cast_const(),
            1,
            n as isize,
            T::ZERO,
            T::ONE,
            false,
            false,
            false,
            parallelism,
        );
    }
}
