//! Keccak-f at production parameters: the reference's bytes, every time.

mod common;

use common::{bytes, keccak::keccakf, prove, verify_by_openvm, Input};
use openvm_metal_backend::{BabyBearPoseidon2MetalEngine, DuplexSpongeMetal};
use openvm_stark_backend::{keygen::types::MultiStarkProvingKey, StarkEngine};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security, baby_bear_poseidon2::BabyBearPoseidon2RefEngine,
};

type Metal = BabyBearPoseidon2MetalEngine;
type Reference = BabyBearPoseidon2RefEngine<DuplexSpongeMetal>;

/// Both engines, the input, its key and the reference's proof.
struct Case {
    metal: Metal,
    input: Input,
    pk: MultiStarkProvingKey<common::SC>,
    expected: Vec<u8>,
}

impl Case {
    fn new(permutations: usize, log_stacked: usize) -> Self {
        let params = app_params_with_100_bits_security(log_stacked);
        let (metal, reference) = (Metal::new(params.clone()), Reference::new(params.clone()));
        let input = keccakf(permutations);
        let (pk, vk) = reference.keygen(&input.airs);
        let proof = prove(&reference, &pk, &input.ctx).expect("reference");
        verify_by_openvm(params, &vk, &proof);
        Self {
            metal,
            input,
            pk,
            expected: bytes(&proof),
        }
    }

    fn check(&self, engine: &Metal, what: &str) {
        let proof = prove(engine, &self.pk, &self.input.ctx).expect(what);
        assert!(bytes(&proof) == self.expected, "{what}");
    }
}

/// One WHIR round, two, and three; stacked matrices of one column and of many.
#[test]
fn keccakf_equals_the_reference() {
    for (permutations, log_stacked) in [(1, 11), (2, 14), (3, 15), (4, 17), (2, 19)] {
        let case = Case::new(permutations, log_stacked);
        case.check(
            &case.metal,
            &format!("{permutations} permutations, 2^{log_stacked}"),
        );
    }
}

#[test]
fn the_same_proof_twenty_times() {
    let case = Case::new(2, 15);
    for i in 0..20 {
        case.check(&case.metal, &format!("proof {i}"));
    }
}

/// Both threads prove on the queue of one device, one of them another input.
#[test]
fn two_threads_at_once() {
    let cases = [Case::new(2, 15), Case::new(5, 15)];
    let engine = &cases[0].metal;
    std::thread::scope(|scope| {
        for case in &cases {
            scope.spawn(move || {
                for i in 0..5 {
                    case.check(engine, &format!("proof {i}"));
                }
            });
        }
    });
}
