//! A device that is lost in the middle of a proof ends it with its error, wherever that is, and soon.

mod common;

use std::time::{Duration, Instant};

use common::{mixture, Input, SC};
use openvm_metal_backend::{
    kernels::LIBRARY, BabyBearPoseidon2MetalEngine, DuplexSpongeMetal, MetalDevice,
    MetalProverError,
};
use openvm_metal_common::{Device, InjectedFault, MetalContext, MetalError};
use openvm_stark_backend::{
    prover::{DeviceDataTransporter, Prover},
    FiatShamirTranscript, StarkEngine,
};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security, baby_bear_poseidon2::poseidon2_perm,
};
use p3_field::Field;

/// Far more than what is left of a small proof takes, far less than 2^26 permutations on the host.
const SOON: Duration = Duration::from_secs(20);

/// Proves on a device that is lost after `dispatches` dispatches; `None` if the proof needs no more.
fn lost_after(dispatches: u64, input: &Input) -> Option<(MetalError, Duration)> {
    let context = MetalContext::new(Device::Cpu, &[&LIBRARY]).expect("CPU");
    let config = SC::default_from_params(app_params_with_100_bits_security(12));
    let device = MetalDevice::on_context(config, context.clone());
    let engine = BabyBearPoseidon2MetalEngine::from_device(device);
    let (pk, _) = engine.keygen(&input.airs);
    let pk = engine.device().transport_pk_to_device(&pk);
    let ctx = engine.device().transport_proving_ctx_to_device(&input.ctx);
    context.inject_fault(InjectedFault::DeviceLost { dispatches });
    let start = Instant::now();
    let outcome = engine.prover().prove(&pk, ctx);
    let error = match outcome {
        Ok(_) => return None,
        Err(MetalProverError::Device(error)) => error,
        Err(other) => panic!("lost after {dispatches} dispatches: {other}"),
    };
    Some((error, start.elapsed()))
}

#[test]
fn a_proof_ends_with_the_error_of_the_device_wherever_it_is_lost() {
    let config = SC::default_from_params(app_params_with_100_bits_security(12));
    let input = mixture(6, &config);
    let (mut dispatches, mut stages) = (0, std::collections::BTreeSet::new());
    while let Some((error, time)) = lost_after(dispatches, &input) {
        let MetalError::DeviceLost { stage, .. } = &error else {
            panic!("lost after {dispatches} dispatches: {error}");
        };
        assert!(
            time < SOON,
            "lost after {dispatches} dispatches in '{stage}': {time:?}"
        );
        stages.insert(stage.to_string());
        // Every dispatch at first, then fewer.
        dispatches += 1 + dispatches / 24;
    }
    for part in [
        "commit",
        "logup_gkr",
        "round0",
        "mle",
        "stacked_reduction",
        "whir",
    ] {
        assert!(
            stages.iter().any(|s| s.contains(part)),
            "never in {part}: {stages:?}"
        );
    }
}

#[test]
fn a_device_lost_while_grinding_gives_no_witness_and_no_search_on_the_host() {
    for bits in [20, 26] {
        let context = MetalContext::new(Device::Cpu, &[&LIBRARY]).expect("CPU");
        let stream = context.stream();
        let mut transcript =
            DuplexSpongeMetal::from(poseidon2_perm().clone()).with_stream(stream.clone());
        context.inject_fault(InjectedFault::DeviceLost { dispatches: 0 });
        let start = Instant::now();
        let witness = FiatShamirTranscript::<SC>::grind(&mut transcript, bits);
        assert!(start.elapsed() < SOON);
        assert!(witness.is_zero(), "no witness");
        assert!(matches!(stream.alive(), Err(MetalError::DeviceLost { .. })));
        assert!(stream.counters().total().host_fallbacks.is_empty());
    }
}

#[test]
fn a_device_that_has_no_memory_for_grinding_leaves_it_to_the_host() {
    let context = MetalContext::new(Device::Cpu, &[&LIBRARY]).expect("CPU");
    let stream = context.stream();
    let sponge = DuplexSpongeMetal::from(poseidon2_perm().clone());
    context.inject_fault(InjectedFault::AllocationFailed);
    let mut transcript = sponge.clone().with_stream(stream.clone());
    let witness = FiatShamirTranscript::<SC>::grind(&mut transcript, 10);
    let mut checked = sponge;
    assert!(FiatShamirTranscript::<SC>::check_witness(
        &mut checked,
        10,
        witness
    ));
    let fallbacks = stream.counters().total().host_fallbacks;
    assert_eq!(fallbacks["grind_pow"].times, 1);
}
