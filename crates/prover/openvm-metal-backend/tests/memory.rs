//! The estimate that a proof is refused by, against what proofs need, on devices that keep all codewords and on
//! those that drop some.

mod common;

use common::{
    keccak::keccakf,
    mixture, on_profile,
    params::SMALL,
    profile, prove_counted_on,
    random_input::{random_input, Limits},
    HostContext, Input, SC,
};
use openvm_metal_backend::{
    ConstraintKernels, KeptCodewords, MemoryEstimate, MetalProverConfig, MetalProverError,
};
use openvm_metal_common::{Device, DeviceProfile};
use openvm_stark_backend::{
    codec::Encode, prover::DeviceDataTransporter, StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::app_params_with_100_bits_security;

/// Devices with and without caches, and the bytes of codewords that the GPUs keep.
fn devices(most: u64) -> [(DeviceProfile, Option<u64>); 3] {
    [
        ("cpu", None),
        ("m1-8gb", Some(most)),
        ("h100-80gb", Some(most)),
    ]
    .map(|(name, most)| (profile(name), most))
}

/// Codewords that the devices of these tests keep at most, and scratch for constraints that is as small.
const SMALL_CODE: u64 = 1 << 20;

/// Proves on contexts of their own and compares the peaks with the estimate.
fn check(params: SystemParams, what: &str, input: impl Fn(&SC) -> Input) {
    let input = input(&SC::default_from_params(params.clone()));
    for (device, max_kept_codewords) in devices(SMALL_CODE) {
        let what = format!("{what}, {}, {max_kept_codewords:?} kept", device.name);
        let mut config = MetalProverConfig::default();
        config.max_kept_codewords = max_kept_codewords;
        config.constraint_kernels = ConstraintKernels::Interpreted;
        config.constraint_scratch_bytes = SMALL_CODE;
        let engine =
            on_profile(params.clone(), Device::Cpu, device, None).with_prover_config(config);
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
}

/// A proof that does not fit with all of its codewords drops as many as it has to, and never has those together. Its bytes stay the
/// same, and it needs no more than is planned. Below the least budget it is refused before any work.
#[test]
fn a_budget_may_be_as_small_as_the_estimate_without_codewords_and_the_pools_overhead() {
    let params = app_params_with_100_bits_security(16);
    let input = keccakf(1 << 5);
    for (device, max_kept_codewords) in devices(SMALL_CODE) {
        let mut config = MetalProverConfig::default();
        config.max_kept_codewords = max_kept_codewords;
        config.constraint_kernels = ConstraintKernels::Interpreted;
        config.constraint_scratch_bytes = SMALL_CODE;
        let engine = |budget| {
            on_profile(params.clone(), Device::Cpu, device.clone(), budget)
                .with_prover_config(config.clone())
        };
        let estimate = |budget| {
            let engine = engine(budget);
            let (pk, _) = engine.keygen(&input.airs);
            let pk = engine.device().transport_pk_to_device(&pk);
            let ctx = engine.device().transport_proving_ctx_to_device(&input.ctx);
            let estimate = engine.memory_estimate(&pk, &ctx);
            estimate.expect("a good input")
        };
        let try_with = |budget| {
            let engine = engine(Some(budget));
            let (pk, _) = engine.keygen(&input.airs);
            let pk = engine.device().transport_pk_to_device(&pk);
            let ctx = engine.device().transport_proving_ctx_to_device(&input.ctx);
            let context = engine.device().stream().expect("CPU").context().clone();
            let before = context.memory();
            let tight = engine.memory_estimate(&pk, &ctx);
            let tight = tight.is_ok_and(|estimate| matches!(estimate.kept, KeptCodewords::Last(_)));
            let prove = |ctx| {
                let proof = engine.prove(&pk, ctx);
                proof.map(|proof| proof.encode_to_vec().unwrap())
            };
            let mut result = prove(ctx);
            let memory = context.memory();
            let allocations = memory.allocations - before.allocations;
            if tight && result.is_ok() {
                let ctx = engine.device().transport_proving_ctx_to_device(&input.ctx);
                // Traces between free blocks would be missing in the next one.
                let memory = context.memory();
                assert!(memory.reserved <= before.reserved, "{memory:?}");
                let again = prove(ctx);
                match (&result, again) {
                    (Ok(first), Ok(again)) => assert!(*first == again),
                    (_, again) => result = again,
                }
            }
            (result, memory.peak, allocations)
        };
        let all = estimate(None).peak();
        let least = estimate(Some(MemoryEstimate::POOL_OVERHEAD + all / 2));
        assert_eq!(least.kept, KeptCodewords::Last(0));
        let least = least.peak();
        let part = least + (all - least) / 3 * 2;
        let kept = estimate(Some(MemoryEstimate::POOL_OVERHEAD + part)).kept;
        assert!(matches!(kept, KeptCodewords::Last(8..)), "{kept:?}");
        println!("{}: {least} of {all} bytes", device.name);
        assert!(least < all / 4 * 3, "{}: {least} of {all}", device.name);
        let proofs = [all, part, least].map(|bytes| {
            let (result, peak, _) = try_with(bytes + MemoryEstimate::POOL_OVERHEAD);
            assert!(peak <= bytes, "{}: {peak} of {bytes}", device.name);
            result.unwrap_or_else(|error| panic!("{}, {bytes}: {error}", device.name))
        });
        assert!(
            proofs.iter().all(|proof| *proof == proofs[0]),
            "{}",
            device.name
        );
        let (result, _, allocations) = try_with(least + MemoryEstimate::POOL_OVERHEAD - 1);
        let error = result.expect_err("a refusal");
        assert!(
            matches!(error, MetalProverError::MemoryBudget { .. }),
            "{error}"
        );
        assert_eq!(allocations, 0, "{}: work was started", device.name);
    }
}

#[test]
fn keccakf_of_growing_size() {
    for log in [5, 7] {
        let what = format!("2^{log} permutations");
        check(app_params_with_100_bits_security(17), &what, |_| {
            keccakf(1 << log)
        });
    }
}

/// Bound by interactions, and by openings where the stacked matrix is much taller than the traces.
#[test]
fn mixtures_of_airs() {
    for (log_stacked, log_height) in [(14, 12), (16, 13), (18, 8)] {
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
