//! The random inputs themselves: the reference engine proves and verifies them.

mod common;

use common::{
    params::SMALL,
    prove_and_verify,
    random_input::{random_input, Limits},
};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge};

#[test]
fn the_reference_accepts_random_inputs() {
    for (i, small) in SMALL.into_iter().enumerate() {
        let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(small.params());
        for seed in 0..3 {
            let limits = Limits {
                max_airs: 5,
                max_log_height: 6,
                max_width: 6,
                degree: small.max_degree,
                buses: 4,
            };
            let input = random_input(100 * i as u64 + seed, engine.config(), limits);
            prove_and_verify(&engine, &input);
        }
    }
}
