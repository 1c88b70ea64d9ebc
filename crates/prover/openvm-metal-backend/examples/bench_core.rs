//! Rates of row hashing and of the batched NTT on one device, beside Plonky3 on the same machine.
//!
//! `OPENVM_METAL_DEVICE=cpu RAYON_NUM_THREADS=1 cargo run --release --example bench_core`: built with
//! `RUSTFLAGS=-Ctarget-cpu=native` the comparison is with Plonky3's packed implementation at its best.
//! Each figure is the median of warm runs.

use std::{hint::black_box, time::Duration, time::Instant};

use openvm_metal_backend::{
    hash::MerkleTreeMetal,
    kernels,
    ntt::{ntt_batch, rs_encode, NttDirection},
    params::MerkleLeafParams,
    prelude::{Digest, EF, F, SC},
    MetalMatrix,
};
use openvm_metal_common::{CommandStream, Device, Grid, MetalBuffer, MetalContext};
use p3_baby_bear::default_babybear_poseidon2_16;
use p3_dft::{Radix2DitParallel, TwoAdicSubgroupDft};
use p3_field::{Field, PackedValue, PrimeCharacteristicRing};
use p3_matrix::dense::RowMajorMatrix;
use p3_symmetric::Permutation;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;
const RUNS: usize = 7;

fn median(mut run: impl FnMut() -> Result<Duration>) -> Result<f64> {
    run()?;
    let mut times = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        times.push(run()?.as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[RUNS / 2])
}

fn random(n: usize) -> Vec<F> {
    let mut seed = 1u64;
    let mut word = || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        F::from_u32((seed >> 33) as u32)
    };
    (0..n).map(|_| word()).collect()
}

fn main() -> Result<()> {
    let context = MetalContext::shared_on(Device::from_env()?, &[&kernels::LIBRARY])?;
    println!("{}", context.info());
    let s = context.stream();
    let cpu = !context.device_profile().many_core();
    row_hash(&s, if cpu { 16 } else { 20 }, cpu)?;
    tree(&s, if cpu { 14 } else { 20 })?;
    dft(&s, 20, if cpu { 64 } else { 128 }, cpu)?;
    if !cpu {
        codewords(&s, 21, 42)?;
    }
    Ok(())
}

/// 2^log_rows rows of 16 columns: two permutations each.
fn row_hash(s: &CommandStream, log_rows: u32, peer: bool) -> Result<()> {
    let rows = 1usize << log_rows;
    let host = random(rows * 16);
    let matrix = MetalBuffer::from_host(s, &host)?;
    let mut digests = MetalBuffer::<Digest>::uninit(s.context(), rows)?;
    let p = MerkleLeafParams {
        height: rows as u64,
        threads: rows as u32,
        width: 16,
        log_stride: log_rows,
        log_fold: 0,
    };
    let time = median(|| {
        Ok(s.time(|| {
            kernels::merkle_leaves_base(s, Grid::threads(rows), &matrix, &mut digests, &p)
        })?)
    })?;
    let ours = 2.0 * rows as f64 / time / 1e6;
    println!(
        "row hash 2^{log_rows} x 16: {:.3} ms, {ours:.2} M permutations/s",
        time * 1e3
    );
    if !peer {
        return Ok(());
    }
    type P = <F as Field>::Packing;
    let perm = default_babybear_poseidon2_16();
    let mut out = vec![[F::ZERO; 8]; rows];
    let time = median(|| {
        let start = Instant::now();
        for r in (0..rows).step_by(P::WIDTH) {
            let mut state = [P::ZERO; 16];
            for block in 0..2 {
                for (i, x) in state.iter_mut().take(8).enumerate() {
                    *x = *P::from_slice(&host[(block * 8 + i) * rows + r..][..P::WIDTH]);
                }
                perm.permute_mut(&mut state);
            }
            for (lane, digest) in out[r..r + P::WIDTH].iter_mut().enumerate() {
                *digest = std::array::from_fn(|i| state[i].as_slice()[lane]);
            }
        }
        Ok(start.elapsed())
    })?;
    let theirs = 2.0 * rows as f64 / time / 1e6;
    let share = 100.0 * ours / theirs;
    let width = P::WIDTH;
    println!(
        "  Plonky3, {width} lanes, one thread: {theirs:.2} M permutations/s; ours is {share:.0}%"
    );
    assert_eq!(out, digests.to_host(s)?);
    Ok(())
}

/// A whole Merkle tree, 64 columns, 16 rows in a leaf, and one over 16 extension columns.
fn tree(s: &CommandStream, log_rows: u32) -> Result<()> {
    let rows = 1usize << log_rows;
    let base = MetalMatrix::from_buffer(MetalBuffer::from_host(s, &random(rows * 64))?, rows, 64);
    let ext = MetalMatrix::<EF>::from_buffer(
        MetalBuffer::from_host(s, &random(rows * 64))?.cast::<EF>()?,
        rows,
        16,
    );
    let start = || Instant::now();
    let time = median(|| {
        let start = start();
        let _ = black_box(MerkleTreeMetal::<_, SC>::new(s, base.clone(), 16)?);
        Ok(start.elapsed())
    })?;
    println!(
        "tree 2^{log_rows} x 64, 16 rows in a leaf: {:.3} ms with the wait",
        time * 1e3
    );
    let time = median(|| {
        let start = start();
        let _ = black_box(MerkleTreeMetal::<_, SC>::new(s, ext.clone(), 16)?);
        Ok(start.elapsed())
    })?;
    println!(
        "tree 2^{log_rows} x 16 (ext), 16 rows in a leaf: {:.3} ms with the wait",
        time * 1e3
    );
    Ok(())
}

fn dft(s: &CommandStream, log_n: usize, cols: usize, peer: bool) -> Result<()> {
    let host = random(cols << log_n);
    let mut data = MetalBuffer::from_host(s, &host)?;
    let forward = NttDirection::Forward;
    let ours = median(|| {
        Ok(s.time(|| {
            ntt_batch(
                s,
                &mut data.as_slice_mut(),
                log_n,
                cols,
                1 << log_n,
                forward,
            )
        })?)
    })?;
    let rate = (cols << log_n) as f64 * log_n as f64 / 2.0 / ours / 1e9;
    println!(
        "NTT 2^{log_n} x {cols}: {:.2} ms, {rate:.2} G butterflies/s",
        ours * 1e3
    );
    if peer {
        let dft = Radix2DitParallel::<F>::default();
        let theirs = median(|| {
            let matrix = RowMajorMatrix::new(host.clone(), cols);
            let start = Instant::now();
            black_box(dft.dft_batch(matrix));
            Ok(start.elapsed())
        })?;
        let share = 100.0 * theirs / ours;
        println!(
            "  Plonky3 Radix2DitParallel: {:.2} ms; ours is {share:.0}%",
            theirs * 1e3
        );
    }
    Ok(())
}

/// Inverse transform of 2^log_h, zero padding, forward transform of twice the size.
fn codewords(s: &CommandStream, log_h: usize, cols: usize) -> Result<()> {
    let n = 2usize << log_h;
    let mut data = MetalBuffer::<F>::zeroed(s, n * cols)?;
    let inverse = median(|| {
        Ok(s.time(|| {
            ntt_batch(
                s,
                &mut data.as_slice_mut(),
                log_h,
                cols,
                n,
                NttDirection::Inverse,
            )
        })?)
    })?;
    let forward = median(|| Ok(s.time(|| rs_encode(s, data.as_slice_mut(), log_h, 1, cols))?))?;
    // At least: the message read and written once by the inverse, read once by the forward
    // transform, which writes the codeword once.
    let floor = (cols * (3 * n / 2 + n) * 4) as f64;
    let total = inverse + forward;
    println!(
        "NTT 2^{log_h} -> 2^{} x {cols}: {:.3} ms (inverse {:.3}, forward {:.3}); floor {:.2} GB = {:.0} GB/s",
        log_h + 1,
        total * 1e3,
        inverse * 1e3,
        forward * 1e3,
        floor / 1e9,
        floor / total / 1e9,
    );
    Ok(())
}
