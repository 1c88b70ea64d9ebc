//! Tampered proofs are rejected by the verifier, bad bytes by the decoder.

mod common;

use common::{
    bytes,
    params::SMALL,
    prove_and_verify,
    random_input::{random_input, Limits},
    SC,
};
use openvm_metal_backend::BabyBearPoseidon2MetalEngine;
use openvm_stark_backend::{codec::Decode, proof::Proof, StarkEngine};
use rand::{rngs::StdRng, Rng, SeedableRng};

type Metal = BabyBearPoseidon2MetalEngine;

#[test]
fn tampered_proofs_and_bad_bytes_are_rejected() {
    let small = SMALL[0];
    let engine = Metal::new(small.params());
    let limits = Limits {
        max_airs: 3,
        max_log_height: 5,
        max_width: 4,
        degree: 3,
        buses: 3,
    };
    let input = random_input(5, engine.config(), limits);
    let (vk, proof) = prove_and_verify(&engine, &input);
    let good = bytes(&proof);
    let mut rng = StdRng::seed_from_u64(9);
    for _ in 0..500 {
        // Changing one word hits a field element, a digest or a length.
        let mut bad = good.clone();
        let at = rng.random_range(0..bad.len());
        bad[at] ^= 1 << rng.random_range(0..7);
        if let Ok(proof) = Proof::<SC>::decode_from_bytes(&bad) {
            assert!(engine.verify(&vk, &proof).is_err(), "byte {at} changed");
        }
    }
    for _ in 0..200 {
        let cut = rng.random_range(0..good.len());
        assert!(Proof::<SC>::decode_from_bytes(&good[..cut]).is_err());
        let noise: Vec<u8> = (0..rng.random_range(0..2000))
            .map(|_| rng.random())
            .collect();
        assert!(Proof::<SC>::decode_from_bytes(&noise).is_err());
    }
}
