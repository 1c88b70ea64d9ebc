//! The fractional sumcheck against the reference's, byte for byte.

use openvm_metal_backend::gkr::{fractional_sumcheck, FracLayer};
use openvm_metal_backend::prelude::{EF, F, SC};
use openvm_metal_backend::MetalProverConfig;
use openvm_metal_backend::{kernels, MetalProverError};
use openvm_metal_common::{CommandStream, Device, MetalContext};
use openvm_stark_backend::prover::fractional_sumcheck_gkr::{self as reference, Frac};
use openvm_stark_backend::FiatShamirTranscript;
use openvm_stark_sdk::config::baby_bear_poseidon2::{default_duplex_sponge, DuplexSponge};
use p3_field::{BasedVectorSpace, PrimeCharacteristicRing};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// Gate above every size used here, and the one that leaves most to the device.
const ALL_ON_HOST: usize = 32;
const ALL_ON_DEVICE: usize = 1;

/// Layers of up to `2^host_log_layer` fractions on the host.
fn config(host_log_layer: usize, transcript_on_device: bool) -> MetalProverConfig {
    let mut config = MetalProverConfig::default();
    config.gkr_host_log_layer = host_log_layer;
    config.transcript_on_device = Some(transcript_on_device);
    config
}

fn stream() -> CommandStream {
    let device = Device::from_env().expect("device");
    MetalContext::shared_on(device, &[&kernels::LIBRARY])
        .expect("context")
        .stream()
}

fn conformance_stream() -> CommandStream {
    let device = Device::CpuConformance;
    MetalContext::shared_on(device, &[&kernels::LIBRARY])
        .expect("context")
        .stream()
}

fn random_base(rng: &mut StdRng) -> F {
    F::from_u32(rng.random::<u32>() >> 1)
}

fn random_ext(rng: &mut StdRng) -> EF {
    EF::from_basis_coefficients_fn(|_| random_base(rng))
}

fn fresh_transcript() -> DuplexSponge {
    let mut transcript = default_duplex_sponge();
    FiatShamirTranscript::<SC>::observe(&mut transcript, F::from_u32(7));
    transcript
}

/// Proves both ways and compares everything that the transcript or the caller sees.
fn check(s: &CommandStream, gate: usize, p: &[F], q: &[EF], assert_zero: bool) {
    let context = format!("2^{} leaves, gate {gate}", p.len().trailing_zeros());
    let evals: Vec<_> = p
        .iter()
        .zip(q)
        .map(|(&p, &q)| Frac::new(p.into(), q))
        .collect();
    let mut theirs = fresh_transcript();
    let (expected, expected_xi) =
        reference::fractional_sumcheck::<SC, _>(&mut theirs, &evals, assert_zero)
            .expect("reference");
    let next = FiatShamirTranscript::<SC>::sample(&mut theirs);

    for on_device in [false, true] {
        let context = format!("{context}, transcript on the device: {on_device}");
        let leaves = FracLayer::from_host(s, p, q).expect("leaves");
        let mut ours = fresh_transcript();
        let config = config(gate, on_device);
        let (proof, xi) =
            fractional_sumcheck::<SC, _>(s, &config, &mut ours, Some(leaves), assert_zero)
                .unwrap_or_else(|error| panic!("{context}: {error}"));
        assert_eq!(proof.fractional_sum, expected.fractional_sum, "{context}");
        assert_eq!(
            proof.claims_per_layer, expected.claims_per_layer,
            "{context}"
        );
        assert_eq!(proof.sumcheck_polys, expected.sumcheck_polys, "{context}");
        assert_eq!(xi, expected_xi, "{context}");
        assert_eq!(
            FiatShamirTranscript::<SC>::sample(&mut ours),
            next,
            "{context}"
        );
    }
}

fn random_leaves(rng: &mut StdRng, log_len: usize) -> (Vec<F>, Vec<EF>) {
    let p = (0..1usize << log_len).map(|_| random_base(rng)).collect();
    let q = (0..1usize << log_len).map(|_| random_ext(rng)).collect();
    (p, q)
}

#[test]
fn every_size_and_gate_equals_the_reference() {
    let (s, mut rng) = (stream(), StdRng::seed_from_u64(1));
    for log_len in 1..=14 {
        for gate in [ALL_ON_DEVICE, 2, 3, 5, 9, ALL_ON_HOST] {
            let (p, q) = random_leaves(&mut rng, log_len);
            check(&s, gate, &p, &q, false);
        }
    }
}

#[test]
fn a_large_layer_equals_the_reference() {
    let (s, mut rng) = (stream(), StdRng::seed_from_u64(2));
    let (p, q) = random_leaves(&mut rng, 17);
    check(&s, ALL_ON_DEVICE, &p, &q, false);
    check(
        &s,
        MetalProverConfig::default().gkr_host_log_layer,
        &p,
        &q,
        false,
    );
}

#[test]
fn conformance_equals_the_reference() {
    let (s, mut rng) = (conformance_stream(), StdRng::seed_from_u64(3));
    // With 13, tables of the last rounds that do not fit in threadgroup memory.
    for log_len in [1, 2, 3, 5, 8, 9, 13] {
        let (p, q) = random_leaves(&mut rng, log_len);
        check(&s, ALL_ON_DEVICE, &p, &q, false);
    }
}

/// Sends with multiplicity 1 and receives with the opposite, padded with 0/alpha.
fn balanced_leaves(rng: &mut StdRng, log_len: usize) -> (Vec<F>, Vec<EF>) {
    let alpha = random_ext(rng);
    let (mut p, mut q) = (vec![F::ZERO; 1 << log_len], vec![alpha; 1 << log_len]);
    for i in 0..p.len() * 3 / 8 {
        let (count, message) = (random_base(rng), random_ext(rng));
        (p[i], q[i]) = (count, message);
        let j = p.len() / 2 + i;
        (p[j], q[j]) = (-count, message);
    }
    (p, q)
}

#[test]
fn a_zero_sum_is_not_observed() {
    let (s, mut rng) = (stream(), StdRng::seed_from_u64(4));
    for log_len in [3, 7, 10] {
        let (p, q) = balanced_leaves(&mut rng, log_len);
        for gate in [ALL_ON_DEVICE, 4, ALL_ON_HOST] {
            check(&s, gate, &p, &q, true);
            check(&s, gate, &p, &q, false);
        }
    }
}

#[test]
fn an_unbalanced_sum_is_an_error() {
    let (s, mut rng) = (stream(), StdRng::seed_from_u64(5));
    let (mut p, q) = balanced_leaves(&mut rng, 6);
    p[3] += F::ONE;
    let leaves = FracLayer::from_host(&s, &p, &q).expect("leaves");
    let mut transcript = fresh_transcript();
    let config = config(ALL_ON_DEVICE, false);
    let result = fractional_sumcheck::<SC, _>(&s, &config, &mut transcript, Some(leaves), true);
    assert!(matches!(
        result,
        Err(MetalProverError::InteractionsUnbalanced)
    ));
}

#[test]
fn one_interaction_of_two_rows() {
    let (s, mut rng) = (stream(), StdRng::seed_from_u64(6));
    let message = random_ext(&mut rng);
    check(
        &s,
        ALL_ON_DEVICE,
        &[F::ONE, -F::ONE],
        &[message, message],
        true,
    );
}

#[test]
fn no_interactions() {
    let s = stream();
    let mut transcript = fresh_transcript();
    let config = MetalProverConfig::default();
    let (proof, xi) = fractional_sumcheck::<SC, _>(&s, &config, &mut transcript, None, true)
        .expect("nothing to prove");
    assert_eq!(proof.fractional_sum, (EF::ZERO, EF::ONE));
    assert!(proof.claims_per_layer.is_empty() && proof.sumcheck_polys.is_empty() && xi.is_empty());
    let next = FiatShamirTranscript::<SC>::sample(&mut fresh_transcript());
    assert_eq!(FiatShamirTranscript::<SC>::sample(&mut transcript), next);
}

#[test]
fn leaves_of_a_bad_length_are_refused() {
    let s = stream();
    let one = |n: usize| (vec![F::ONE; n], vec![EF::ONE; n]);
    for n in [1, 3, 6] {
        let (p, q) = one(n);
        let result = FracLayer::from_host(&s, &p, &q);
        assert!(
            matches!(result, Err(MetalProverError::GkrLeaves { .. })),
            "{n} leaves"
        );
    }
    let result = FracLayer::from_host(&s, &one(4).0, &one(8).1);
    assert!(matches!(
        result,
        Err(MetalProverError::GkrLeaves {
            numerators: 4,
            denominators: 8
        })
    ));
}

/// Dispatches and waits of a fractional sumcheck.
fn counted(log_len: usize, gate: usize, transcript_on_device: bool) -> (usize, usize) {
    let (s, mut rng) = (stream(), StdRng::seed_from_u64(7));
    let (p, q) = random_leaves(&mut rng, log_len);
    let leaves = FracLayer::from_host(&s, &p, &q).expect("leaves");
    s.reset_counters();
    fractional_sumcheck::<SC, _>(
        &s,
        &config(gate, transcript_on_device),
        &mut fresh_transcript(),
        Some(leaves),
        false,
    )
    .expect("proof");
    let (mut dispatches, mut waits) = (0, 0);
    for stage in &s.counters().stages {
        dispatches += stage.dispatches as usize;
        waits += stage.waits as usize;
    }
    (dispatches, waits)
}

#[test]
fn rounds_cost_one_dispatch_and_one_wait() {
    let (log_len, gate) = (12, 5);
    // A layer of 2^m nodes, m > gate, has m - gate rounds on the device.
    let rounds: usize = (gate + 1..=log_len).map(|m| m - gate).sum();
    let (layers, build) = (log_len - gate, (log_len - gate).div_ceil(2));
    let (dispatches, waits) = counted(log_len, gate, false);
    assert_eq!(dispatches, rounds + layers + build);
    assert_eq!(waits, rounds + 1);
}

#[test]
fn on_the_devices_transcript_no_layer_is_waited_for() {
    let gate = 5usize;
    for log_len in [12, 14] {
        // Two dispatches for each round until 2^11 rows are left, at least two of them, two for the layer, and one for the first.
        let rounds: usize = (gate + 1..=log_len)
            .map(|m| m.saturating_sub(11).max(2))
            .sum();
        let (layers, build) = (log_len - gate, (log_len - gate).div_ceil(2));
        let (dispatches, waits) = counted(log_len, gate, true);
        assert_eq!(dispatches, 2 * rounds + 2 * layers + 1 + build);
        assert_eq!(waits, 2);
    }
}
