//! A whole proof, byte for byte the reference engine's.

use std::sync::Arc;

use openvm_stark_backend::{
    codec::Encode,
    interaction::LogUpSecurityParameters,
    proof::Proof,
    prover::{AirProvingContext, CpuColMajorBackend, DeviceDataTransporter, ProvingContext},
    AirRef, StarkEngine, SystemParams, WhirConfig, WhirParams, WhirProximityStrategy,
};
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2RefEngine;

use super::{
    airs::{CommittedAir, ProductAir},
    compare, Check, CheckEnv, CheckFailure,
};
use crate::{
    config::MetalProverConfig, device::MetalDevice, engine::BabyBearPoseidon2MetalEngine,
    prelude::SC, transcript::DuplexSpongeMetal,
};

pub(super) const CHECKS: &[Check] = &[Check {
    group: "prover",
    name: "proof_bytes",
    run: proof_bytes,
}];

/// Sizes of a proof.
struct Shape {
    l_skip: usize,
    n_stack: usize,
    log_height: usize,
    /// Triples of columns of the AIRs that exchange a table; 0: without these AIRs, so that nothing interacts.
    products: usize,
    /// Bits of work for each of WHIR's variables.
    work: usize,
}

const fn shape(
    [l_skip, n_stack]: [usize; 2],
    log_height: usize,
    products: usize,
    work: usize,
) -> Shape {
    Shape {
        l_skip,
        n_stack,
        log_height,
        products,
        work,
    }
}

const SHAPES: [Shape; 6] = [
    shape([2, 8], 5, 15, 2),
    shape([2, 8], 7, 0, 0),
    shape([2, 8], 1, 1, 12),
    shape([4, 8], 9, 25, 2),
    shape([4, 10], 12, 3, 5),
    // Sums of a round over more points than a threadgroup adds up.
    shape([4, 12], 16, 1, 0),
];

/// Little security, so that the reference is quick; grinding on the device for the queries.
pub(crate) fn params(l_skip: usize, n_stack: usize, folding_pow_bits: usize) -> SystemParams {
    let whir = WhirParams {
        k: 4,
        log_final_poly_len: (l_skip + n_stack) % 4,
        query_phase_pow_bits: 9,
        folding_pow_bits,
        mu_pow_bits: 8,
        proximity: WhirProximityStrategy::UniqueDecoding,
    };
    SystemParams {
        l_skip,
        n_stack,
        w_stack: 1 << 12,
        log_blowup: 1,
        whir: WhirConfig::new(1, l_skip + n_stack, whir, 20),
        logup: LogUpSecurityParameters {
            max_interaction_count: 1 << 30,
            log_max_message_length: 7,
            pow_bits: 2,
        },
        max_constraint_degree: 3,
    }
}

/// Two AIRs that exchange a table, and a shorter one with preprocessed and cached columns; challenges sampled by the host and by the device. Conformance
/// mode proves the two smallest shapes only.
fn proof_bytes(env: &mut CheckEnv) -> Result<(), CheckFailure> {
    let count = if env.conformance() { 2 } else { SHAPES.len() };
    SHAPES[..count]
        .iter()
        .try_for_each(|shape| check(env, shape))
}

fn check(env: &mut CheckEnv, shape: &Shape) -> Result<(), CheckFailure> {
    let Shape {
        l_skip,
        n_stack,
        log_height,
        products: count,
        work,
    } = *shape;
    let what = || format!("2^{log_height} rows, l_skip {l_skip}, n_stack {n_stack}");
    let oracle = || CheckFailure::Oracle { what: what() };
    let params = params(l_skip, n_stack, work);
    let config = SC::default_from_params(params.clone());
    let reference = BabyBearPoseidon2RefEngine::<DuplexSpongeMetal>::new(params);

    let (committed, committed_trace) =
        CommittedAir::with_trace(&mut env.rng, &config, log_height.saturating_sub(2))
            .ok_or_else(oracle)?;
    let (mut airs, mut traces): (Vec<AirRef<SC>>, Vec<_>) = (Vec::new(), Vec::new());
    if count > 0 {
        let table = ProductAir::trace(&mut env.rng, log_height, count);
        for send in [true, false] {
            airs.push(Arc::new(ProductAir { count, send }));
            traces.push(AirProvingContext::simple_no_pis(table.clone()));
        }
    }
    airs.push(committed);
    traces.push(committed_trace);
    let context =
        ProvingContext::<CpuColMajorBackend<SC>>::new(traces.into_iter().enumerate().collect());
    let (pk, vk) = reference.keygen(&airs);

    let device_pk = reference.device().transport_pk_to_device(&pk);
    let inputs = reference.device().transport_proving_ctx_to_device(&context);
    let expected = reference.prove(&device_pk, inputs).map_err(|_| oracle())?;

    let encode = |proof: &Proof<SC>| proof.encode_to_vec().unwrap_or_default();
    for on_device in [false, true] {
        let device = MetalDevice::on_context(config.clone(), env.s.context().clone());
        let prover_config = MetalProverConfig {
            transcript_on_device: Some(on_device),
            ..MetalProverConfig::default()
        };
        let engine =
            BabyBearPoseidon2MetalEngine::from_device(device).with_prover_config(prover_config);
        let device_pk = engine.device().transport_pk_to_device(&pk);
        let inputs = engine.device().transport_proving_ctx_to_device(&context);
        let proof = engine.prove(&device_pk, inputs)?;
        let what = || {
            let place = if on_device { "device" } else { "host" };
            format!("{}, transcript on the {place}", what())
        };
        compare(what, &encode(&proof), &encode(&expected))?;
        engine.verify(&vk, &proof).map_err(|_| oracle())?;
    }
    Ok(())
}
