//! The example guests, from the executables in the repository to one aggregated proof that OpenVM's verifier accepts.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use openvm_metal_common::Device;
use openvm_metal_sdk::{MetalSdk, ProveOptions};
use openvm_sdk::Sdk as StockSdk;

use crate::example::{builder, Example};

/// The SDK of a configuration, made once: guests share them. Traces are made on the device, where it has kernels for their chips.
fn sdk(toml: String) -> Arc<MetalSdk> {
    static KNOWN: Mutex<BTreeMap<String, Arc<MetalSdk>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let made = known.entry(toml).or_insert_with_key(|toml| {
        let builder = builder(Device::Cpu, toml).traces_on_device(true);
        Arc::new(builder.build().unwrap())
    });
    made.clone()
}

/// Executes, proves and aggregates. OpenVM's verifier decides. The host makes rows of no chip that has a kernel.
fn prove(name: &str) {
    let example = Example::new(name);
    let sdk = sdk(example.configuration());
    let exe = sdk.executable(example.elf()).unwrap();
    let options = ProveOptions::default();
    let executed = sdk.execute(exe.clone(), example.input(), &options).unwrap();
    assert_eq!(executed, example.public_values(), "{name} executed");

    let proved = sdk.prove(exe, example.input(), &options).unwrap();
    assert_eq!(proved.public_values, executed, "{name} proved");
    let on_host = &proved.report.rows_on_host;
    let without_kernels = ["PhantomAir", "Modular", "FieldExpression"];
    for air in on_host.keys() {
        let known = without_kernels.iter().any(|part| air.contains(part));
        assert!(known, "{name}: the host made the rows of {air}");
    }
    let of_curves = on_host.keys().any(|air| air.contains("FieldExpression"));
    assert_eq!(of_curves, matches!(name, "ecdsa" | "kzg"), "{on_host:?}");
    let vk = sdk.agg_vk().unwrap();
    StockSdk::verify_proof(vk.as_ref().clone(), proved.baseline, &proved.proof).unwrap();
}

/// A test for each guest.
macro_rules! examples {
    ($($(#[$attribute:meta])? $name:ident)*) => {
        $(#[test]
        $(#[$attribute])?
        fn $name() {
            prove(stringify!($name));
        })*
    };
}

examples!(
    fibonacci sha256 keccak256 bigint ecdsa json words
    #[ignore = "a minute on two cores: a campaign by command"]
    evm
    #[ignore = "two minutes on two cores: a campaign by command"]
    kzg
);
