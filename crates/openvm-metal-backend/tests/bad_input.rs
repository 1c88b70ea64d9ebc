//! Each kind of bad input is refused by an error that names the AIR and the number at fault.

mod common;

use std::panic::{catch_unwind, AssertUnwindSafe};

use common::{keccak::keccakf, mixture, params::SMALL, Input, SC};
use openvm_metal_backend::{
    backend::MetalBackend, config::MetalProverConfig, device::MetalDevice,
    engine::BabyBearPoseidon2MetalEngine, kernels::LIBRARY, matrix::MetalMatrix, prelude::F,
    MetalProverError as E,
};
use openvm_metal_common::{Device, MetalBuffer, MetalContext, MetalError};
use openvm_stark_backend::{
    prover::{
        AirProvingContext, ColMajorMatrix, DeviceDataTransporter, DeviceMultiStarkProvingKey,
        MatrixDimensions, ProvingContext,
    },
    test_utils::{FibFixture, InteractionsFixture11, PreprocessedAndCachedFixture, TestFixture},
    StarkEngine, SystemParams,
};
use p3_field::PrimeCharacteristicRing;

type Metal = BabyBearPoseidon2MetalEngine;
type Key = DeviceMultiStarkProvingKey<MetalBackend>;
type Context = ProvingContext<MetalBackend>;

fn small() -> SystemParams {
    SMALL[0].params()
}

fn input(fixture: &impl TestFixture<SC>) -> Input {
    Input {
        airs: fixture.airs(),
        ctx: fixture.generate_proving_ctx(),
    }
}

/// Key and traces on the engine's device.
fn on_device(engine: &Metal, input: &Input) -> (Key, Context) {
    let (pk, _) = engine.keygen(&input.airs);
    let device = engine.device();
    (
        device.transport_pk_to_device(&pk),
        device.transport_proving_ctx_to_device(&input.ctx),
    )
}

/// The error of a proof and its message.
fn refusal(engine: &Metal, pk: &Key, ctx: Context) -> (E, String) {
    let error = engine.prove(pk, ctx).map(|_| ()).expect_err("a refusal");
    let text = error.to_string();
    (error, text)
}

/// A Fibonacci proof whose common main trace has another shape or number of public values.
fn fibonacci(height: usize, width: usize, public: usize) -> (E, String) {
    let engine = Metal::new(small());
    let (pk, _) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
    let s = engine.device().stream().expect("a device");
    let buffer = MetalBuffer::zeroed(s, height * width).expect("memory");
    let trace = MetalMatrix::from_buffer(buffer, height, width);
    let air = AirProvingContext::simple(trace, vec![F::ZERO; public]);
    refusal(&engine, &pk, ProvingContext::new(vec![(0, air)]))
}

/// Preprocessed and two cached columns beside the common main one.
fn committed(engine: &Metal, rows: usize) -> Input {
    let sels = vec![true; rows];
    input(&PreprocessedAndCachedFixture::new(
        sels,
        engine.config().clone(),
        2,
    ))
}

#[track_caller]
fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "'{part}' is not in '{text}'");
    }
}

#[test]
fn height_not_a_power_of_two() {
    for height in [0, 3, 12] {
        let (error, text) = fibonacci(height, 2, 3);
        assert!(matches!(error, E::HeightNotPowerOfTwo { height: h, .. } if h == height));
        contains(
            &text,
            &["AIR 0 (FibonacciAir)", &format!("height {height}")],
        );
    }
}

#[test]
fn height_over_the_maximum() {
    let (error, text) = fibonacci(1 << 11, 2, 3);
    assert!(matches!(error, E::HeightTooLarge { height: 2048, .. }));
    contains(&text, &["AIR 0 (FibonacciAir)", "2048", "2^10"]);
}

#[test]
fn width_that_the_key_does_not_have() {
    for width in [1, 3] {
        let (error, text) = fibonacci(8, width, 3);
        assert!(matches!(error, E::WidthMismatch { width: w, expected: 2, .. } if w == width));
        contains(
            &text,
            &[
                "AIR 0 (FibonacciAir)",
                &format!("{width} columns"),
                "expects 2",
            ],
        );
    }
}

#[test]
fn wrong_number_of_public_values() {
    for values in [0, 2, 4] {
        let (error, text) = fibonacci(8, 2, values);
        assert!(
            matches!(error, E::PublicValuesMismatch { values: v, expected: 3, .. } if v == values)
        );
        contains(
            &text,
            &["AIR 0 (FibonacciAir)", &format!("{values} public values")],
        );
    }
}

#[test]
fn too_many_interactions() {
    let mut params = small();
    params.logup.max_interaction_count = 12;
    let engine = Metal::new(params);
    let (pk, ctx) = on_device(&engine, &input(&InteractionsFixture11));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::TooManyInteractions {
                sum: 12,
                threshold: 12,
                contribution: 8,
                air_id: 1,
                ..
            }
        ),
        "{text}"
    );
    contains(&text, &["12 is not below 12", "contribution 8 from AIR 1"]);
}

#[test]
fn stacked_width_over_w_stack() {
    let mut params = small();
    params.w_stack = 1;
    let engine = Metal::new(params);
    let (pk, ctx) = on_device(&engine, &mixture(8, engine.config()));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(error, E::StackedWidthExceeded { w_stack: 1, .. }),
        "{text}"
    );
    contains(&text, &["w_stack = 1", "the common main traces"]);
}

#[test]
fn committed_traces_over_w_stack() {
    let mut params = small();
    params.w_stack = 3;
    let engine = Metal::new(params);
    let (pk, ctx) = on_device(&engine, &committed(&engine, 8));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::StackedWidthExceeded {
                width: 4,
                w_stack: 3,
                ..
            }
        ),
        "{text}"
    );
}

#[test]
fn key_of_other_parameters() {
    let engine = Metal::new(small());
    let other = Metal::new(SMALL[2].params());
    let (pk, ctx) = on_device(&other, &input(&FibFixture::new(0, 1, 8)));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::Parameters(_)), "{text}");
    contains(&text, &["other system parameters"]);
}

#[test]
fn parameters_that_do_not_fit_together() {
    type Change = fn(&mut SystemParams);
    let base = small();
    let cases: [(&str, Change); 8] = [
        ("l_skip = 7 exceeds", |p| p.l_skip = 7),
        ("two-adicity", |p| (p.n_stack, p.log_blowup) = (22, 4)),
        ("exceed the stacked height", |p| p.whir.k = 9),
        ("at least one round", |p| p.whir.rounds.clear()),
        ("31 bits of LogUp work", |p| p.logup.pow_bits = 31),
        ("64 bits of batching work", |p| p.whir.mu_pow_bits = 64),
        ("40 bits of folding work", |p| p.whir.folding_pow_bits = 40),
        ("31 bits of query work", |p| {
            p.whir.query_phase_pow_bits = 31
        }),
    ];
    for (expected, change) in cases {
        let mut params = base.clone();
        change(&mut params);
        let engine = Metal::new(params);
        let (pk, ctx) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
        let (error, text) = refusal(&engine, &pk, ctx);
        assert!(matches!(error, E::Parameters(_)), "{text}");
        contains(&text, &[expected]);
    }
}

#[test]
fn wrong_number_of_cached_traces() {
    let engine = Metal::new(small());
    let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
    ctx.per_trace[0].1.cached_mains.pop();
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(
        error,
        E::CachedMismatch {
            air_id: 0,
            cached: 1,
            expected: 2,
            ..
        }
    ));
    contains(&text, &["AIR 0 (", "1 cached traces", "expects 2"]);
}

#[test]
fn cached_trace_of_another_height() {
    let engine = Metal::new(small());
    let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
    let (_, mut other) = on_device(&engine, &committed(&engine, 16));
    std::mem::swap(
        &mut ctx.per_trace[0].1.cached_mains[1],
        &mut other.per_trace[0].1.cached_mains[1],
    );
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::HeightMismatch {
                height: 16,
                expected: 8,
                ..
            }
        ),
        "{text}"
    );
    contains(&text, &["AIR 0 (", "cached trace 1 has 16 rows"]);
}

#[test]
fn common_trace_of_another_height_than_the_preprocessed_one() {
    let engine = Metal::new(small());
    let (pk, _) = on_device(&engine, &committed(&engine, 8));
    let (_, ctx) = on_device(&engine, &committed(&engine, 16));
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(
        matches!(
            error,
            E::HeightMismatch {
                height: 8,
                expected: 16,
                ..
            }
        ),
        "{text}"
    );
    contains(&text, &["preprocessed trace has 8 rows", "16"]);
}

#[test]
fn commitment_of_another_cached_trace() {
    let engine = Metal::new(small());
    let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
    ctx.per_trace[0].1.cached_mains[0].commitment = Default::default();
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::CommitmentMismatch { .. }));
    contains(&text, &["AIR 0 (", "cached trace 0"]);
}

#[test]
fn wrong_set_of_airs() {
    let engine = Metal::new(small());
    let fib = input(&FibFixture::new(0, 1, 8));
    let (pk, _) = on_device(&engine, &fib);
    let with = |ids: &[usize]| {
        let air = |&id: &usize| (id, on_device(&engine, &fib).1.per_trace.remove(0).1);
        refusal(
            &engine,
            &pk,
            ProvingContext::new(ids.iter().map(air).collect()),
        )
    };
    assert!(matches!(with(&[]).0, E::NoTraces));
    assert!(matches!(with(&[0, 0]).0, E::DuplicateAir { air_id: 0, .. }));
    let (error, text) = with(&[0, 7]);
    assert!(matches!(
        error,
        E::UnknownAir {
            air_id: 7,
            num_airs: 1
        }
    ));
    contains(&text, &["AIR 7", "1 AIRs"]);

    let (mut pk, _) = on_device(&engine, &input(&FibFixture::new_with_num_airs(0, 1, 8, 2)));
    pk.per_air[1].vk.is_required = true;
    let (_, ctx) = on_device(&engine, &fib);
    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::MissingAir { air_id: 1, .. }));
    contains(&text, &["AIR 1 (FibonacciAir) is required"]);
}

/// An engine with a context of its own, so that nothing else allocates from it.
fn own_context(budget: Option<u64>) -> Metal {
    let context = MetalContext::with_budget(Device::Cpu, &[&LIBRARY], budget).expect("CPU");
    let config = SC::default_from_params(small());
    Metal::from_device(MetalDevice::on_context(config, context))
}

#[test]
fn memory_budget_too_small() {
    let mut config = MetalProverConfig::default();
    config.memory_budget = Some(2 << 20);
    let engine = own_context(None).with_prover_config(config);
    let (pk, ctx) = on_device(&engine, &mixture(8, engine.config()));
    let context = engine.device().stream().expect("CPU").context().clone();
    let before = context.memory().allocations;
    let (error, text) = refusal(&engine, &pk, ctx);
    let E::MemoryBudget { estimate, budget } = error else {
        panic!("{text}");
    };
    assert!(budget == 2 << 20 && estimate.peak() > budget);
    contains(&text, &[&estimate.peak().to_string(), "2097152", "prover."]);
    assert_eq!(context.memory().allocations, before, "work was started");
}

#[test]
fn trace_that_never_reached_the_device() {
    let engine = own_context(Some(4 << 20));
    let (pk, _) = on_device(&engine, &input(&FibFixture::new(0, 1, 8)));
    let rows = 1 << 20;
    let trace = ColMajorMatrix::new(F::zero_vec(2 * rows), 2);
    let trace = engine.device().transport_matrix_to_device(&trace);
    assert_eq!((trace.height(), trace.width()), (rows, 2));
    let air = AirProvingContext::simple(trace, vec![F::ZERO; 3]);
    let (error, text) = refusal(&engine, &pk, ProvingContext::new(vec![(0, air)]));
    let E::Transport(source) = &error else {
        panic!("{text}");
    };
    assert!(
        matches!(**source, E::Device(MetalError::OutOfMemory { .. })),
        "{text}"
    );
    contains(&text, &[&(8 * rows).to_string(), "4194304"]);
}

#[test]
fn constraints_of_a_trace_that_satisfies_them() {
    let engine = Metal::new(SMALL[1].params());
    for input in [
        mixture(6, engine.config()),
        keccakf(1),
        committed(&engine, 8),
    ] {
        let (pk, ctx) = on_device(&engine, &input);
        engine.check_traces(&pk, &ctx).expect("a good trace");
        engine.debug(&input.airs, &ctx);
    }
}

#[test]
fn constraint_violated() {
    let engine = Metal::new(small());
    let mut fib = input(&FibFixture::new(0, 1, 32));
    let trace = &mut fib.ctx.per_trace[0].1.common_main;
    trace.values[32 + 20] += F::ONE;
    let (_, vk) = engine.keygen(&fib.airs);
    let (pk, ctx) = on_device(&engine, &fib);

    let error = engine.check_traces(&pk, &ctx).expect_err("a violation");
    let text = error.to_string();
    assert!(
        matches!(
            error,
            E::ConstraintViolated {
                air_id: 0,
                row: 19,
                ..
            }
        ),
        "{text}"
    );
    contains(
        &text,
        &[
            "AIR 0 (FibonacciAir), row 19: constraint",
            "main'[1]",
            "main[0]",
        ],
    );

    let panic = catch_unwind(AssertUnwindSafe(|| engine.debug(&fib.airs, &ctx)));
    let message = panic
        .expect_err("a panic")
        .downcast::<String>()
        .expect("text");
    assert_eq!(*message, text);

    let proof = engine.prove(&pk, ctx).expect("the prover does not notice");
    engine.verify(&vk, &proof).expect_err("the verifier does");
}

#[test]
fn interactions_that_do_not_balance() {
    let engine = Metal::new(small());
    let mut pair = input(&InteractionsFixture11);
    let sender = &mut pair.ctx.per_trace[0].1.common_main;
    let rows = sender.height();
    // Columns: count, field. One message is sent once more.
    sender.values[2] += F::ONE;
    let field = sender.values[rows + 2];
    let (pk, ctx) = on_device(&engine, &pair);

    let error = engine.check_traces(&pk, &ctx).expect_err("a violation");
    let text = error.to_string();
    let E::BusUnbalanced {
        bus, message, sum, ..
    } = &error
    else {
        panic!("{text}");
    };
    assert_eq!(
        (*bus, message.as_slice(), sum.as_str()),
        (0, &[field.to_string()][..], "1")
    );
    contains(&text, &["AIR 0 (", "row 2: ", "AIR 1 ("]);

    let (error, text) = refusal(&engine, &pk, ctx);
    assert!(matches!(error, E::InteractionsUnbalanced));
    contains(&text, &["check_traces"]);
}
