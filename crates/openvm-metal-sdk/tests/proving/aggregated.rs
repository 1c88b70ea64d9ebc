//! Segments, leaves, internal nodes: one proof that OpenVM's own verifier accepts.

use std::sync::Mutex;

use openvm_metal_sdk::{verify_app, Event, Progress, ProveOptions};
use openvm_sdk::Sdk as StockSdk;

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

#[test]
fn several_segments_become_one_proof() {
    let n = 600;
    let log = Log::default();
    let options = ProveOptions::default().with_progress(&log);
    let proved = sdk().prove(elf(&sums(n)), input(), &options).unwrap();

    let report = &proved.report;
    assert!(report.segments >= 3, "{} segments", report.segments);
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
    for segment in 0..report.segments {
        for what in ["SegmentExecuted", "SegmentTraced", "SegmentProved"] {
            let told = format!("{what} {{ segment: {segment},");
            assert_eq!(
                log.iter().filter(|e| e.starts_with(&told)).count(),
                1,
                "{told}"
            );
        }
    }
    assert_eq!(log.last().unwrap(), "Verified");
}

#[test]
fn executing_proving_and_metering_agree() {
    let options = ProveOptions::default();
    let guest = || elf(&sums(300));
    let executed = sdk().execute(guest(), input(), &options).unwrap();
    let (metered, segments) = sdk().execute_metered(guest(), input(), &options).unwrap();
    assert_eq!(executed, metered);
    let (proof, report) = sdk().prove_app(guest(), input(), &options).unwrap();
    assert_eq!(proof.per_segment.len(), segments.len());
    let instructions: u64 = segments.iter().map(|s| s.num_insns).sum();
    assert_eq!(report.instructions, instructions);
    sdk().verify_app(guest(), &proof).unwrap();

    // A proof of another program is told from this one.
    let vk = sdk().app_vk().unwrap();
    let other = sdk().app_prover(elf(&sums(301))).unwrap();
    let error = verify_app(&vk, &proof, Some(other.exe_commit().unwrap())).unwrap_err();
    assert!(error.to_string().contains("executable"), "{error}");
}
