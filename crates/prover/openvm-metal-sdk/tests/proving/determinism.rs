//! The bytes of a job's proofs are a function of the job: not of threads, machines or devices, nor of where traces are made.

use openvm_metal_common::Device;
use openvm_metal_sdk::{MetalSdk, ProveOptions, RowOrder};
use openvm_stark_backend::codec::Encode;
use rayon::prelude::*;

use crate::{
    guest::{elf, sums},
    setup::{builder_with_keys, input, CAMPAIGN},
};

const N: u32 = 400;

/// Every byte of the proof of each segment, and of the aggregated one.
#[derive(PartialEq)]
struct Bytes {
    segments: Vec<Vec<u8>>,
    aggregated: Vec<u8>,
}

fn on(devices: &[Device], order: RowOrder, traces_on_device: bool) -> MetalSdk {
    builder_with_keys(Device::Cpu)
        .devices(devices.to_vec())
        .row_order(order)
        .traces_on_device(traces_on_device)
        .build()
        .unwrap()
}

fn prove(sdk: &MetalSdk, options: ProveOptions<'_>) -> Bytes {
    let exe = sdk.executable(elf(&sums(N))).unwrap();
    let (app, _) = sdk.prove_app(exe.clone(), input(), &options).unwrap();
    let proved = sdk.prove(exe, input(), &options).unwrap();
    Bytes {
        segments: app
            .per_segment
            .iter()
            .map(|proof| proof.encode_to_vec().unwrap())
            .collect(),
        aggregated: proved.proof.encode_to_vec().unwrap(),
    }
}

#[test]
fn bytes_do_not_depend_on_machines_devices_and_callers() {
    let one = on(&[Device::Cpu], RowOrder::Sorted, false);
    let options = ProveOptions::default();
    let first = prove(&one, options.with_in_flight(1));
    assert!(first.segments.len() >= 3, "{}", first.segments.len());
    let campaign = std::env::var_os(CAMPAIGN).is_some();
    // On every thread of rayon's pool at once, where traces are made as well.
    let exe = one.executable(elf(&sums(N))).unwrap();
    let calls = (0..2 * rayon::current_num_threads()).into_par_iter();
    calls.with_max_len(1).for_each(|_| {
        let (app, _) = one.prove_app(exe.clone(), input(), &options).unwrap();
        let segments = app.per_segment.iter();
        let segments = segments.map(|proof| proof.encode_to_vec().unwrap());
        assert!(
            segments.eq(first.segments.iter().cloned()),
            "rayon's threads"
        );
    });
    if campaign {
        assert!(
            first == prove(&one, options.with_machines(3).with_in_flight(4)),
            "three machines"
        );
    }
    let two = on(&[Device::Cpu, Device::Cpu], RowOrder::Sorted, true);
    assert!(
        first == prove(&two, options.with_machines(2)),
        "two devices that make the traces"
    );

    if campaign {
        // Without sorting, the bytes are others.
        let as_made = on(&[Device::Cpu], RowOrder::AsMade, false);
        let as_made = prove(&as_made, options);
        assert!(first.aggregated != as_made.aggregated, "nothing was sorted");
    }
}
