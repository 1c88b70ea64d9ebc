//! Whatever overlaps, and however dispatches are cut: the same proof.

mod common;

use std::time::Duration;

use common::{
    bytes, mixture,
    params::SMALL,
    prove_counted,
    random_input::{random_input, Limits},
};
use openvm_metal_backend::{kernels, BabyBearPoseidon2MetalEngine, MetalDevice, MetalProverConfig};
use openvm_metal_common::{Device, DeviceProfile, MetalContext, Order};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config;

fn engine(set: usize, context: MetalContext) -> BabyBearPoseidon2MetalEngine {
    let config = BabyBearPoseidon2Config::default_from_params(SMALL[set].params());
    let mut prover = MetalProverConfig::default();
    prover.max_kept_codewords = Some([u64::MAX, 0][set % 2]);
    BabyBearPoseidon2MetalEngine::from_device(MetalDevice::on_context(config, context))
        .with_prover_config(prover)
}

/// Operations that are kept until somebody waits and then run in a random order, dispatches in slices of one
/// threadgroup: bytes and counts of the serial order, as three devices plan.
#[test]
fn every_order_gives_the_same_proof() {
    let profiles = ["cpu", "m1-8gb", "h100-80gb", "m1-8gb"];
    for (set, (small, name)) in SMALL.iter().zip(profiles).enumerate() {
        let profile = DeviceProfile::named(name).expect("a profile");
        let context = |order| {
            MetalContext::builder(Device::Cpu)
                .libraries(&[&kernels::LIBRARY])
                .profile(profile.clone())
                .order(order)
                .open()
                .expect("the CPU")
        };
        let serial = engine(set, context(Order::Serial));
        let limits = Limits {
            max_airs: 6,
            max_log_height: 8,
            max_width: 6,
            degree: small.max_degree,
            buses: 3,
        };
        for input in [
            mixture(5, serial.config()),
            random_input(set as u64, serial.config(), limits),
        ] {
            let (pk, _) = serial.keygen(&input.airs);
            let (expected, counters) = prove_counted(&serial, &pk, &input.ctx);
            for seed in 1..=3 {
                let context = context(Order::Shuffled(seed));
                // Whole dispatches, or slices of one threadgroup.
                let longest = if seed == 3 { 1 } else { 0 };
                context.set_longest_submission(Duration::from_nanos(longest));
                let shuffled = engine(set, context.clone());
                let (proof, counted) = prove_counted(&shuffled, &pk, &input.ctx);
                assert!(
                    bytes(&proof) == bytes(&expected),
                    "set {set} as {name}, order {seed}"
                );
                let (counted, counters) = (counted.total(), counters.total());
                assert_eq!(counted.dispatches, counters.dispatches);
                assert_eq!(counted.waits, counters.waits);
                assert_eq!(counted.peak_bytes, counters.peak_bytes);
                assert_eq!(context.submissions().slices > 0, seed == 3);
            }
        }
    }
}
