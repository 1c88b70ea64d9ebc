//! Bad inputs are refused with typed errors, tampered proofs by the verifier, bad bytes by the decoder.

mod common;

use common::{
    bytes,
    params::SMALL,
    prove_and_verify,
    random_input::{random_input, Limits},
    SC,
};
use openvm_metal_backend::{engine::BabyBearPoseidon2MetalEngine, MetalProverError};
use openvm_metal_common::MetalBuffer;
use openvm_stark_backend::{
    codec::Decode,
    proof::Proof,
    prover::{AirProvingContext, DeviceDataTransporter, ProvingContext},
    test_utils::{FibFixture, TestFixture},
    StarkEngine,
};
use rand::{rngs::StdRng, Rng, SeedableRng};

type Metal = BabyBearPoseidon2MetalEngine;

/// A Fibonacci proof whose common main trace has another shape or number of public values.
fn refusal(height: usize, width: usize, public: usize) -> MetalProverError {
    let engine = Metal::new(SMALL[0].params());
    let (pk, _) = FibFixture::new(0, 1, 8).keygen(&engine);
    let device = engine.device();
    let pk = device.transport_pk_to_device(&pk);
    let s = device.stream().unwrap();
    let buffer = MetalBuffer::zeroed(s, height * width).unwrap();
    let trace = openvm_metal_backend::matrix::MetalMatrix::from_buffer(buffer, height, width);
    let air = AirProvingContext::simple(trace, vec![Default::default(); public]);
    engine
        .prove(&pk, ProvingContext::new(vec![(0, air)]))
        .unwrap_err()
}

#[test]
fn bad_inputs_are_refused() {
    use MetalProverError as E;
    assert!(matches!(
        refusal(12, 2, 3),
        E::HeightNotPowerOfTwo { height: 12, .. }
    ));
    assert!(matches!(
        refusal(0, 2, 3),
        E::HeightNotPowerOfTwo { height: 0, .. }
    ));
    assert!(matches!(
        refusal(1 << 11, 2, 3),
        E::HeightTooLarge { height: 2048, .. }
    ));
    assert!(matches!(
        refusal(8, 3, 3),
        E::WidthMismatch {
            width: 3,
            expected: 2,
            ..
        }
    ));
    assert!(matches!(
        refusal(8, 2, 1),
        E::PublicValuesMismatch {
            values: 1,
            expected: 3,
            ..
        }
    ));
    let text = refusal(8, 3, 3).to_string();
    assert!(
        text.contains("AIR 0 (FibonacciAir)") && text.contains("3 columns"),
        "{text}"
    );
}

#[test]
fn no_traces_are_refused() {
    let engine = Metal::new(SMALL[0].params());
    let (pk, _) = FibFixture::new(0, 1, 8).keygen(&engine);
    let pk = engine.device().transport_pk_to_device(&pk);
    let error = engine.prove(&pk, ProvingContext::new(vec![])).unwrap_err();
    assert!(matches!(error, MetalProverError::NoTraces));
}

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
