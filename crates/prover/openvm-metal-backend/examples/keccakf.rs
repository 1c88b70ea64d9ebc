//! Proves Keccak-f permutations and verifies the proof with the stock verifier:
//! `cargo run --release --example keccakf -- 64`
use std::{sync::Arc, time::Instant};

use openvm_metal_backend::BabyBearPoseidon2MetalEngine;
use openvm_stark_backend::{
    prover::{AirProvingContext, ColMajorMatrix, DeviceDataTransporter, ProvingContext},
    BaseAirWithPublicValues, PartitionedBaseAir, StarkEngine,
};
use openvm_stark_sdk::config::app_params_with_100_bits_security;
use p3_air::{Air, AirBuilder, BaseAir};
use p3_baby_bear::BabyBear;
use p3_field::Field;
use p3_keccak_air::{generate_trace_rows, KeccakAir};

/// Plonky3's AIR, with what OpenVM wants to know besides.
struct Keccakf(KeccakAir);

impl<T> BaseAir<T> for Keccakf {
    fn width(&self) -> usize {
        BaseAir::<T>::width(&self.0)
    }
}
impl<T: Field> BaseAirWithPublicValues<T> for Keccakf {}
impl<T: Field> PartitionedBaseAir<T> for Keccakf {}
impl<AB: AirBuilder> Air<AB> for Keccakf {
    fn eval(&self, builder: &mut AB) {
        self.0.eval(builder);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let permutations: usize = std::env::args().nth(1).map_or(Ok(16), |n| n.parse())?;
    let trace = generate_trace_rows::<BabyBear>(vec![[7; 25]; permutations], 0);
    let trace = ColMajorMatrix::from_row_major(&trace);

    // The device is the one that OPENVM_METAL_DEVICE names.
    let engine = BabyBearPoseidon2MetalEngine::new(app_params_with_100_bits_security(21));
    let (pk, vk) = engine.keygen(&[Arc::new(Keccakf(KeccakAir {}))]);
    let device = engine.device();
    let pk = device.transport_pk_to_device(&pk);
    let trace = device.transport_matrix_to_device(&trace);
    let ctx = ProvingContext::new(vec![(0, AirProvingContext::simple_no_pis(trace))]);

    let start = Instant::now();
    let proof = engine.prove(&pk, ctx)?;
    println!(
        "proved {permutations} permutations in {:?}",
        start.elapsed()
    );
    engine.verify(&vk, &proof)?;
    println!("the proof is valid");
    Ok(())
}
