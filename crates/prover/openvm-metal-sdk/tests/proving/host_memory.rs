//! The host holds no more of segments than it may, which changes no byte of their proofs.

use openvm_metal_common::Device;
use openvm_metal_sdk::{MetalSdk, ProveOptions, Report, SdkError};
use openvm_stark_backend::codec::Encode;

use crate::{
    guest::{elf, sums},
    setup::{builder_with_keys, input},
};

/// Proofs of segments, and the report.
fn prove(sdk: &MetalSdk, options: ProveOptions<'_>) -> Result<(Vec<Vec<u8>>, Report), SdkError> {
    let (app, report) = sdk.prove_app(elf(&sums(900)), input(), &options)?;
    let bytes = app.per_segment.iter().map(|proof| proof.encode_to_vec());
    Ok((bytes.collect::<Result<_, _>>().unwrap(), report))
}

#[test]
fn segments_wait_until_the_host_has_room() {
    let sdk = builder_with_keys(Device::Cpu).build().unwrap();
    let options = ProveOptions::default();
    let (proofs, report) = prove(&sdk, options.with_in_flight(1)).unwrap();
    assert!(proofs.len() >= 4, "{} segments", proofs.len());
    // The largest segment alone.
    let largest = report.host_traces_peak;
    assert!(largest > 0);

    let many = options.with_machines(3).with_in_flight(5);
    for bound in [largest, largest * 5 / 2] {
        let (bounded, report) = prove(&sdk, many.with_host_memory(bound)).unwrap();
        assert!(bounded == proofs, "other bytes with {bound} bytes");
        let peak = report.host_traces_peak;
        assert!((largest..=bound).contains(&peak), "{peak} of {bound} bytes");
    }

    for options in [many, options.with_in_flight(1)] {
        let error = prove(&sdk, options.with_host_memory(largest - 1)).unwrap_err();
        assert!(
            matches!(error, SdkError::HostMemory { needed, bound, .. }
                if needed == largest && bound == largest - 1),
            "{error}"
        );
        let text = error.to_string();
        assert!(text.contains("--host-memory") && text.contains("--segment-max-memory"));
    }
}
