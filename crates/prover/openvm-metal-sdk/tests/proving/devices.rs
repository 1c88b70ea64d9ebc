//! Jobs on several devices.

use std::{
    collections::BTreeMap,
    sync::{
        atomic::{AtomicBool, Ordering},
        Mutex,
    },
};

use openvm_metal_common::Device;
use openvm_metal_sdk::{Event, MetalSdk, Progress, ProveOptions, Proved, Sdk, SdkError, Stage};
use openvm_sdk::Sdk as StockSdk;
use openvm_stark_backend::codec::Encode;

use crate::{
    faulty::{Faulty, FaultyDevice, MOST_AT_ONCE},
    guest::{elf, sums},
    setup::{self, builder, builder_with_keys, input},
};

/// Counts what each device proved, and cancels after some segments.
#[derive(Default)]
struct Watch {
    proved: Mutex<BTreeMap<String, usize>>,
    cancel_after: Option<usize>,
    cancel: AtomicBool,
}

impl Progress for Watch {
    fn event(&self, event: Event<'_>) {
        let device = match event {
            Event::SegmentProved { device, .. } | Event::NodeProved { device, .. } => device,
            _ => return,
        };
        let mut proved = self.proved.lock().unwrap();
        *proved.entry(device.to_owned()).or_default() += 1;
        if self.cancel_after == Some(proved.values().sum()) {
            self.cancel.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn two_devices_prove_one_job() {
    let sdk: MetalSdk = builder_with_keys(Device::Cpu)
        .devices([Device::Cpu, Device::Cpu])
        .build()
        .unwrap();
    assert_eq!(sdk.devices().unwrap(), [Device::Cpu, Device::Cpu]);
    let watch = Watch::default();
    let options = ProveOptions::default()
        .with_machines(2)
        .with_progress(&watch);
    let proved = sdk.prove(elf(&sums(1100)), input(), &options).unwrap();
    let vk = sdk.agg_vk().unwrap();
    StockSdk::verify_proof(vk.as_ref().clone(), proved.baseline, &proved.proof).unwrap();

    let report = proved.report;
    let watched = watch.proved.into_inner().unwrap();
    assert_eq!(report.devices.len(), 2);
    let mut segments = 0;
    for (device, name) in report.devices.iter().zip(["cpu #1", "cpu #2"]) {
        assert_eq!(device.name, name);
        assert!(device.segments > 0, "{name} proved no segment");
        assert_eq!(device.segments + device.nodes, watched[name], "{name}");
        assert!(!device.busy.is_zero() && device.busy < report.total);
        assert!((0.0..1.0).contains(&device.idle), "{}", device.idle);
        segments += device.segments;
    }
    assert_eq!(segments, report.segments);
}

fn faulty(devices: &[FaultyDevice]) -> Sdk<Faulty> {
    builder_with_keys(devices[0])
        .devices(devices.to_vec())
        .generic_build()
        .unwrap()
}

/// Runs on two devices, one of which fails after `proofs`, and gives the error.
fn error_after(proofs: usize, aggregated: bool) -> SdkError {
    let sdk = faulty(&[("good", usize::MAX), ("bad", proofs)]);
    let options = ProveOptions::default().with_machines(2);
    let guest = elf(&sums(700));
    match aggregated {
        true => sdk
            .generic_prove(sdk.executable(guest).unwrap(), input(), &options)
            .err(),
        false => sdk
            .generic_prove_app(sdk.executable(guest).unwrap(), input(), &options)
            .err(),
    }
    .expect("one device fails")
}

#[test]
fn a_device_that_fails_ends_the_job_and_is_named() {
    let error = error_after(0, false);
    assert!(
        matches!(&error, SdkError::Panicked { stage: Stage::ProveSegment(_), device: Some(device), .. }
            if device == "bad"),
        "{error}"
    );
    let text = error.to_string();
    assert!(
        text.contains("on bad: ") && text.contains("the cable was pulled"),
        "{text}"
    );

    // In the aggregation, or before it: either is named, and no thread waits for ever. However slow the device is, it is
    // given a second proof.
    let error = error_after(1, true);
    assert!(error.to_string().contains(" on bad: "), "{error}");

    // One device alone fails in the same way.
    let sdk = faulty(&[("bad", 1)]);
    for in_flight in [1, 3] {
        let options = ProveOptions::default().with_in_flight(in_flight);
        let error =
            sdk.generic_prove_app(sdk.executable(elf(&sums(700))).unwrap(), input(), &options);
        let error = error.err().expect("it fails").to_string();
        assert!(error.contains("on bad: "), "{error}");
    }
}

/// Proofs that are made beside each other on one device have the bytes of those that are made one after another.
#[test]
fn one_device_makes_two_proofs_at_once() {
    let sdk = faulty(&[("twins", usize::MAX)]);
    let options = ProveOptions::default().with_machines(2).with_in_flight(4);
    let beside = sdk
        .generic_prove(sdk.executable(elf(&sums(500))).unwrap(), input(), &options)
        .unwrap();
    assert_eq!(MOST_AT_ONCE.lock().unwrap()["twins"], 2);
    let device = &beside.report.devices[0];
    assert_eq!(device.segments, beside.report.segments);
    assert!(!device.busy.is_zero() && device.busy < beside.report.total);
    let sdk: MetalSdk = builder_with_keys(Device::Cpu).build().unwrap();
    let options = options.with_in_flight(1);
    let alone = sdk
        .generic_prove(sdk.executable(elf(&sums(500))).unwrap(), input(), &options)
        .unwrap();
    let bytes = |proved: &Proved| proved.proof.inner.encode_to_vec().unwrap();
    assert!(bytes(&beside) == bytes(&alone));
}

#[test]
fn a_job_on_several_devices_can_be_cancelled() {
    let sdk = faulty(&[("a", usize::MAX), ("b", usize::MAX)]);
    let watch = Watch {
        cancel_after: Some(2),
        ..Watch::default()
    };
    let options = ProveOptions::default()
        .with_machines(2)
        .with_progress(&watch)
        .with_cancel(&watch.cancel);
    let error = sdk
        .generic_prove(sdk.executable(elf(&sums(1100))).unwrap(), input(), &options)
        .err();
    let error = error.expect("it was cancelled");
    assert!(matches!(error, SdkError::Cancelled), "{error}");
    // The devices are free again.
    let exe = sdk.executable(elf(&sums(5))).unwrap();
    let (proof, _) = sdk
        .generic_prove_app(exe, input(), &ProveOptions::default())
        .unwrap();
    setup::sdk().verify_app(elf(&sums(5)), &proof).unwrap();
}

#[test]
fn devices_that_cannot_prove_together() {
    for (devices, reason) in [
        (vec![], "no device is named"),
        (
            vec![Device::Cuda(1), Device::Cuda(1)],
            "cuda:1 is named twice",
        ),
        (vec![Device::Auto, Device::Cpu], "auto stands alone"),
    ] {
        let error = builder::<openvm_metal_sdk::engine::MetalEngine>(Device::Cpu)
            .devices(devices)
            .build();
        let error = error.err().expect("it is refused");
        assert!(matches!(error, SdkError::Config(_)), "{error}");
        assert!(error.to_string().contains(reason), "{error}");
    }
}
