//! Bits of security: those of OpenVM's default parameters, and the refusal of fewer.

use openvm_continuations::CommitBytes;
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    check_key, security_bits, verify, verify_app, MetalSdk, ProveOptions, Sdk, SdkError,
    MIN_SECURITY_BITS, OPENVM_CIRCUIT,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_verify_stark_host::pvs::VkCommit;

use crate::{
    guest::{elf, sums},
    setup::{agg_params, app_params, input, sdk, vm_config},
};

/// The circuit in which every aggregated proof ends is the one whose commitment is known, for any
/// configuration.
#[test]
fn default_parameters_have_100_bits_and_openvms_circuit() {
    let sdk = MetalSdk::riscv32(Device::Cpu).unwrap();
    assert_eq!(sdk.security_bits().unwrap().floor(), 100.0);
    let keys = sdk.aggregation_keys().unwrap();
    let VkCommit {
        cached_commit,
        vk_pre_hash,
    } = keys.internal_recursive_vk_commit();
    let [cached_commit, vk_pre_hash] =
        [cached_commit, vk_pre_hash].map(|digest| CommitBytes::from(digest).to_string());
    assert_eq!(cached_commit, OPENVM_CIRCUIT.cached_commit);
    assert_eq!(vk_pre_hash, OPENVM_CIRCUIT.vk_pre_hash);
    // OpenVM's key generation computes the hash that `check_key` computes again.
    check_key("the key", keys.verifying_key(), MIN_SECURITY_BITS).unwrap();
}

#[test]
fn parameters_without_security_are_refused_before_work() {
    let weak: MetalSdk = Sdk::builder(Device::Cpu)
        .vm_config(vm_config())
        .app_params(app_params())
        .agg_params(agg_params())
        .build()
        .unwrap();
    let options = ProveOptions::default();
    let guest = || elf(&sums(3));
    for error in [
        weak.prove_app(guest(), input(), &options).err(),
        weak.prove(guest(), input(), &options).err(),
        weak.baseline(guest()).err(),
        weak.app_commit(guest()).err(),
    ] {
        let error = error.expect("parameters of 5 bits");
        assert!(
            matches!(error, SdkError::Insecure { bits, .. } if bits < 6.0),
            "{error}"
        );
        assert!(error.to_string().contains("--allow-insecure"), "{error}");
    }
    // Strong parameters of the application below weak ones of the aggregation.
    let weak: MetalSdk = Sdk::builder(Device::Cpu)
        .vm_config(SdkVmConfig::riscv32())
        .agg_params(agg_params())
        .build()
        .unwrap();
    let error = weak.agg_vk().expect_err("parameters of 5 bits");
    assert!(matches!(error, SdkError::Insecure { .. }), "{error}");
}

#[test]
fn proofs_without_security_are_refused() {
    let options = ProveOptions::default();
    let guest = || elf(&sums(3));
    let (app, report) = sdk().prove_app(guest(), input(), &options).unwrap();
    let app_vk = sdk().app_vk().unwrap();
    let bits = security_bits(&app_vk.vk);
    assert!((0.0..80.0).contains(&bits));
    assert_eq!(report.security_bits, bits);
    let error = verify_app(&app_vk, &app, None, None, MIN_SECURITY_BITS).unwrap_err();
    assert!(matches!(error, SdkError::Insecure { .. }), "{error}");
    let verified = verify_app(&app_vk, &app, None, None, 0.0).unwrap();
    assert_eq!(verified.security_bits, bits);

    let proved = sdk().prove(guest(), input(), &options).unwrap();
    let agg_vk = sdk().agg_vk().unwrap();
    let error = verify(&agg_vk, &proved.baseline, &proved.proof, MIN_SECURITY_BITS).unwrap_err();
    assert!(matches!(error, SdkError::Insecure { .. }), "{error}");
    let verified = verify(&agg_vk, &proved.baseline, &proved.proof, 0.0).unwrap();
    assert!(proved.report.security_bits <= verified.security_bits);
    let commits = sdk().app_commit(guest()).unwrap();
    assert_eq!(verified.app_exe_commit, commits.app_exe_commit);
    assert_eq!(verified.app_vm_commit, Some(commits.app_vm_commit));
    assert_eq!(verified.public_values, proved.public_values);
}
