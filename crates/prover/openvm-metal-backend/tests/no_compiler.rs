//! A machine without a compiler: rules are interpreted, the report says so, and the proof is the same. All tests of this
//! process set its environment alike.

mod common;

use common::{bytes, mixture, params::SMALL, prove};
use openvm_metal_backend::{
    BabyBearPoseidon2MetalEngine, ConstraintKernels, DuplexSpongeMetal, MetalProverConfig,
};
use openvm_metal_common::Device;
use openvm_stark_backend::{prover::DeviceDataTransporter, StarkEngine};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2RefEngine;

#[test]
fn rules_are_interpreted_and_the_report_says_so() {
    std::env::set_var("OPENVM_METAL_CXX", "/no/such/compiler");
    let small = SMALL[0];
    let mut config = MetalProverConfig::default();
    config.constraint_kernels = ConstraintKernels::Generated;
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-compiler");
    config.kernel_folder = Some(folder.clone());
    let engine = BabyBearPoseidon2MetalEngine::try_new(small.params(), Device::Cpu)
        .expect("CPU")
        .with_prover_config(config);
    let reference = BabyBearPoseidon2RefEngine::<DuplexSpongeMetal>::new(small.params());
    let input = mixture(5, engine.config());
    let (pk, _) = reference.keygen(&input.airs);
    let expected = prove(&reference, &pk, &input.ctx).expect("reference");
    let device = engine.device();
    let device_pk = device.transport_pk_to_device(&pk);
    let ctx = device.transport_proving_ctx_to_device(&input.ctx);
    let proof = engine.prove(&device_pk, ctx).expect("proof");
    assert!(bytes(&proof) == bytes(&expected));
    let report = engine.constraint_kernels(&device_pk);
    assert_eq!((report.ready, report.pending), (0, 0));
    assert!(!report.failed.is_empty());
    let reason = &report.failed[0];
    assert!(reason.contains("/no/such/compiler"), "{reason}");
}
