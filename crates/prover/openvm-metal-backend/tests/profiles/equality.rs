//! Proofs under every profile are byte-identical to the reference engine's.

use openvm_metal_backend::{DuplexSpongeMetal, MetalProverConfig};
use openvm_metal_common::{Device, DeviceProfile};
use openvm_stark_backend::StarkEngine;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2RefEngine;

use super::common::{
    bytes, mixture, on_profile,
    params::SMALL,
    profile, prove,
    random_input::{random_input, Limits},
    verify_by_openvm, Input, SC,
};

type Reference = BabyBearPoseidon2RefEngine<DuplexSpongeMetal>;

/// Several AIRs with interactions; the heights of the last reach the stacked height.
fn inputs(config: &SC, most_rows: usize) -> Vec<Input> {
    let limits = |max_log_height| Limits {
        max_airs: 5,
        max_log_height,
        max_width: 6,
        degree: 3,
        buses: 4,
    };
    vec![
        mixture(most_rows.min(6), config),
        random_input(3, config, limits(6)),
        random_input(4, config, limits(most_rows)),
    ]
}

/// Compares the proofs of a set of parameters under these profiles with the reference's, keeping the
/// codewords and dropping some of them.
fn compare(set: usize, device: Device, profiles: &[&str]) {
    let small = SMALL[set];
    let reference = Reference::new(small.params());
    let most_rows = 10.min(small.l_skip + small.n_stack - 1);
    for (i, input) in inputs(reference.config(), most_rows).iter().enumerate() {
        let (pk, vk) = reference.keygen(&input.airs);
        let expected = bytes(&prove(&reference, &pk, &input.ctx).expect("reference"));
        for name in profiles {
            for keep in [true, false] {
                let mut config = MetalProverConfig::default();
                config.max_kept_codewords = Some(if keep { u64::MAX } else { 0 });
                let engine = on_profile(small.params(), device, profile(name), None)
                    .with_prover_config(config);
                let proof = prove(&engine, &pk, &input.ctx)
                    .unwrap_or_else(|error| panic!("{name}, input {i} of {small:?}: {error}"));
                assert!(
                    bytes(&proof) == expected,
                    "{name}, input {i} of {small:?}, codewords kept: {keep}"
                );
                verify_by_openvm(small.params(), &vk, &proof);
            }
        }
    }
}

#[test]
fn every_profile() {
    compare(0, Device::Cpu, &DeviceProfile::names());
}

#[test]
fn tall_stacked_matrix() {
    compare(4, Device::Cpu, &["m1-8gb", "h100-80gb"]);
}

/// The profiles of a small and of a large GPU; all of them in a campaign (docs/reference/testing.md).
#[test]
fn conformance_mode() {
    let campaign = std::env::var_os("OPENVM_METAL_TEST_CAMPAIGN").is_some_and(|v| v == "1");
    let names = match campaign {
        true => DeviceProfile::names(),
        false => vec!["m1-8gb", "h100-80gb"],
    };
    compare(0, Device::CpuConformance, &names);
}
