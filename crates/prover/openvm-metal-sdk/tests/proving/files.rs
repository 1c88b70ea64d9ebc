//! Keys, executables, commitments and proofs in files, from here to the stock SDK and back.
//!
//! Names, types and calls are those of cargo-openvm 2.0.2's `build`, `keygen`, `setup`, `commit`, `prove` and `verify`. Its
//! own code is no dependency: it needs AWS's libraries and OpenVM's root prover.

use std::{env, path::Path, sync::Arc};

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    files, parameters::toy_app, verify, verify_app, MetalSdk, ProveOptions, Sdk, SdkError,
};
use openvm_sdk::{
    config::AppConfig,
    fs,
    keygen::{AggPrefixProvingKey, AggProvingKey, AppProvingKey, AppVerifyingKey},
    prover::verify_app_proof_with_expected_exe_commit,
    types::{AppExecutionCommit, VerificationBaselineJson, VersionedVmStarkProof},
    DefaultStarkEngine, Sdk as StockSdk,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_backend::keygen::types::MultiStarkProvingKey;
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2Config as SC;
use openvm_verify_stark_host::VmStarkProof;

use crate::{
    faulty::Faulty,
    guest::{elf, elf_bytes, sums},
    setup::{agg_params, app_config, app_params, input, sdk, tree, vm_config, CAMPAIGN},
};

const ROUNDS: u32 = 10;

/// Reads a file as cargo-openvm reads a key, an executable or an application proof.
fn theirs<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    fs::read_object_from_file(path).unwrap()
}

/// Reads a file as cargo-openvm reads commitments and aggregated proofs.
fn their_json<T: serde::de::DeserializeOwned>(path: &Path) -> T {
    fs::read_from_file_json(path).unwrap()
}

#[test]
fn our_files_load_in_the_stock_sdk() {
    let folder = tempfile::tempdir().unwrap();
    let [app_pk, app_vk, prefix, agg_pk, agg_vk, exe, app_proof, proof, commit, baseline] = [
        files::APP_PK,
        files::APP_VK,
        files::AGG_PREFIX_PK,
        files::INTERNAL_RECURSIVE_PK,
        files::INTERNAL_RECURSIVE_VK,
        "a.vmexe",
        "a.app.proof",
        "a.stark.proof",
        "a.commit.json",
        "a.baseline.json",
    ]
    .map(|name| folder.path().join(name));
    let guest = sdk().executable(elf(&sums(ROUNDS))).unwrap();
    let options = ProveOptions::default();
    files::write_app_pk(&app_pk, &sdk().app_pk().unwrap()).unwrap();
    files::write_app_vk(&app_vk, &sdk().app_vk().unwrap()).unwrap();
    let keys = sdk().agg_pk().unwrap();
    files::write_agg_prefix_pk(&prefix, &keys.prefix).unwrap();
    files::write_internal_recursive_pk(&agg_pk, &keys.internal_recursive).unwrap();
    files::write_agg_vk(&agg_vk, &sdk().agg_vk().unwrap()).unwrap();
    files::write_exe(&exe, &guest).unwrap();
    let (segments, _) = sdk().prove_app(guest.clone(), input(), &options).unwrap();
    files::write_app_proof(&app_proof, &segments).unwrap();
    let proved = sdk().prove(guest.clone(), input(), &options).unwrap();
    files::write_proof(&proof, &proved.proof).unwrap();
    files::write_commit(&commit, &sdk().app_commit(guest).unwrap()).unwrap();
    files::write_baseline(&baseline, &proved.baseline).unwrap();

    // The stock SDK computes the same commitments from the keys and the executable.
    let stock = StockSdk::builder()
        .app_pk(theirs::<AppProvingKey<SdkVmConfig>>(&app_pk))
        .agg_pk(AggProvingKey {
            prefix: theirs::<AggPrefixProvingKey>(&prefix),
            internal_recursive: theirs::<Arc<MultiStarkProvingKey<SC>>>(&agg_pk),
        })
        .agg_tree_config(tree())
        .build()
        .unwrap();
    let prover = stock
        .prover(theirs::<openvm_circuit::arch::instructions::exe::VmExe<_>>(
            &exe,
        ))
        .unwrap();
    let of_stock = prover.generate_baseline();
    let commits: AppExecutionCommit = their_json(&commit);
    assert_eq!(commits, stock.app_commit(elf_bytes(&sums(ROUNDS))).unwrap());
    let read = VerificationBaselineJson::from(of_stock.clone());
    let written: VerificationBaselineJson = their_json(&baseline);
    let text = |json| serde_json::to_string(json).unwrap();
    assert_eq!(text(&written), text(&read));

    // Its verifiers accept the proofs, with its own keys and with those in our files.
    let app_vk: AppVerifyingKey = theirs(&app_vk);
    let segments = theirs(&app_proof);
    let expected = Some(commits.app_exe_commit.into());
    let verify_segments = verify_app_proof_with_expected_exe_commit::<DefaultStarkEngine>;
    verify_segments(&app_vk, &segments, expected).unwrap();
    let proof = VmStarkProof::try_from(their_json::<VersionedVmStarkProof>(&proof)).unwrap();
    let own = stock.agg_vk().as_ref().clone();
    StockSdk::verify_proof(own, of_stock, &proof).unwrap();
    StockSdk::verify_proof(theirs(&agg_vk), written.into(), &proof).unwrap();
}

#[test]
fn the_stock_sdks_files_load_here() {
    let folder = tempfile::tempdir().unwrap();
    let [app_pk, app_vk, prefix, agg_pk, agg_vk, exe, app_proof, proof, commit, baseline] = [
        files::APP_PK,
        files::APP_VK,
        files::AGG_PREFIX_PK,
        files::INTERNAL_RECURSIVE_PK,
        files::INTERNAL_RECURSIVE_VK,
        "a.vmexe",
        "a.app.proof",
        "a.stark.proof",
        "a.commit.json",
        "a.baseline.json",
    ]
    .map(|name| folder.path().join(name));
    let stock = StockSdk::builder()
        .app_config(app_config())
        .agg_params(agg_params())
        .agg_tree_config(tree())
        .build()
        .unwrap();
    let stock_guest = stock.convert_to_exe(elf_bytes(&sums(ROUNDS))).unwrap();
    fs::write_object_to_file(&exe, stock_guest.as_ref()).unwrap();
    fs::write_object_to_file(&app_pk, stock.app_pk()).unwrap();
    fs::write_object_to_file(&app_vk, stock.app_pk().get_app_vk()).unwrap();
    fs::write_object_to_file(&prefix, stock.agg_prefix_pk()).unwrap();
    let internal_recursive_pk = stock.agg_pk().internal_recursive;
    let internal_recursive_vk = internal_recursive_pk.get_vk();
    fs::write_object_to_file(&agg_pk, internal_recursive_pk).unwrap();
    fs::write_object_to_file(&agg_vk, internal_recursive_vk).unwrap();
    let mut prover = stock.app_prover(stock_guest.clone()).unwrap();
    fs::write_object_to_file(&app_proof, prover.prove(input()).unwrap()).unwrap();
    let commits = stock.app_commit(stock_guest.clone()).unwrap();
    fs::write_to_file_json(&commit, &commits).unwrap();
    let of_stock = stock
        .prover(stock_guest.clone())
        .unwrap()
        .generate_baseline();
    let json = VerificationBaselineJson::from(of_stock);
    fs::write_to_file_json(&baseline, &json).unwrap();

    // The prefix is found beside the application's key.
    let found = files::find_agg_keys(&app_pk, Some(agg_pk), None).unwrap();
    let ours: MetalSdk = Sdk::builder(Device::Cpu)
        .min_security_bits(0.0)
        .app_pk(files::read_app_pk(&app_pk).unwrap())
        .agg_pk(found.expect("a key is named").read().unwrap())
        .agg_tree_config(tree())
        .build()
        .unwrap();
    let guest = files::read_exe(&exe).unwrap();
    let read = files::read_commit(&commit).unwrap();
    assert_eq!(read, ours.app_commit(guest.clone()).unwrap());
    let read = files::read_baseline(&baseline).unwrap();
    let own = ours.baseline(guest.clone()).unwrap();
    assert_eq!(read.app_exe_commit, own.app_exe_commit);

    // Proofs of the stock SDK.
    let app_vk = files::read_app_vk(&app_vk).unwrap();
    let segments = files::read_app_proof(&app_proof).unwrap();
    let expected = Some(commits.app_exe_commit.into());
    verify_app(&app_vk, &segments, expected, Some(&read), 0.0).unwrap();
    ours.verify_app(guest.clone(), &segments).unwrap();
    let agg_vk = files::read_agg_vk(&agg_vk).unwrap();
    if env::var_os(CAMPAIGN).is_some() {
        let (stock_proof, _) = stock.prove(stock_guest, input(), &[]).unwrap();
        fs::write_to_file_json(&proof, VersionedVmStarkProof::new(stock_proof).unwrap()).unwrap();
        verify(&agg_vk, &read, &files::read_proof(&proof).unwrap(), 0.0).unwrap();
    }

    // And with its keys, a proof of ours that its verifier accepts.
    let proved = ours
        .prove(guest, input(), &ProveOptions::default())
        .unwrap();
    verify(&agg_vk, &read, &proved.proof, 0.0).unwrap();
}

/// Aggregation keys above another application's are refused when they are loaded, however alike the circuits are: other
/// extensions, other parameters of the same extensions.
#[test]
fn aggregation_keys_of_another_application() {
    let with_keccak = SdkVmConfig::builder()
        .system(Default::default())
        .rv32i(Default::default())
        .io(Default::default())
        .keccak(Default::default())
        .build()
        .optimize();
    for (config, params) in [(with_keccak, app_params()), (vm_config(), toy_app(19))] {
        let foreign: MetalSdk = Sdk::builder(Device::Cpu)
            .min_security_bits(0.0)
            .app_pk(AppProvingKey::keygen(AppConfig::new(config, params)).unwrap())
            .agg_pk(sdk().agg_pk().unwrap())
            .build()
            .unwrap();
        let error = foreign.agg_vk().expect_err("they are of another one");
        assert!(matches!(error, SdkError::ForeignKey { .. }), "{error}");
        let error = foreign.prove(elf(&sums(ROUNDS)), input(), &ProveOptions::default());
        let error = error.err().expect("the keys are of another application");
        assert!(matches!(error, SdkError::ForeignKey { .. }), "{error}");
    }
}

/// An error of the aggregation keys ends segments that do not wait for them.
#[test]
fn aggregation_keys_that_fail_during_segments() {
    let config = AppConfig::new(vm_config(), toy_app(19));
    let foreign: Sdk<Faulty> = Sdk::builder(("keys during segments", usize::MAX))
        .min_security_bits(0.0)
        .app_pk(AppProvingKey::keygen(config).unwrap())
        .agg_pk(sdk().agg_pk().unwrap())
        .generic_build()
        .unwrap();
    let exe = sdk().executable(elf(&sums(ROUNDS))).unwrap();
    let error = foreign.generic_prove(exe, input(), &ProveOptions::default());
    let error = error.err().expect("the keys are of another application");
    assert!(matches!(error, SdkError::ForeignKey { .. }), "{error}");
}

#[test]
fn damaged_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("app.pk");
    files::write_app_pk(&path, &sdk().app_pk().unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = files::read_app_pk(&path).err().expect("half a key");
    assert!(error.to_string().contains("app.pk"), "{error}");
    let error = files::read_exe(&path).expect_err("half a key is no executable");
    assert!(error.to_string().contains("an executable"), "{error}");
    let error = files::read_proof(&path).expect_err("half a key is no proof");
    assert!(error.to_string().contains("a proof"), "{error}");
    let error = files::read_app_pk(&folder.path().join("none"))
        .err()
        .unwrap();
    assert!(error.to_string().contains("none"), "{error}");
}
