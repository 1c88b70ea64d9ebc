//! Modelled time for which a device works without a break, when work is handed over.

mod common;

use common::{keccak::keccakf, prove_counted};
use openvm_metal_backend::{kernels, BabyBearPoseidon2MetalEngine, MetalDevice};
use openvm_metal_common::{Device, DeviceProfile, MetalContext, Order};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security, baby_bear_poseidon2::BabyBearPoseidon2Config,
};

/// Keccakf with 2^13 permutations on an M1 with 8 cores, in the shape of 2^7 permutations on a device that is 64 times
/// slower: the longest submission is at most 100 ms, the largest hash is cut, and the commitment is hashed while it is
/// encoded. The operations run in a random order, and the proof is valid.
#[test]
fn an_m1_is_never_busy_for_long() {
    const LOG_SMALLER: usize = 6;
    let m1 = DeviceProfile::named("m1-8gb").expect("a profile");
    let slow = DeviceProfile {
        products_per_second: m1.products_per_second >> LOG_SMALLER,
        bytes_per_second: m1.bytes_per_second >> LOG_SMALLER,
        ..m1
    };
    let context = MetalContext::builder(Device::Cpu)
        .libraries(&[&kernels::LIBRARY])
        .profile(slow)
        .order(Order::Shuffled(13))
        .open()
        .expect("the CPU");
    let params = app_params_with_100_bits_security(24 - LOG_SMALLER);
    let config = BabyBearPoseidon2Config::default_from_params(params);
    let device = MetalDevice::on_context(config, context.clone());
    let engine = BabyBearPoseidon2MetalEngine::from_device(device);
    let input = keccakf(1 << (13 - LOG_SMALLER));
    let (pk, vk) = engine.keygen(&input.airs);
    let (proof, _) = prove_counted(&engine, &pk, &input.ctx);
    engine.verify(&vk, &proof).expect("a valid proof");
    let stats = context.submissions();
    println!("{stats:?}");
    assert!(stats.longest_ns <= 100_000_000, "{stats:?}");
    assert!(stats.dispatches_cut > 0 && stats.slices > 2 * stats.dispatches_cut);
}
