//! Times the openings phase alone, on the shape of keccakf with production parameters.
//!
//! `bench_openings [LOG_PERMUTATIONS] [LOG_STACKED] [RUNS]`: one trace of `2^(LOG_PERMUTATIONS + 5)` rows and
//! 2633 columns of random cells. The codewords are zeros: no kernel's time depends on them.

use std::{error::Error, sync::Arc, time::Instant};

use openvm_metal_backend::{
    hash::MerkleTreeMetal,
    kernels,
    openings::{
        stacked_reduction::{host_log_rows, prove_stacked_reduction, ReductionPlan, StackedCommit},
        whir::{prove_whir, WhirCommit},
    },
    prelude::{EF, F},
    KeptCodewords, MetalMatrix, MetalProverConfig, MetalSliceOwned, StackedRange,
};
use openvm_metal_common::{Device, MetalBuffer, MetalContext};
use openvm_stark_backend::{
    poly_common::Squarable, prover::stacked_pcs::StackedLayout, FiatShamirTranscript,
};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{default_duplex_sponge, BabyBearPoseidon2Config as SC},
};
use p3_field::PrimeCharacteristicRing;
use rayon::prelude::*;

const WIDTH: usize = 2633;
/// Tables of at most `2^12` elements are finished on the host, where the host samples the challenges.
const HOST_LOG_ROWS: usize = 12;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>());
    let log_permutations = args.next().transpose()?.unwrap_or(10);
    let log_stacked = args.next().transpose()?.unwrap_or(21);
    let runs = args.next().transpose()?.unwrap_or(3);

    let mut params = app_params_with_100_bits_security(log_stacked);
    // Grinding is the transcript's business and is measured with the whole proof.
    params.whir.mu_pow_bits = 0;
    params.whir.folding_pow_bits = 0;
    params.whir.query_phase_pow_bits = 0;
    let ctx = MetalContext::new(Device::from_env()?, &[&kernels::LIBRARY])?;
    let s = ctx.stream();
    println!("{:?}", ctx.info());

    let log_height = log_permutations + 5;
    let layout = StackedLayout::new(params.l_skip, log_stacked, vec![(WIDTH, log_height)])?;
    let (used, all) = (WIDTH << log_height, layout.width() << log_stacked);
    let cells: Vec<F> = (0..used as u64)
        .into_par_iter()
        .map(|i| F::from_u64(i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33))
        .collect();
    let owned = |buffer: MetalBuffer<F>| {
        let len = buffer.len();
        MetalSliceOwned::new(Arc::new(buffer), 0, len)
    };
    let mut ranges = vec![StackedRange {
        start: 0,
        cells: owned(MetalBuffer::from_host(&s, &cells)?),
    }];
    drop(cells);
    if all > used {
        let padding = owned(MetalBuffer::zeroed(&s, all - used)?);
        ranges.push(StackedRange {
            start: used as u64,
            cells: padding,
        });
    }
    let height = 1 << (log_stacked + params.log_blowup);
    let codewords = MetalBuffer::zeroed(&s, layout.width() * height)?;
    let codewords = MetalMatrix::from_buffer(codewords, height, layout.width());
    let (tree, _) = MerkleTreeMetal::<_, SC>::new(&s, codewords, 1 << params.k_whir())?;

    for run in 0..runs {
        s.reset_counters();
        ctx.reset_profile();
        ctx.set_profiling(run + 1 == runs && runs > 1);
        let mut transcript = default_duplex_sponge();
        let mut config = MetalProverConfig::default();
        config.mle_host_log_rows = HOST_LOG_ROWS;
        let mut sample = || FiatShamirTranscript::<SC>::sample_ext(&mut transcript);
        let r: Vec<EF> = (0..=params.n_stack).map(|_| sample()).collect();
        let start = Instant::now();
        let commits = [StackedCommit {
            layout: &layout,
            ranges: &ranges,
            need_rot: &[true],
        }];
        let log_rows = host_log_rows(&s, &config, &transcript);
        let planned = ReductionPlan::new(params.l_skip, params.n_stack, &commits, log_rows)?;
        let planned = planned.upload(&s)?;
        let (_, u) =
            prove_stacked_reduction::<SC, _>(&s, &config, &mut transcript, &planned, &commits, &r)?;
        let reduced = start.elapsed();
        let u: Vec<EF> = u[0]
            .exp_powers_of_2()
            .take(params.l_skip)
            .chain(u[1..].iter().copied())
            .collect();
        let commits = [WhirCommit {
            ranges: &ranges,
            width: layout.width(),
            tree: &tree,
            kept: KeptCodewords::All,
        }];
        prove_whir(
            &s,
            &config,
            &mut transcript,
            params.l_skip,
            params.log_blowup,
            &params.whir,
            &commits,
            &u,
        )?;
        let whir = start.elapsed() - reduced;
        println!(
            "run {run}: stacked reduction {:.1} ms, whir {:.1} ms",
            reduced.as_secs_f64() * 1e3,
            whir.as_secs_f64() * 1e3
        );
    }
    for stage in s.counters().stages {
        println!("{stage:?}");
    }
    for row in ctx.profile()?.rows {
        println!(
            "{:>10.3} ms {:>5} x {} ({})",
            row.total_ns as f64 / 1e6,
            row.calls,
            row.name,
            row.stage
        );
    }
    Ok(())
}
