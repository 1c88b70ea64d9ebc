//! Products of matrices.

use rayon::prelude::*;

use super::math::Float;
use super::parallel::Shared;

/// Multiplications below which one core is faster.
const SMALL: usize = 1 << 20;
/// Rows and columns of the pieces are multiples of this, and no fewer.
const STEP: usize = 32;
/// Most columns of a piece: with more the library is a fifth slower on matrices of 4096 columns.
const MAX_COLUMNS: usize = 512;

/// `c` (m x n) = `a` (m x k) times `b` (k x n), all row-major; no overlap.
pub(super) fn gemm<T: Product>(c: *mut T, a: *mut T, b: *mut T, [m, n, k]: [usize; 3]) {
    if m == 0 || n == 0 {
        return;
    }
    if k == 0 {
        super::map::fill(c, T::ZERO, m * n);
        return;
    }
    let work = m.saturating_mul(n).saturating_mul(k);
    let threads = rayon::current_num_threads();
    if work <= SMALL || threads == 1 {
        // SAFETY: `run` was promised m * k, k * n and m * n elements without overlap.
        unsafe { part(c, a, b, [m, n, k], [k, n]) };
        return;
    }
    let [rows, cols] = piece(m, n, threads);
    let across = n.div_ceil(cols);
    let (c, a, b) = (Shared(c), Shared(a), Shared(b));
    (0..m.div_ceil(rows) * across)
        .into_par_iter()
        .for_each(|index| {
            let (i, j) = (index / across * rows, index % across * cols);
            let size = [rows.min(m - i), cols.min(n - j), k];
            // SAFETY: the piece lies in the matrices, and no other one writes its part of `c`.
            unsafe {
                let (c, a, b) = (c.at(i * n + j), a.at(i * k), b.at(j));
                part(c, a, b, size, [k, n]);
            }
        });
}

/// Rows and columns of pieces that cover m x n, about `pieces` or a multiple: those that read least.
fn piece(m: usize, n: usize, pieces: usize) -> [usize; 2] {
    let along = |extent: usize, parts: usize| extent.div_ceil(parts).next_multiple_of(STEP);
    (1..=pieces)
        .map(|down| {
            let cols = along(n, pieces.div_ceil(down));
            [along(m, down), cols.min(MAX_COLUMNS)]
        })
        .min_by_key(|[rows, cols]| {
            // What the busiest core computes, then what it reads.
            let count = m.div_ceil(*rows) * n.div_ceil(*cols);
            let (rounds, rows, cols) = (count.div_ceil(pieces), *rows.min(&m), *cols.min(&n));
            (rounds * rows * cols, rounds * (rows + cols))
        })
        .unwrap_or([m, n])
}

/// `c` (m x n) = `a` (m x k) times `b` (k x n), parts of row-major matrices: `a` of `columns[0]` columns,
/// `b` and `c` of `columns[1]`.
///
/// # Safety
/// The parts are valid for reads, that of `c` for writes, and it overlaps no other.
unsafe fn part<T: Product>(
    c: *mut T,
    a: *mut T,
    b: *mut T,
    [m, n, k]: [usize; 3],
    columns: [usize; 2],
) {
    // The library works column by column: to it a row-major matrix is the transposed one, so that it gets the factors in
    // the other order.
    let [a_columns, columns] = columns.map(|columns| columns as isize);
    // SAFETY: the caller's promises.
    unsafe { T::product([n, m, k], c, columns, b, columns, a, a_columns) }
}

/// Floats of which the library has products.
pub(super) trait Product: Float {
    /// `c` (m x n) = `a` (m x k) times `b` (k x n), column-major, each with the elements from one column to the next.
    ///
    /// # Safety
    /// The matrices are valid for reads, `c` for writes, and it overlaps no other.
    unsafe fn product(
        size: [usize; 3],
        c: *mut Self,
        c_columns: isize,
        a: *const Self,
        a_columns: isize,
        b: *const Self,
        b_columns: isize,
    );
}

macro_rules! products {
    ($($float:ident $library:ident),*) => {$(
        impl Product for $float {
            unsafe fn product(
                [m, n, k]: [usize; 3],
                c: *mut Self,
                c_columns: isize,
                a: *const Self,
                a_columns: isize,
                b: *const Self,
                b_columns: isize,
            ) {
                let one = gemm_common::Parallelism::None;
                // SAFETY: the caller's promises; strides are not negative.
                unsafe {
                    $library::gemm::$float::get_gemm_fn()(
                        m, n, k, c, c_columns, 1, false, a, a_columns, 1, b, b_columns, 1, 0.0, 1.0,
                        false, false, false, one,
                    );
                }
            }
        }
    )*};
}
products!(f32 gemm_f32, f64 gemm_f64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_and_fit_the_cores() {
        for (m, n) in [
            (1, 1),
            (256, 256),
            (1024, 1024),
            (1, 5000),
            (5000, 1),
            (100, 1999),
        ] {
            for threads in [2, 3, 16] {
                let [rows, cols] = piece(m, n, threads);
                assert!(rows.is_multiple_of(STEP) && cols.is_multiple_of(STEP));
                assert!(cols <= MAX_COLUMNS);
                let rounds = (m.div_ceil(rows) * n.div_ceil(cols)).div_ceil(threads);
                let busiest = rounds * rows.min(m) * cols.min(n);
                assert!(
                    busiest * threads <= 2 * (m + STEP) * (n + STEP),
                    "{m} x {n}"
                );
            }
        }
        assert_eq!(piece(1024, 1024, 16), [256, 256]);
        assert_eq!(piece(256, 256, 16), [64, 64]);
        assert_eq!(piece(1, 4096, 16), [32, 256]);
        assert_eq!(piece(4096, 4096, 16), [2048, 512]);
        assert_eq!(piece(4096, 4096, 2), [4096, 512]);
    }

    /// Sizes for one core and for pieces.
    #[test]
    fn all_ways_give_the_product() {
        for size in [
            [31, 33, 35],
            [150, 130, 170],
            [1, 3000, 700],
            [2100, 1, 600],
            [65, 700, 33],
        ] {
            let [m, n, k] = size;
            let number = |i: usize| (i * 7 % 13) as f64 - 6.0;
            let mut a: Vec<f64> = (0..m * k).map(number).collect();
            let mut b: Vec<f64> = (0..k * n).map(|i| number(i + 5)).collect();
            let mut c = vec![f64::NAN; m * n];
            gemm(c.as_mut_ptr(), a.as_mut_ptr(), b.as_mut_ptr(), size);
            for i in 0..m {
                for j in (i % 3..n).step_by(3) {
                    let sum: f64 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
                    assert_eq!(c[i * n + j], sum, "{size:?} at {i}, {j}");
                }
            }
        }
    }
}
