//! The largest buffer of a device: what a proof allocates in one piece is planned, and a proof that needs more
//! is refused before any work.

use openvm_metal_backend::{
    prelude::F, BabyBearPoseidon2MetalEngine, BufferLimit, MetalMatrix, MetalProverConfig,
    MetalProverError as E, PlannedBuffer,
};
use openvm_metal_common::{Device, DeviceProfile, MetalBuffer};
use openvm_stark_backend::{
    prover::{
        AirProvingContext, ColMajorMatrix, DeviceDataTransporter, ProvingContext, TraceCommitter,
    },
    StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::app_params_with_100_bits_security;
use p3_field::PrimeCharacteristicRing;

use super::common::{
    bytes,
    keccak::keccakf,
    mixture, on_profile,
    params::SMALL,
    profile, prove, prove_counted,
    random_input::{random_input, Limits},
    Input, SC,
};

fn engine(
    params: SystemParams,
    name: &str,
    max_buffer: Option<u64>,
    keep: bool,
) -> BabyBearPoseidon2MetalEngine {
    let mut device = profile(name);
    device.max_buffer = max_buffer.unwrap_or(device.max_buffer);
    let mut config = MetalProverConfig::default();
    config.max_kept_codewords = Some(if keep { u64::MAX } else { 0 });
    on_profile(params, Device::Cpu, device, None).with_prover_config(config)
}

/// The largest buffer that is planned, and the largest that a proof takes.
fn largest(params: &SystemParams, name: &str, keep: bool, input: &Input) -> (PlannedBuffer, u64) {
    let engine = engine(params.clone(), name, None, keep);
    let context = engine.device().stream().expect("CPU").context().clone();
    let (pk, _) = engine.keygen(&input.airs);
    let device_pk = engine.device().transport_pk_to_device(&pk);
    let device_ctx = engine.device().transport_proving_ctx_to_device(&input.ctx);
    let estimate = engine
        .memory_estimate(&device_pk, &device_ctx)
        .expect("a good input");
    let planned = *estimate.largest_buffer().expect("buffers");
    prove_counted(&engine, &pk, &input.ctx);
    (planned, context.memory().largest)
}

/// A buffer is rounded up by at most an eighth.
const ROUNDED: f64 = 1.125;
/// Tables that do not grow with the input: those of the last rounds of GKR's layers.
const TABLES: u64 = 96 << 10;

fn check(params: &SystemParams, what: &str, most: f64, input: impl Fn(&SC) -> Input) {
    let input = input(&SC::default_from_params(params.clone()));
    for (name, keep) in [("cpu", true), ("m1-8gb", false), ("h100-80gb", true)] {
        let (planned, needed) = largest(params, name, keep, &input);
        let what = format!("{what}, {name}, codewords kept: {keep}");
        println!("{what}: {} of {needed}, {planned:?}", planned.bytes());
        let ratio = planned.bytes().max(TABLES) as f64 / needed.max(TABLES) as f64;
        assert!(
            (1.0 / ROUNDED..=most).contains(&ratio),
            "{what}: {planned:?}, {needed}"
        );
    }
}

#[test]
fn the_codeword_matrix_is_the_largest_of_wide_traces() {
    let params = app_params_with_100_bits_security(17);
    check(&params, "2^6 permutations", 1.0, |_| keccakf(1 << 6));
}

#[test]
fn interactions_and_tall_stacked_matrices() {
    for (log_stacked, log_height) in [(14, 12), (17, 8)] {
        let params = app_params_with_100_bits_security(log_stacked);
        let what = format!("2^{log_height} rows, stacked height 2^{log_stacked}");
        check(&params, &what, 1.5, |config| mixture(log_height, config));
    }
    let limits = Limits {
        max_airs: 6,
        max_log_height: 8,
        max_width: 12,
        degree: 3,
        buses: 6,
    };
    for seed in 0..3 {
        let what = format!("random input {seed}");
        check(&SMALL[0].params(), &what, 1.5, |config| {
            random_input(seed, config, limits)
        });
    }
}

/// A proof under the smallest limit that its plan allows, and its refusal one byte below.
#[test]
fn the_limit_holds_to_the_byte() {
    let params = app_params_with_100_bits_security(14);
    let input = mixture(11, &SC::default_from_params(params.clone()));
    for name in ["m1-8gb", "cpu"] {
        let planned = largest(&params, name, true, &input).0;
        let mut limit = planned.bytes();
        let mut device: DeviceProfile = profile(name);
        while {
            device.max_buffer = limit;
            !device.has_buffer(planned.bytes())
        } {
            limit += 256;
        }
        let good = engine(params.clone(), name, Some(limit), true);
        let (pk, vk) = good.keygen(&input.airs);
        let proof = prove(&good, &pk, &input.ctx).expect("it fits");
        good.verify(&vk, &proof).expect("a valid proof");
        let plain = engine(params.clone(), "cpu", None, true);
        let expected = prove(&plain, &pk, &input.ctx).expect("no limit");
        assert!(bytes(&proof) == bytes(&expected));

        let bad = engine(params.clone(), name, Some(limit - 256), true);
        let device_pk = bad.device().transport_pk_to_device(&pk);
        let ctx = bad.device().transport_proving_ctx_to_device(&input.ctx);
        let context = bad.device().stream().expect("CPU").context().clone();
        let before = context.memory().allocations;
        let error = bad
            .prove(&device_pk, ctx)
            .map(|_| ())
            .expect_err("a refusal");
        assert_eq!(context.memory().allocations, before, "work was started");
        refused(&error, &planned, limit - 256);
    }
}

#[track_caller]
fn refused(error: &E, planned: &PlannedBuffer, most: u64) {
    let text = error.to_string();
    let E::BufferLimit(BufferLimit { buffer, limit }) = error else {
        panic!("{text}");
    };
    assert_eq!((buffer, *limit), (planned, most));
    let numbers = [planned.rows, planned.columns, planned.bytes(), most].map(|n| n.to_string());
    let words = [planned.stage, planned.what, "smaller segments"];
    for part in numbers.iter().map(String::as_str).chain(words) {
        assert!(text.contains(part), "'{part}' is not in '{text}'");
    }
}

/// Codewords that no buffer of the device holds are hashed by windows, unless all of them are to be kept.
#[test]
fn codewords_larger_than_any_buffer_never_exist_together() {
    let params = app_params_with_100_bits_security(17);
    let input = keccakf(1 << 6);
    let plain = engine(params.clone(), "cpu", None, true);
    let (pk, _) = plain.keygen(&input.airs);
    let expected = prove(&plain, &pk, &input.ctx).expect("no limit");
    for name in ["m1-8gb", "cpu"] {
        // 42 columns of 2^18 rows.
        let code = 42u64 << 20;
        let limit = code / 3 * 2;
        let mut config = MetalProverConfig::default();
        config.max_kept_codewords = Some(0);
        config.constraint_scratch_bytes = 1 << 20;
        let good = engine(params.clone(), name, Some(limit), false).with_prover_config(config);
        let proof = prove(&good, &pk, &input.ctx).expect("it fits");
        assert!(bytes(&proof) == bytes(&expected), "{name}");
        let keeping = engine(params.clone(), name, Some(limit), true);
        let error = prove(&keeping, &pk, &input.ctx).expect_err("a refusal");
        for part in ["the codeword matrix", &code.to_string(), &limit.to_string()] {
            assert!(error.contains(part), "'{part}' is not in '{error}'");
        }
    }
}

#[test]
fn a_trace_larger_than_any_buffer() {
    let engine = engine(SMALL[0].params(), "mac-runner", Some(1 << 20), true);
    let (rows, columns) = (1 << 14, 20);
    let trace = ColMajorMatrix::new(F::zero_vec(rows * columns), columns);
    let trace = engine.device().transport_matrix_to_device(&trace);
    let stack = PlannedBuffer {
        stage: "transport",
        what: "a trace",
        rows: rows as u64,
        columns: columns as u64,
        cell_bytes: 4,
    };
    refused(trace.error().expect("a refusal"), &stack, 1 << 20);
    // The error travels to the proof that needs the trace.
    let (pk, _) = engine.keygen(&keccakf(1).airs);
    let pk = engine.device().transport_pk_to_device(&pk);
    let air = AirProvingContext::simple_no_pis(trace);
    let error = engine
        .prove(&pk, ProvingContext::new(vec![(0, air)]))
        .map(|_| ());
    let text = error.expect_err("a refusal").to_string();
    assert!(text.contains("16384 rows x 20 columns"), "{text}");
}

/// Committing is work of its own: traces are committed before proofs, too.
#[test]
fn a_commitment_larger_than_any_buffer() {
    let params = SMALL[0].params();
    let engine = engine(params.clone(), "m1-8gb", Some(1 << 20), true);
    let s = engine.device().stream().expect("CPU");
    let height = 1usize << params.log_stacked_height();
    let columns = (1 << 18) / height;
    let trace = MetalBuffer::<F>::zeroed(s, height * columns).expect("1 MiB");
    let trace = MetalMatrix::from_buffer(trace, height, columns);
    let before = s.context().memory().allocations;
    let error = engine
        .device()
        .commit(&[&trace])
        .map(|_| ())
        .expect_err("a refusal");
    assert_eq!(s.context().memory().allocations, before, "work was started");
    let code = PlannedBuffer {
        stage: "prover.commit",
        what: "the codeword matrix",
        rows: (height << params.log_blowup) as u64,
        columns: columns as u64,
        cell_bytes: 4,
    };
    refused(&error, &code, 1 << 20);
}
