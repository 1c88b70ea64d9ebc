//! Proofs are byte-identical to the reference engine's.

mod common;

use common::{
    bytes, limits, mixture,
    params::SMALL,
    prove, prove_and_verify,
    random_input::{random_input, Limits},
    setting, verify_by_openvm,
};
use openvm_metal_backend::{BabyBearPoseidon2MetalEngine, DuplexSpongeMetal, MetalProverConfig};
use openvm_metal_common::Device;
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2RefEngine;

type Metal = BabyBearPoseidon2MetalEngine;
type Reference = BabyBearPoseidon2RefEngine<DuplexSpongeMetal>;

fn compare(set: usize) {
    let small = SMALL[set];
    let (metal, reference) = (Metal::new(small.params()), Reference::new(small.params()));
    // Every other engine keeps its codewords, the others encode them again.
    let mut config = MetalProverConfig::default();
    config.max_kept_codewords = Some([u64::MAX, 0][set % 2]);
    let metal = metal.with_prover_config(config);
    // `OPENVM_METAL_TEST_INPUTS` random inputs for each set of parameters, from seed
    // `OPENVM_METAL_TEST_SEED` on.
    let inputs = setting("OPENVM_METAL_TEST_INPUTS", 12);
    let seed = setting("OPENVM_METAL_TEST_SEED", 0) + (set as u64) * inputs.max(1000);
    let most_rows = 12.min(small.l_skip + small.n_stack - 1);
    for i in 0..inputs {
        let input = random_input(
            seed + i,
            metal.config(),
            limits(i, most_rows, small.max_degree),
        );
        let (pk, vk) = reference.keygen(&input.airs);
        let expected = prove(&reference, &pk, &input.ctx).unwrap();
        let got =
            prove(&metal, &pk, &input.ctx).unwrap_or_else(|e| panic!("{small:?}, input {i}: {e}"));
        assert!(
            got.common_main_commit == expected.common_main_commit,
            "commit: {small:?}, input {i}"
        );
        assert!(
            got.gkr_proof == expected.gkr_proof,
            "GKR: {small:?}, input {i}"
        );
        assert!(
            got.batch_constraint_proof == expected.batch_constraint_proof,
            "constraints: {small:?}, input {i}"
        );
        assert!(
            got.stacking_proof == expected.stacking_proof,
            "stacking: {small:?}, input {i}"
        );
        assert!(
            bytes(&got) == bytes(&expected),
            "WHIR: {small:?}, input {i}"
        );
        verify_by_openvm(small.params(), &vk, &got);
    }
}

macro_rules! sets {
    ($($name:ident $set:literal)*) => { $(#[test] fn $name() { compare($set); })* };
}
sets!(set_0 0 set_1 1 set_2 2 set_3 3 set_4 4 set_5 5 set_6 6 set_7 7 set_8 8 set_9 9);

/// Whole proofs with 32-lane simdgroups on fibers and poisoned memory.
#[test]
fn conformance_mode() {
    let small = SMALL[0];
    let metal = Metal::try_new(small.params(), Device::cpu_conformance()).expect("CPU");
    let reference = Reference::new(small.params());
    let limits = Limits {
        max_airs: 4,
        max_log_height: 6,
        max_width: 4,
        degree: 3,
        buses: 3,
    };
    let random = |seed| random_input(seed, metal.config(), limits);
    for input in [mixture(5, metal.config()), random(3), random(4)] {
        let (pk, vk) = reference.keygen(&input.airs);
        let expected = prove(&reference, &pk, &input.ctx).expect("reference");
        let proof = prove(&metal, &pk, &input.ctx).expect("proof");
        assert!(bytes(&proof) == bytes(&expected));
        metal.verify(&vk, &proof).expect("a valid proof");
    }
}

#[test]
fn two_threads_and_repeated_proofs() {
    let small = SMALL[0];
    let metal = Metal::new(small.params());
    let limits = Limits {
        max_airs: 4,
        max_log_height: 6,
        max_width: 4,
        degree: 3,
        buses: 3,
    };
    let inputs = [7, 8].map(|seed| random_input(seed, metal.config(), limits));
    let expected = inputs
        .each_ref()
        .map(|input| bytes(&prove_and_verify(&metal, input).1));
    std::thread::scope(|scope| {
        for (input, expected) in inputs.iter().zip(&expected) {
            let metal = &metal;
            let keys = metal.keygen(&input.airs);
            let ctx = &input.ctx;
            scope.spawn(move || {
                for _ in 0..10 {
                    assert!(bytes(&prove(metal, &keys.0, ctx).unwrap()) == *expected);
                }
            });
        }
    });
}
