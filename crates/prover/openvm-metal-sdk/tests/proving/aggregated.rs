//! Segments, leaves, internal nodes: one proof that OpenVM's own verifier accepts.

use std::sync::{
    atomic::{AtomicBool, Ordering},
    Mutex,
};

use openvm_metal_sdk::{verify_app, Event, Progress, ProveOptions, SdkError};
use openvm_sdk::Sdk as StockSdk;
use openvm_stark_backend::proof::Proof;
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2Config as SC, EF};
use p3_field::PrimeCharacteristicRing;

use crate::{
    guest::{elf, sum, sums},
    setup::{input, sdk},
};

#[derive(Default)]
struct Log(Mutex<Vec<String>>);

impl Progress for Log {
    fn event(&self, event: Event<'_>) {
        self.0.lock().unwrap().push(format!("{event:?}"));
    }
}

/// Proves with so many segments in flight and checks what a user can see.
fn prove(n: u32, in_flight: usize) {
    let log = Log::default();
    let options = ProveOptions::default()
        .with_progress(&log)
        .with_in_flight(in_flight);
    let proved = sdk().prove(elf(&sums(n)), input(), &options).unwrap();

    let report = &proved.report;
    let per_round = 5;
    assert_eq!(report.instructions, u64::from(per_round * n) + 4 + 9);

    // The commitments are those that the stock SDK computes, and its verifier accepts the proof.
    let stock = StockSdk::verify_proof(
        sdk().agg_vk().unwrap().as_ref().clone(),
        proved.baseline.clone(),
        &proved.proof,
    );
    stock.unwrap();

    let revealed = &proved.public_values;
    assert_eq!(revealed[..4], sum(n).to_le_bytes());
    assert_eq!(revealed[4..8], [1, 2, 3, 4]);

    let log = log.0.into_inner().unwrap();
    let told = |text: &str| log.iter().filter(|e| e.starts_with(text)).count();
    for segment in 0..report.segments {
        for what in ["SegmentExecuted", "SegmentTraced", "SegmentProved"] {
            assert_eq!(told(&format!("{what} {{ segment: {segment},")), 1);
        }
    }
    // Two proofs below each node, as the stock SDK groups them; then one more node over the last.
    let mut nodes = report.segments;
    let mut layer = 0;
    while layer < 3 || nodes > 1 {
        nodes = nodes.div_ceil(2);
        let name = match layer {
            0 => "leaf".to_owned(),
            1 => "internal_for_leaf".to_owned(),
            _ => format!("internal_recursive.{}", layer - 2),
        };
        assert_eq!(
            told(&format!("NodeProved {{ layer: {name:?},")),
            nodes,
            "{name}"
        );
        layer += 1;
    }
    let last = format!("NodeProved {{ layer: \"internal_recursive.{}\",", layer - 2);
    assert_eq!(told(&last), 1);
    assert_eq!(
        log.iter().filter(|e| e.starts_with("NodeProved")).count(),
        {
            let (mut all, mut nodes) = (1, report.segments);
            for _ in 0..layer {
                nodes = nodes.div_ceil(2);
                all += nodes;
            }
            all
        }
    );
    assert_eq!(log.last().unwrap(), "Verified");
}

#[test]
fn many_segments_become_one_proof() {
    prove(1900, 3);
}

/// One thread with several segments is in `determinism`, several threads with one are in `examples`.
#[test]
fn one_segment_becomes_one_proof_on_one_thread() {
    prove(3, 1);
}

/// Sets its flag when the first leaf is proved.
#[derive(Default)]
struct CancelAtLeaf(AtomicBool);

impl Progress for CancelAtLeaf {
    fn event(&self, event: Event<'_>) {
        if matches!(event, Event::NodeProved { layer: "leaf", .. }) {
            self.0.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn cancelling_ends_the_aggregation() {
    for in_flight in [1, 3] {
        let cancel = CancelAtLeaf::default();
        let options = ProveOptions::default()
            .with_in_flight(in_flight)
            .with_progress(&cancel)
            .with_cancel(&cancel.0);
        let error = sdk().prove(elf(&sums(300)), input(), &options);
        let error = error.err().expect("it was cancelled");
        assert!(matches!(error, SdkError::Cancelled), "{error}");
    }
}

#[test]
fn executing_proving_and_metering_agree() {
    let options = ProveOptions::default();
    let guest = || elf(&sums(300));
    let executed = sdk().execute(guest(), input(), &options).unwrap();
    let metered = sdk().execute_metered(guest(), input(), &options).unwrap();
    assert_eq!(executed, metered.public_values);
    let (proof, report) = sdk().prove_app(guest(), input(), &options).unwrap();
    assert_eq!(proof.per_segment.len(), metered.segments.len());
    assert_eq!(report.instructions, metered.instructions());
    sdk().verify_app(guest(), &proof).unwrap();

    // A proof of another program is told from this one.
    let vk = sdk().app_vk().unwrap();
    let other = sdk().app_prover(elf(&sums(301))).unwrap();
    let error = verify_app(&vk, &proof, Some(other.exe_commit().unwrap()), None, 0.0).unwrap_err();
    assert!(error.to_string().contains("executable"), "{error}");

    // Segments are verified side by side, and each of them counts, as does their order.
    let segments = proof.per_segment.len();
    assert!(segments > 1, "one segment has no order");
    type Damage = fn(&mut Vec<Proof<SC>>, usize);
    let damages: [Damage; 2] = [
        |segments, i| segments[i].whir_proof.final_poly[0] += EF::ONE,
        |segments, i| segments.swap(i, i + 1),
    ];
    for (damage, places) in damages.into_iter().zip([segments, segments - 1]) {
        for i in 0..places {
            let mut proof = proof.clone();
            damage(&mut proof.per_segment, i);
            let error = verify_app(&vk, &proof, None, None, 0.0).expect_err("a damaged proof");
            assert!(matches!(error, SdkError::AppRejected(_)), "{i}: {error}");
        }
    }
}
