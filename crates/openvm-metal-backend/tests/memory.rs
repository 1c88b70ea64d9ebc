//! The estimate that a proof is refused by, against what proofs need.

mod common;

use common::{
    keccak::keccakf,
    mixture,
    params::SMALL,
    prove_counted_on,
    random_input::{random_input, Limits},
    HostContext, Input, SC,
};
use openvm_metal_backend::{
    device::MetalDevice, engine::BabyBearPoseidon2MetalEngine, kernels::LIBRARY,
};
use openvm_metal_common::{Device, MetalContext};
use openvm_stark_backend::{prover::DeviceDataTransporter, StarkEngine, SystemParams};
use openvm_stark_sdk::config::app_params_with_100_bits_security;

/// Proves on a context of its own and compares the peak with the estimate.
fn check(params: SystemParams, what: &str, input: impl Fn(&SC) -> Input) {
    let context = MetalContext::new(Device::Cpu, &[&LIBRARY]).expect("CPU");
    let config = SC::default_from_params(params);
    let input = input(&config);
    let device = MetalDevice::on_context(config, context);
    let engine = BabyBearPoseidon2MetalEngine::from_device(device);
    let (pk, _) = engine.keygen(&input.airs);
    let pk = engine.device().transport_pk_to_device(&pk);
    let ctx = engine.device().transport_proving_ctx_to_device(&input.ctx);
    let estimate = engine.memory_estimate(&pk, &ctx).expect("a good input");
    let (_, counters) = prove_counted_on(&engine, &pk, ctx);
    let peak = counters.total().peak_bytes;
    let ratio = estimate.peak() as f64 / peak as f64;
    println!("{what}: {} of {peak} bytes, {ratio:.3}", estimate.peak());
    assert!(
        (1.0..=1.5).contains(&ratio),
        "{what}: {} estimated, {peak} needed; {estimate}",
        estimate.peak()
    );
}

#[test]
fn keccakf_of_growing_size() {
    for log in 6..=9 {
        let what = format!("2^{log} permutations");
        check(app_params_with_100_bits_security(17), &what, |_| {
            keccakf(1 << log)
        });
    }
}

/// Bound by interactions, and by openings where the stacked matrix is much taller than the traces.
#[test]
fn mixtures_of_airs() {
    for (log_stacked, log_height) in [(14, 12), (16, 13), (19, 8)] {
        let what = format!("2^{log_height} rows, stacked height 2^{log_stacked}");
        check(
            app_params_with_100_bits_security(log_stacked),
            &what,
            |config| mixture(log_height, config),
        );
    }
}

/// AIRs with programs, tables and committed traces of their own.
#[test]
fn many_airs() {
    check(SMALL[8].params(), "many AIRs", |config| {
        let limits = Limits {
            max_airs: 4,
            max_log_height: 10,
            max_width: 12,
            degree: 2,
            buses: 6,
        };
        let (mut airs, mut traces) = (vec![], vec![]);
        for seed in 0..20 {
            let input = random_input(seed, config, limits);
            airs.extend(input.airs);
            traces.extend(input.ctx.per_trace.into_iter().map(|(_, trace)| trace));
        }
        Input {
            airs,
            ctx: HostContext::new(traces.into_iter().enumerate().collect()),
        }
    });
}
