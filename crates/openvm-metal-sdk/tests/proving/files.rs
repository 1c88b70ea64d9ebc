//! Keys and proofs in files, from here to the stock SDK and back.

use std::env;

use openvm_metal_common::Device;
use openvm_metal_sdk::{files, verify, MetalSdk, ProveOptions, Sdk};
use openvm_sdk::{fs, types::VersionedVmStarkProof, Sdk as StockSdk};
use openvm_verify_stark_host::VmStarkProof;

use crate::{
    guest::{elf, sums},
    setup::{agg_params, app_config, input, sdk, tree, CAMPAIGN},
};

fn folder(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("openvm-metal-sdk-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[test]
fn our_files_load_in_the_stock_sdk() {
    let folder = folder("ours");
    let (app_pk, agg_pk, proof) = (
        folder.join("app.pk"),
        folder.join("agg.pk"),
        folder.join("proof.json"),
    );
    let guest = || elf(&sums(10));
    let options = ProveOptions::default();
    files::write_app_pk(&app_pk, &sdk().app_pk().unwrap()).unwrap();
    files::write_agg_pk(&agg_pk, &sdk().agg_pk().unwrap()).unwrap();
    let proved = sdk().prove(guest(), input(), &options).unwrap();
    files::write_proof(&proof, &proved.proof).unwrap();

    let stock = StockSdk::builder()
        .app_pk(fs::read_object_from_file(&app_pk).unwrap())
        .agg_pk(fs::read_object_from_file(&agg_pk).unwrap())
        .agg_tree_config(tree())
        .build()
        .unwrap();
    let versioned: VersionedVmStarkProof = fs::read_from_file_json(&proof).unwrap();
    let baseline = stock.prover(guest()).unwrap().generate_baseline();
    StockSdk::verify_proof(
        stock.agg_vk().as_ref().clone(),
        baseline,
        &VmStarkProof::try_from(versioned).unwrap(),
    )
    .unwrap();
    let commit = stock.app_commit(guest()).unwrap();
    assert_eq!(commit, sdk().app_commit(guest()).unwrap());
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_stock_sdks_files_load_here() {
    let folder = folder("stock");
    let (app_pk, agg_pk, exe, proof, kept) = (
        folder.join("app.pk"),
        folder.join("agg.pk"),
        folder.join("guest.vmexe"),
        folder.join("proof.json"),
        folder.join("baseline.json"),
    );
    let stock = StockSdk::builder()
        .app_config(app_config())
        .agg_params(agg_params())
        .agg_tree_config(tree())
        .build()
        .unwrap();
    let stock_guest = stock.convert_to_exe(elf(&sums(10))).unwrap();
    fs::write_object_to_file(&exe, stock_guest.as_ref()).unwrap();
    fs::write_object_to_file(&app_pk, stock.app_pk()).unwrap();
    fs::write_object_to_file(&agg_pk, stock.agg_pk()).unwrap();
    let stock_baseline = stock
        .prover(stock_guest.clone())
        .unwrap()
        .generate_baseline();

    let ours: MetalSdk = Sdk::builder(Device::Cpu)
        .app_pk(files::read_app_pk(&app_pk).unwrap())
        .agg_pk(files::read_agg_pk(&agg_pk).unwrap())
        .agg_tree_config(tree())
        .build()
        .unwrap();
    let guest = files::read_exe(&exe).unwrap();
    let baseline = ours.baseline(guest.clone()).unwrap();
    assert_eq!(baseline.app_exe_commit, stock_baseline.app_exe_commit);
    files::write_baseline(&kept, &stock_baseline).unwrap();
    let kept = files::read_baseline(&kept).unwrap();
    if env::var_os(CAMPAIGN).is_some() {
        let (stock_proof, _) = stock.prove(stock_guest, input(), &[]).unwrap();
        fs::write_to_file_json(&proof, VersionedVmStarkProof::new(stock_proof).unwrap()).unwrap();
        ours.verify(&baseline, &files::read_proof(&proof).unwrap())
            .unwrap();
    }

    // And with those keys, a proof of ours that the stock verifier accepts.
    let proved = ours
        .prove(guest, input(), &ProveOptions::default())
        .unwrap();
    verify(&stock.agg_vk(), &kept, &proved.proof).unwrap();
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn damaged_files_are_told() {
    let folder = folder("damaged");
    let path = folder.join("app.pk");
    files::write_app_pk(&path, &sdk().app_pk().unwrap()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let error = files::read_app_pk(&path).err().expect("half a key");
    assert!(error.to_string().contains("app.pk"), "{error}");
    let error = files::read_exe(&path).expect_err("half a key is no executable");
    assert!(error.to_string().contains("an executable"), "{error}");
    let error = files::read_proof(&path).expect_err("half a key is no proof");
    assert!(error.to_string().contains("a proof"), "{error}");
    let error = files::read_app_pk(&folder.join("none")).err().unwrap();
    assert!(error.to_string().contains("none"), "{error}");
    std::fs::remove_dir_all(folder).unwrap();
}
