//! Devices that make wrong proofs.

use std::{ops::Range, sync::Mutex};

use openvm_metal_common::MetalError;
use openvm_metal_sdk::{Event, Progress, ProveOptions, Sdk, SdkError, Stage};
use openvm_stark_backend::{codec::Encode, proof::Proof};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as SC;

use crate::{
    faulty::{leave_no_memory, make_wrong, Faulty, FaultyDevice},
    guest::{elf, sums},
    setup::{builder_with_keys, input, sdk},
};

/// An SDK on devices, of which each makes a range of its proofs wrong.
fn wrong(devices: &[(&'static str, Range<usize>)]) -> Sdk<Faulty> {
    for (name, proofs) in devices {
        make_wrong(name, proofs.clone());
    }
    let devices: Vec<FaultyDevice> = devices.iter().map(|d| (d.0, usize::MAX)).collect();
    builder_with_keys(devices[0])
        .devices(devices)
        .generic_build()
        .unwrap()
}

/// Notes what was refused, with the device and whether it is excluded.
#[derive(Default)]
struct Watch(Mutex<Vec<(String, String, bool)>>);

impl Progress for Watch {
    fn event(&self, event: Event<'_>) {
        let refused = match event {
            Event::SegmentRefused {
                segment,
                device,
                excluded,
                ..
            } => (format!("segment {segment}"), device.into(), excluded),
            Event::NodeRefused {
                layer,
                node,
                device,
                excluded,
                ..
            } => (format!("{layer} {node}"), device.into(), excluded),
            _ => return,
        };
        self.0.lock().unwrap().push(refused);
    }
}

/// Wrong proofs of a device are neither kept nor used: they are made again, on one thread and on several.
#[test]
fn a_wrong_proof_is_made_again() {
    let guest = || elf(&sums(300));
    let expected = sdk()
        .prove(guest(), input(), &ProveOptions::default())
        .unwrap();
    let segments = expected.report.segments;
    let device = "wrong once";
    let sdk = wrong(&[(device, 0..0)]);
    let last = format!("segment {}", segments - 1);
    for (what, wrong_one, in_flight) in [
        ("segment ", 0, 3),
        (&*last, segments - 1, 1),
        ("leaf 0", segments, 1),
        ("internal_for_leaf 0", segments + segments.div_ceil(2), 1),
    ] {
        let name = format!("wrong-{wrong_one}");
        let (watch, folder) = (Watch::default(), tempfile::tempdir().unwrap());
        let options = ProveOptions::default()
            .with_in_flight(in_flight)
            .with_progress(&watch)
            .with_resume(folder.path());
        make_wrong(device, wrong_one..wrong_one + 1);
        let proved = sdk
            .generic_prove(sdk.executable(guest()).unwrap(), input(), &options)
            .unwrap();
        assert!(proved.proof.inner == expected.proof.inner, "{name}");
        let refused = watch.0.lock().unwrap().clone();
        assert_eq!(refused.len(), 1, "{name}: {refused:?}");
        assert!(refused[0].0.starts_with(what), "{name}: {refused:?}");
        assert_eq!((&*refused[0].1, refused[0].2), (device, false));
        let done = &proved.report.devices[0];
        assert_eq!((done.segments, done.refused), (segments, 1), "{name}");

        // All that was kept is right: nothing is refused, and nothing made.
        let again = sdk.generic_prove(
            sdk.executable(guest()).unwrap(),
            input(),
            &options.with_progress(&()),
        );
        let again = again.unwrap();
        assert!(again.proof.inner == expected.proof.inner, "{name}");
        let done = &again.report.devices[0];
        assert_eq!((done.segments, done.nodes), (0, 0), "{name}");
    }
}

/// A segment that finds no memory beside others is made at the end; one that finds none alone ends the job.
#[test]
fn a_segment_without_memory_is_made_again_alone() {
    let guest = || elf(&sums(300));
    let options = ProveOptions::default().with_in_flight(3);
    let (expected, _) = sdk().prove_app(guest(), input(), &options).unwrap();
    let device = "full";
    let sdk = wrong(&[(device, 0..0)]);
    let prove = |proofs| {
        leave_no_memory(device, proofs);
        sdk.generic_prove_app(sdk.executable(guest()).unwrap(), input(), &options)
    };
    let (made, report) = prove(1..2).unwrap();
    assert_eq!(report.devices[0].segments, expected.per_segment.len());
    for (made, expected) in made.per_segment.iter().zip(&expected.per_segment) {
        assert!(made.encode_to_vec().unwrap() == expected.encode_to_vec().unwrap());
    }
    let error = prove(0..usize::MAX).err().unwrap();
    let lack = error.device_error();
    assert!(
        matches!(lack, Some(MetalError::OutOfMemory { .. })),
        "{error}"
    );
}

/// Another device does the work of one that makes two wrong proofs.
#[test]
fn a_device_that_makes_wrong_proofs_is_left_out() {
    let guest = || elf(&sums(1100));
    let options = ProveOptions::default().with_in_flight(1);
    let (expected, _) = sdk().prove_app(guest(), input(), &options).unwrap();
    let watch = Watch::default();
    let options = ProveOptions::default()
        .with_machines(2)
        .with_progress(&watch);
    let sdk = wrong(&[("right", 0..0), ("liar", 0..usize::MAX)]);
    let (app, report) = sdk
        .generic_prove_app(sdk.executable(guest()).unwrap(), input(), &options)
        .unwrap();
    let bytes = |proof: &Proof<SC>| proof.encode_to_vec().unwrap();
    for (made, expected) in app.per_segment.iter().zip(&expected.per_segment) {
        assert!(bytes(made) == bytes(expected));
    }
    assert_eq!(app.per_segment.len(), expected.per_segment.len());
    let refused = watch.0.lock().unwrap().clone();
    assert!(refused.len() >= 2, "{refused:?}");
    assert!(refused.iter().all(|(_, device, _)| device == "liar"));
    // From the second one on.
    assert_eq!(refused.iter().filter(|refused| !refused.2).count(), 1);
    let [right, liar] = &report.devices[..] else {
        panic!("two devices")
    };
    assert_eq!(right.segments, report.segments);
    assert_eq!((liar.segments, liar.refused), (0, refused.len()));
}

/// The error names the faulty device if no other is left.
#[test]
fn a_job_ends_when_no_device_makes_right_proofs() {
    let only = "lies";
    let sdk = wrong(&[(only, 0..0)]);
    for (name, in_flight, wrong_ones) in [
        ("lies on one thread", 1, 0..usize::MAX),
        ("lies", 3, 0..usize::MAX),
        ("lies in aggregation", 3, 2..usize::MAX),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = ProveOptions::default()
            .with_in_flight(in_flight)
            .with_resume(folder.path());
        make_wrong(only, wrong_ones);
        let error = sdk.generic_prove(sdk.executable(elf(&sums(300))).unwrap(), input(), &options);
        let error = error.err().expect("all its proofs are wrong");
        assert!(
            matches!(&error, SdkError::FaultyDevice {
                stage: Stage::ProveSegment(_) | Stage::Aggregate { .. },
                device,
                ..
            } if device == only),
            "{error}"
        );
        let text = error.to_string();
        assert!(
            text.contains(&format!("hardware or driver of {only} fails")),
            "{text}"
        );
        let kept = std::fs::read_dir(&folder).unwrap().count();
        assert_eq!(kept, 1 + if name == "lies in aggregation" { 2 } else { 0 });
    }
}
