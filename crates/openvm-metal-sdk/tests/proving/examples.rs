//! The example guests, from the executables in the repository to proofs that OpenVM's verifiers accept.

use std::{
    collections::BTreeMap,
    env, fs,
    path::PathBuf,
    sync::{Arc, Mutex},
};

use openvm_metal_common::Device;
use openvm_metal_sdk::{
    decode_elf,
    parameters::{toy_aggregation, toy_app},
    MetalSdk, ProveOptions,
};
use openvm_sdk::{Sdk as StockSdk, StdIn};

use crate::setup::CAMPAIGN;

/// Guests whose proofs are always aggregated.
const SAMPLE: [&str; 2] = ["fibonacci", "ecdsa"];

/// A guest's folder.
struct Example(PathBuf);

impl Example {
    fn new(name: &str) -> Self {
        let guests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/guests");
        Self(PathBuf::from(guests).join(name))
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    fn elf(&self) -> Vec<u8> {
        let name = self.0.file_name().unwrap().to_str().unwrap();
        fs::read(self.0.join(format!("{name}.elf"))).unwrap()
    }

    fn input(&self) -> StdIn {
        let json: serde_json::Value = serde_json::from_str(&self.text("input.json")).unwrap();
        let mut stdin = StdIn::default();
        for value in json["input"].as_array().unwrap() {
            stdin.write_bytes(&bytes(
                value.as_str().unwrap().strip_prefix("0x01").unwrap(),
            ));
        }
        stdin
    }

    fn public_values(&self) -> Vec<u8> {
        let json: serde_json::Value = serde_json::from_str(&self.text("expected.json")).unwrap();
        bytes(
            json["public_values"]
                .as_str()
                .unwrap()
                .strip_prefix("0x")
                .unwrap(),
        )
    }
}

fn bytes(hex: &str) -> Vec<u8> {
    let digit = |at: usize| u8::from_str_radix(&hex[at..at + 2], 16).unwrap();
    (0..hex.len()).step_by(2).map(digit).collect()
}

/// The SDK of a configuration, made once: guests share them.
fn sdk(toml: &str) -> Arc<MetalSdk> {
    static KNOWN: Mutex<BTreeMap<String, Arc<MetalSdk>>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap();
    let made = known.entry(toml.to_owned()).or_insert_with(|| {
        // The lookup table of multiplication has 2^21 rows.
        let builder = MetalSdk::builder(Device::Cpu).toml(toml).unwrap();
        let builder = builder
            .app_params(toy_app(21))
            .agg_params(toy_aggregation(19));
        Arc::new(builder.build().unwrap())
    });
    made.clone()
}

/// Executes and proves; of a sample, and of all in a campaign, the proof is aggregated. OpenVM's verifiers decide.
fn prove(name: &str) {
    let example = Example::new(name);
    let sdk = sdk(&example.text("openvm.toml"));
    let exe = sdk.executable(decode_elf(&example.elf()).unwrap()).unwrap();
    let options = ProveOptions::default();
    let executed = sdk.execute(exe.clone(), example.input(), &options).unwrap();
    assert_eq!(executed, example.public_values(), "{name} executed");

    if !SAMPLE.contains(&name) && env::var_os(CAMPAIGN).is_none() {
        let (proof, _) = sdk
            .prove_app(exe.clone(), example.input(), &options)
            .unwrap();
        return sdk.verify_app(exe, &proof).unwrap();
    }
    let proved = sdk.prove(exe, example.input(), &options).unwrap();
    assert_eq!(proved.public_values, executed, "{name} proved");
    let vk = sdk.agg_vk().unwrap();
    StockSdk::verify_proof(vk.as_ref().clone(), proved.baseline, &proved.proof).unwrap();
}

/// A test for each guest.
macro_rules! examples {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            prove(stringify!($name));
        })*
    };
}

examples!(fibonacci sha256 keccak256 bigint ecdsa json words evm kzg);
