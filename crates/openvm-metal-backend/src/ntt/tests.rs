use openvm_metal_common::{CommandStream, Device, MetalBuffer, MetalContext};
use openvm_stark_backend::p3_matrix::dense::RowMajorMatrix;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use rand::{rngs::StdRng, Rng, SeedableRng};

use super::*;
use crate::kernels;

fn stream() -> CommandStream {
    let device = Device::from_env().unwrap();
    MetalContext::shared_on(device, &[&kernels::LIBRARY])
        .unwrap()
        .stream()
}

fn dft(column: &[F]) -> Vec<F> {
    Radix2DitParallel::default().dft(column.to_vec())
}

fn dft_ext(column: &[EF]) -> Vec<EF> {
    let flat: Vec<F> = column
        .iter()
        .flat_map(|x| x.as_basis_coefficients_slice().to_vec())
        .collect();
    let out = Radix2DitParallel::default().dft_batch(RowMajorMatrix::new(flat, 4));
    let out = p3_matrix::Matrix::to_row_major_matrix(out).values;
    out.chunks(4)
        .map(|c| EF::from_basis_coefficients_slice(c).unwrap())
        .collect()
}

#[test]
fn codewords_equal_the_reference() {
    let s = stream();
    let mut rng = StdRng::seed_from_u64(3);
    for (log_h, log_blowup, cols) in [
        (1, 1, 3),
        (3, 1, 17),
        (0, 3, 2),
        (7, 1, 40),
        (8, 1, 3),
        (5, 4, 2),
        (9, 3, 5),
        (13, 1, 3),
        (2, 10, 1),
        (10, 9, 1),
        (16, 1, 2),
        (17, 1, 1),
        (12, 6, 1),
    ] {
        let (n, h) = (1usize << (log_h + log_blowup), 1usize << log_h);
        let host: Vec<F> = (0..n * cols).map(|_| rng.random()).collect();
        let mut code = MetalBuffer::from_host(&s, &host).unwrap();
        rs_encode(&s, &mut code, log_h, log_blowup, cols).unwrap();
        let code = code.to_host(&s).unwrap();
        for j in 0..cols {
            let mut message = host[j * n..j * n + h].to_vec();
            message.resize(n, F::ZERO);
            assert!(
                code[j * n..(j + 1) * n] == dft(&message),
                "2^{log_h} + {log_blowup}, column {j}"
            );
        }
        let host: Vec<EF> = (0..n * cols).map(|_| rng.random()).collect();
        let mut code = MetalBuffer::from_host(&s, &host).unwrap();
        rs_encode_ext(&s, &mut code, log_h, log_blowup, cols).unwrap();
        let code = code.to_host(&s).unwrap();
        for j in 0..cols {
            let mut message = host[j * n..j * n + h].to_vec();
            message.resize(n, EF::ZERO);
            assert!(
                code[j * n..(j + 1) * n] == dft_ext(&message),
                "ext 2^{log_h} + {log_blowup}, column {j}"
            );
        }
    }
}

#[test]
fn transforms_invert_each_other() {
    let s = stream();
    let mut rng = StdRng::seed_from_u64(4);
    for (log_n, cols, gap) in [
        (0, 3, 0),
        (1, 2, 1),
        (4, 33, 0),
        (8, 5, 8),
        (9, 4, 0),
        (12, 3, 64),
        (17, 1, 0),
    ] {
        let stride = (1usize << log_n) + gap;
        let host: Vec<F> = (0..stride * cols).map(|_| rng.random()).collect();
        let mut data = MetalBuffer::from_host(&s, &host).unwrap();
        let forward = NttDirection::Forward;
        ntt_batch(&s, &mut data.as_slice_mut(), log_n, cols, stride, forward).unwrap();
        let image = data.to_host(&s).unwrap();
        for j in 0..cols {
            let range = j * stride..j * stride + (1 << log_n);
            assert!(
                image[range.clone()] == dft(&host[range]),
                "2^{log_n}, column {j}"
            );
            let between = j * stride + (1 << log_n)..(j + 1) * stride;
            assert!(image[between.clone()] == host[between]);
        }
        let inverse = NttDirection::Inverse;
        ntt_batch(&s, &mut data.as_slice_mut(), log_n, cols, stride, inverse).unwrap();
        assert!(data.to_host(&s).unwrap() == host, "2^{log_n}");
    }
}

#[test]
fn transposition() {
    let s = stream();
    for (rows, cols) in [(1, 1), (5, 70), (64, 33), (256, 100)] {
        let host: Vec<F> = (0..rows * cols).map(F::from_usize).collect();
        let input = MetalBuffer::from_host(&s, &host).unwrap();
        let mut out = MetalBuffer::zeroed(&s, rows * cols).unwrap();
        transpose(&s, &input.as_slice(), &mut out.as_slice_mut(), rows, cols).unwrap();
        let out = out.to_host(&s).unwrap();
        assert!((0..rows * cols).all(|i| out[i] == host[(i % rows) * cols + i / rows]));
    }
}
