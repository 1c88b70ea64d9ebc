//! Time of the fractional sumcheck on one device.
//!
//! `OPENVM_METAL_DEVICE=cuda cargo run --release --example bench_gkr -- [min log] [max log] [gate]`:
//! for each number of leaves, with the transcript on the host and on the device, the median of warm runs, the time of the
//! tree, dispatches, waits, peak memory. Leaves have base-field numerators.

use std::time::Instant;

use openvm_metal_backend::gkr::{fractional_sumcheck, FracLayer};
use openvm_metal_backend::kernels;
use openvm_metal_backend::prelude::{EF, F};
use openvm_metal_backend::MetalProverConfig;
use openvm_metal_common::{CommandStream, Device, MetalContext};
use openvm_stark_sdk::config::baby_bear_poseidon2::default_duplex_sponge;
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};

const RUNS: usize = 7;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>());
    let min = args.next().transpose()?.unwrap_or(16);
    let max = args.next().transpose()?.unwrap_or(20);
    let gate = args
        .next()
        .transpose()?
        .unwrap_or(MetalProverConfig::default().gkr_host_log_layer);
    let context = MetalContext::shared_on(Device::from_env()?, &[&kernels::LIBRARY])?;
    println!("{}, gate 2^{gate}", context.info());
    println!("log  transcript   total ms   tree ms   wait ms  dispatches  waits  peak MiB");
    for log_len in min..=max {
        let s = context.stream();
        let mut seed = 1u32;
        let mut word = || {
            seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
            F::from_u32(seed >> 1)
        };
        let p: Vec<F> = (0..1usize << log_len).map(|_| word()).collect();
        let q: Vec<EF> = (0..1usize << log_len)
            .map(|_| EF::from_basis_coefficients_fn(|_| word()))
            .collect();
        for (place, on_device) in [("host", false), ("device", true)] {
            let mut times = Vec::with_capacity(RUNS);
            for _ in 0..=RUNS {
                times.push(run(&s, gate, on_device, &p, &q)?);
            }
            times.remove(0);
            times.sort_by(f64::total_cmp);
            let counters = s.counters();
            let (mut dispatches, mut waits, mut tree, mut wait, mut peak) = (0, 0, 0, 0, 0);
            for stage in &counters.stages {
                dispatches += stage.dispatches;
                waits += stage.waits;
                wait += stage.wait_ns;
                peak = peak.max(stage.peak_bytes);
                if stage.stage.ends_with("tree") {
                    tree += stage.wall_ns;
                }
            }
            println!(
                "{log_len:3}  {place:10} {:10.3} {:9.3} {:9.3} {dispatches:11} {waits:6} {:9.1}",
                times[RUNS / 2],
                tree as f64 / 1e6,
                wait as f64 / 1e6,
                peak as f64 / (1 << 20) as f64,
            );
        }
    }
    Ok(())
}

/// Milliseconds of one proof; the counters are those of this run.
fn run(
    s: &CommandStream,
    gate: usize,
    on_device: bool,
    p: &[F],
    q: &[EF],
) -> Result<f64, Box<dyn std::error::Error>> {
    let leaves = FracLayer::from_host(s, p, q)?;
    s.wait()?;
    s.reset_counters();
    let mut config = MetalProverConfig::default();
    config.gkr_host_log_layer = gate;
    config.transcript_on_device = Some(on_device);
    let mut transcript = default_duplex_sponge();
    let start = Instant::now();
    let proof = fractional_sumcheck::<openvm_metal_backend::prelude::SC, _>(
        s,
        &config,
        &mut transcript,
        Some(leaves),
        false,
    )?;
    let time = start.elapsed().as_secs_f64() * 1e3;
    std::hint::black_box(proof);
    Ok(time)
}
