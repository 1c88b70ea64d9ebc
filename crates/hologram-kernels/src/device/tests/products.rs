//! Products of matrices.

use super::*;

fn products(context: &MetalContext, shapes: &[[u32; 3]]) {
    for ty in FLOATS {
        for &[m, n, k] in shapes {
            // One processor stands for all threads of a tile: halves take the largest tile once.
            let half = ty.calculated() != ty;
            if half && (600..1408).contains(&m) {
                continue;
            }
            let shifts = if half && m >= 600 { 1 } else { 2 };
            for shift in 0..shifts {
                let operation = Operation::Gemm { ty, m, n, k };
                let read = [
                    random(ty, m as usize * k as usize, 7),
                    random(ty, k as usize * n as usize, 8),
                ];
                let (device, _) = on_device(context, &operation, &read, shift);
                let host = on_host(&operation, &read).expect("no fault");
                same(&operation, &device, &host, 1e-5, 2e-6 * f64::from(k));
            }
        }
    }
}

/// No rows, no depth, a vector, and the three tile sizes with whole and cut tiles.
const PRODUCTS: [[u32; 3]; 9] = [
    [0, 3, 3],
    [3, 2, 0],
    [1, 1, 1],
    [5, 1, 77],
    [33, 7, 19],
    [32, 64, 48],
    [600, 1000, 20],
    [1400, 1500, 3],
    [1408, 1536, 17],
];

#[test]
fn gemm() {
    products(&context(), &PRODUCTS);
}

#[test]
fn gemm_with_barriers() {
    products(&conformance(), &PRODUCTS[..6]);
    // The largest tile: as many threads as it was made for.
    products(&conformance(), &[[1408, 1409, 18]]);
}
