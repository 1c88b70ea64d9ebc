//! Root proofs: OpenVM's verifier accepts them with its own transcript, and changes of them are noticed.

use std::sync::Arc;

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    engine::MetalEngine,
    files,
    parameters::{toy_aggregation, toy_root, TOY_AGGREGATION_LOG_HEIGHT},
    root::{verify_root, RootSC},
    AppExecutionCommit, MetalSdk, ProveOptions, RootProvingKey, SdkBuilder, SdkError,
};
use openvm_stark_backend::{codec::Encode, proof::Proof};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use crate::{
    guest::{elf, sum, sums},
    setup::{self, input},
};

/// Rows of the stacked matrices of the toy root circuit, as a power of two.
const LOG_HEIGHT: usize = 20;

/// With aggregation circuits whose proofs are of one size, whatever they verify.
fn builder() -> SdkBuilder<MetalEngine> {
    setup::builder(Device::Cpu).agg_params(toy_aggregation(TOY_AGGREGATION_LOG_HEIGHT))
}

/// The root proof of an execution is accepted, and changes of it are not.
#[test]
fn a_root_proof_of_an_execution() {
    let made = builder().root_params(toy_root(LOG_HEIGHT));
    let made = made.build().unwrap();
    let (vk, proof, commit) = prove(&made, &made, 20);
    changes_are_refused(&vk, &proof, &commit);

    let key = made.root_pk().unwrap();
    let read = |key: &RootProvingKey| {
        let bytes = files::to_bytes("a root key", key).unwrap();
        files::root_pk_from_bytes(&bytes)
    };
    assert_eq!(read(&key).unwrap().trace_heights, key.trace_heights);
    for height in [0, 3, 2 << LOG_HEIGHT] {
        let mut other = key.clone();
        other.trace_heights[1] = height;
        let error = read(&other).err().expect("no trace has such a height");
        assert!(error.to_string().contains("power of two"), "{error}");
    }
}

/// Executions of one segment and of several, by a key that is made and by the same key given.
#[test]
#[ignore = "two minutes on two cores: a campaign by command"]
fn proofs_of_any_length_have_one_root_key() {
    let made = builder().root_params(toy_root(LOG_HEIGHT));
    let made = made.build().unwrap();
    let key = made.root_pk().unwrap();
    let with_key = |key| {
        let builder = MetalSdk::builder(Device::Cpu).min_security_bits(0.0);
        let builder = builder.app_pk(made.app_pk().unwrap().as_ref().clone());
        let builder = builder.agg_pk(made.agg_pk().unwrap());
        let builder = builder.agg_tree_config(setup::tree());
        builder.root_pk(key).build()
    };
    let given = with_key(key.clone()).unwrap();
    let (vk, ..) = prove(&made, &made, 20);
    let (same, proof, _) = prove(&made, &given, 900);
    // Its bytes are a function of the job.
    let (_, again, _) = prove(&made, &made, 900);
    assert!(again.encode_to_vec().unwrap() == proof.encode_to_vec().unwrap());
    assert_eq!(same.pre_hash, vk.pre_hash);
    assert_eq!(given.root_pk().unwrap().trace_heights, key.trace_heights);

    // A key with other heights than its circuit has AIRs is of another circuit.
    let mut short = key;
    short.trace_heights.pop();
    let error = with_key(short).unwrap().root_keys().err();
    let error = error.expect("heights are missing");
    assert!(matches!(error, SdkError::ForeignKey { .. }), "{error}");
}

/// Proves the sum of `n` numbers, and that proof by the root circuit of `root`, which OpenVM's verifier accepts: its key, the proof and the
/// commitments.
fn prove(sdk: &MetalSdk, root: &MetalSdk, n: u32) -> (Arc<Key>, Proof<RootSC>, AppExecutionCommit) {
    let (options, program) = (ProveOptions::default(), sums(n));
    let proved = sdk.prove(elf(&program), input(), &options).unwrap();
    let proof = root
        .prove_root(&proved.baseline, &proved.proof, &options)
        .unwrap();
    assert_eq!(proof.verified.public_values, proved.public_values);
    assert_eq!(proof.verified.public_values[..4], sum(n).to_le_bytes());
    let commit = sdk.app_commit(elf(&program)).unwrap();
    assert_eq!(proof.verified.app_exe_commit, commit.app_exe_commit);
    assert_eq!(proof.verified.app_vm_commit, Some(commit.app_vm_commit));
    (root.root_vk().unwrap(), proof.proof, commit)
}

type Key = openvm_stark_backend::keygen::types::MultiStarkVerifyingKey<RootSC>;

/// A changed public value, program, machine, key or number of the proof.
fn changes_are_refused(vk: &Key, proof: &Proof<RootSC>, commit: &AppExecutionCommit) {
    let refused = |vk: &Key, proof: &Proof<RootSC>, commit: &AppExecutionCommit| {
        let error = verify_root(vk, proof, Some(commit), 0.0).expect_err("something was changed");
        error.to_string()
    };
    assert!(verify_root(vk, proof, None, 0.0).is_ok());
    let weak = verify_root(vk, proof, Some(commit), 80.0);
    assert!(matches!(weak, Err(SdkError::Insecure { .. })));

    let mut other = proof.clone();
    other.public_values[1][0] += F::ONE;
    assert!(refused(vk, &other, commit).contains("root proof is not accepted"));
    let mut other = proof.clone();
    other.public_values[0][0] += F::ONE;
    assert!(refused(vk, &other, commit).contains("root proof is not accepted"));
    let mut other = proof.clone();
    other.whir_proof.final_poly.as_mut_slice()[0] +=
        openvm_stark_sdk::config::baby_bear_poseidon2::EF::ONE;
    assert!(refused(vk, &other, commit).contains("root proof is not accepted"));
    let mut other = proof.clone();
    other.public_values.truncate(1);
    refused(vk, &other, commit);

    let (exe, vm) = (commit.app_exe_commit, commit.app_vm_commit);
    let other = AppExecutionCommit {
        app_exe_commit: vm,
        app_vm_commit: vm,
    };
    assert!(refused(vk, proof, &other).contains("executable"));
    let other = AppExecutionCommit {
        app_exe_commit: exe,
        app_vm_commit: exe,
    };
    assert!(refused(vk, proof, &other).contains("virtual machine"));

    let mut forged = vk.clone();
    forged.inner.params.whir.mu_pow_bits += 1;
    assert!(refused(&forged, proof, commit).contains("damaged or forged"));
}
