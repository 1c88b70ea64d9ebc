//! Proofs hashed with Poseidon2 over BN254 are byte-identical to the reference engine's, which verifies them.

mod common;

use common::{
    bytes, limits, mixture, params::SMALL, prove, random_input::random_input, setting, Input,
};
use openvm_metal_backend::{
    bn254::MultiFieldTranscriptMetal, BabyBearBn254Poseidon2MetalEngine, MetalProverConfig,
};
use openvm_metal_common::Device;
use openvm_stark_backend::{StarkEngine, SystemParams};
use openvm_stark_sdk::config::baby_bear_bn254_poseidon2::{
    BabyBearBn254Poseidon2Config, BabyBearBn254Poseidon2RefEngine, Transcript,
};

type Metal = BabyBearBn254Poseidon2MetalEngine;
type Reference = BabyBearBn254Poseidon2RefEngine<MultiFieldTranscriptMetal>;
/// OpenVM's engine with its own transcript: nothing of ours takes part.
type Judge = BabyBearBn254Poseidon2RefEngine<Transcript>;

fn compare(metal: &Metal, input: &Input<BabyBearBn254Poseidon2Config>, what: &str) {
    let params: SystemParams = metal.device().params().clone();
    let reference = Reference::new(params.clone());
    let (pk, vk) = reference.keygen(&input.airs);
    let expected = prove(&reference, &pk, &input.ctx).expect("the reference proves");
    let got = prove(metal, &pk, &input.ctx).unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(
        got.common_main_commit == expected.common_main_commit,
        "commitment: {what}"
    );
    assert!(got.gkr_proof == expected.gkr_proof, "GKR: {what}");
    assert!(
        got.batch_constraint_proof == expected.batch_constraint_proof,
        "constraints: {what}"
    );
    assert!(
        got.stacking_proof == expected.stacking_proof,
        "stacking: {what}"
    );
    assert!(bytes(&got) == bytes(&expected), "WHIR: {what}");
    let judge = Judge::new(params);
    judge.verify(&vk, &got).expect("a valid proof");
}

/// `OPENVM_METAL_TEST_INPUTS` random inputs from seed `OPENVM_METAL_TEST_SEED` on, the sets of parameters in turn. Every third engine keeps its
/// codewords, the others encode some or all of them again.
#[test]
fn random_inputs() {
    let seed = setting("OPENVM_METAL_TEST_SEED", 0);
    for i in seed..seed + setting("OPENVM_METAL_TEST_INPUTS", 10) {
        let small = SMALL[i as usize % SMALL.len()];
        let mut config = MetalProverConfig::default();
        config.max_kept_codewords = [None, Some(0), Some(u64::MAX)][i as usize % 3];
        let metal = Metal::new(small.params()).with_prover_config(config);
        let most_rows = 11.min(small.l_skip + small.n_stack - 1);
        let limits = limits(i / 10, most_rows, small.max_degree);
        let input = random_input(seed + i, metal.config(), limits);
        compare(&metal, &input, &format!("{small:?}, input {i}"));
    }
}

/// Rotations, preprocessed and cached traces, interactions; on the device, and with 32-lane SIMD-groups on fibers and poisoned memory.
#[test]
fn a_mixture_of_airs() {
    let params = SMALL[0].params();
    let conformance = Metal::try_new(params.clone(), Device::cpu_conformance()).expect("the CPU");
    for metal in [Metal::new(params), conformance] {
        let input = mixture(5, metal.config());
        compare(&metal, &input, "mixture");
    }
}
