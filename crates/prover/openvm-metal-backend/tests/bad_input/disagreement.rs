//! Host and device that disagree: about a commitment, or about what the transcript samples.

use std::panic::{catch_unwind, AssertUnwindSafe};

use openvm_metal_backend::{
    gkr::{fractional_sumcheck, FracLayer},
    DuplexSpongeMetal, MetalProverConfig, OpeningPoint,
};
use openvm_stark_backend::{
    prover::{MultiRapProver, OpeningProver, TraceCommitter},
    FiatShamirTranscript,
};
use p3_baby_bear::Poseidon2BabyBear;
use rand::{rngs::StdRng, SeedableRng};

use super::{common::params::Small, *};

/// A cell of a trace that was committed on the host is another when it is brought to the device.
#[test]
fn the_root_of_an_uploaded_commitment_is_compared() {
    let engine = Metal::new(small());
    let mut input = committed(&engine, 8);
    let cached = &mut input.ctx.per_trace[0].1.cached_mains[1];
    let mut data = (*cached.data).clone();
    data.matrix.values[3] += F::ONE;
    cached.data = data.into();
    let (pk, ctx) = on_device(&engine, &input);
    is_not_the_commitment(refusal(&engine, &pk, ctx));

    // A preprocessed trace, whose commitment nothing else compares.
    let input = committed(&engine, 8);
    let (mut pk, _) = engine.keygen(&input.airs);
    let preprocessed = &mut pk.per_air[0].preprocessed_data;
    let mut data = (**preprocessed.as_ref().expect("preprocessed columns")).clone();
    data.matrix.values[3] += F::ONE;
    *preprocessed = Some(data.into());
    let device = engine.device();
    let pk = device.transport_pk_to_device(&pk);
    let ctx = device.transport_proving_ctx_to_device(&input.ctx);
    is_not_the_commitment(refusal(&engine, &pk, ctx));
}

#[track_caller]
fn is_not_the_commitment((error, text): (E, String)) {
    let E::Transport(source) = &error else {
        panic!("{text}");
    };
    assert!(matches!(**source, E::CommitmentMismatch { .. }), "{text}");
    contains(&text, &["committed on the host"]);
}

/// A trace that was committed for another stacked height, or for as many rows with another skip domain.
#[test]
fn commitments_of_other_shapes_are_refused() {
    let engine = Metal::new(small());
    let Small {
        l_skip, n_stack, ..
    } = SMALL[0];
    for (l_skip, n_stack) in [(l_skip, n_stack - 3), (l_skip + 1, n_stack - 1)] {
        let other = Small {
            l_skip,
            n_stack,
            ..SMALL[0]
        };
        let other = Metal::new(other.params());
        let (pk, mut ctx) = on_device(&engine, &committed(&engine, 8));
        let (_, mut of_other) = on_device(&engine, &committed(&other, 8));
        ctx.per_trace[0].1.cached_mains[0] = of_other.per_trace[0].1.cached_mains.remove(0);
        let (error, text) = refusal(&engine, &pk, ctx);
        assert!(matches!(error, E::Parameters(_)), "{text}");
        contains(&text, &["AIR 0 (", "was committed with stacked height"]);
    }
}

/// The host's transcript with a permutation that the device does not have.
fn transcript(engine: &Metal) -> DuplexSpongeMetal {
    let permutation = Poseidon2BabyBear::new_from_rng_128(&mut StdRng::seed_from_u64(1));
    let s = engine.device().stream().expect("a device");
    DuplexSpongeMetal::from(permutation).with_stream(s.clone())
}

/// An engine whose transcript is on the device, and which searches for no witness.
fn on_devices_transcript(small: Small) -> Metal {
    let mut params = small.params();
    params.logup.pow_bits = 0;
    params.whir.mu_pow_bits = 0;
    params.whir.folding_pow_bits = 0;
    params.whir.query_phase_pow_bits = 0;
    let mut config = MetalProverConfig::default();
    config.transcript_on_device = Some(true);
    config.gkr_host_log_layer = 1;
    config.mle_host_log_rows = 0;
    Metal::new(params).with_prover_config(config)
}

#[track_caller]
fn differ<T>(result: Result<T, E>, expected: &str) {
    match result.err() {
        Some(E::TranscriptsDiffer { phase }) => assert_eq!(phase, expected),
        Some(other) => panic!("{expected}: {other}"),
        None => panic!("{expected}: nothing noticed"),
    }
}

/// Proves the constraints of a Fibonacci trace and their openings, each with a transcript of its own.
fn fibonacci_by(
    engine: &Metal,
    rows: usize,
    [constraints, openings]: [&mut DuplexSpongeMetal; 2],
) -> (Result<(), E>, Option<Result<(), E>>) {
    let (pk, ctx) = on_device(engine, &input(&FibFixture::new(0, 1, rows)));
    let device = engine.device();
    let traces = [&ctx.per_trace[0].1.common_main];
    let (_, data) = device.commit(&traces).expect("a commitment");
    let proved = device.prove_rap_constraints(constraints, &pk, &ctx, &data);
    let (_, point): (_, OpeningPoint) = match proved {
        Ok(proved) => proved,
        Err(error) => return (Err(error), None),
    };
    let opened = device.prove_openings(openings, &pk, ctx, data, point);
    (Ok(()), Some(opened.map(|_| ())))
}

/// A host that samples otherwise than the device ends every phase that runs on the device's transcript.
#[test]
fn transcripts_that_differ_are_noticed_in_every_phase() {
    let engine = on_devices_transcript(SMALL[0]);
    let s = engine.device().stream().expect("a device");
    let leaves = || {
        let ones = (vec![F::ONE; 1 << 7], vec![F::ONE.into(); 1 << 7]);
        Some(FracLayer::from_host(s, &ones.0, &ones.1).expect("leaves"))
    };
    let config = engine.device().prover_config();
    let gkr = |transcript: &mut DuplexSpongeMetal| {
        fractional_sumcheck(s, config, transcript, leaves(), false)
    };
    gkr(&mut engine.initial_transcript()).expect("the same transcript");
    differ(gkr(&mut transcript(&engine)), "gkr");

    let (right, wrong) = (|| engine.initial_transcript(), || transcript(&engine));
    let (proved, opened) = fibonacci_by(&engine, 64, [&mut right(), &mut right()]);
    proved.expect("the same transcript");
    opened.expect("a point").expect("the same transcript");
    let (proved, _) = fibonacci_by(&engine, 64, [&mut wrong(), &mut right()]);
    differ(proved, "constraints");
    let (proved, opened) = fibonacci_by(&engine, 64, [&mut right(), &mut wrong()]);
    proved.expect("the same transcript");
    differ(opened.expect("a point"), "openings.stacked_reduction");
}

/// A device that finds a witness for another permutation than the host's.
#[test]
fn a_witness_of_the_device_that_is_none_ends_the_proof() {
    let engine = Metal::new(small());
    for bits in [9, 12] {
        let mut transcript = transcript(&engine);
        let grind = || FiatShamirTranscript::<SC>::grind(&mut transcript, bits);
        let panic = catch_unwind(AssertUnwindSafe(grind)).expect_err("no witness");
        let text = panic.downcast_ref::<&str>().expect("a message");
        contains(text, &["a witness that is none"]);
    }
}
