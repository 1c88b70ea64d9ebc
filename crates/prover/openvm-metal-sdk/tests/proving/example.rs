//! The example guests of the repository: their executables, inputs and configurations.

use std::{fs, path::PathBuf};

use openvm_metal_sdk::{
    decode_elf,
    parameters::{toy_aggregation, toy_app},
    GuestElf, Sdk, SdkBuilder, SdkEngine,
};
use openvm_sdk::StdIn;

/// A guest's folder.
pub struct Example(PathBuf);

impl Example {
    pub fn new(name: &str) -> Self {
        let guests = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/guests");
        Self(PathBuf::from(guests).join(name))
    }

    fn text(&self, file: &str) -> String {
        fs::read_to_string(self.0.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    pub fn configuration(&self) -> String {
        self.text("openvm.toml")
    }

    pub fn elf(&self) -> GuestElf {
        let name = self.0.file_name().unwrap().to_str().unwrap();
        decode_elf(&fs::read(self.0.join(format!("{name}.elf"))).unwrap()).unwrap()
    }

    pub fn input(&self) -> StdIn {
        let json: serde_json::Value = serde_json::from_str(&self.text("input.json")).unwrap();
        let mut stdin = StdIn::default();
        for value in json["input"].as_array().unwrap() {
            stdin.write_bytes(&bytes(
                value.as_str().unwrap().strip_prefix("0x01").unwrap(),
            ));
        }
        stdin
    }

    pub fn public_values(&self) -> Vec<u8> {
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

/// Toy parameters for programs of a configuration: the lookup table of multiplication has 2^21 rows.
pub fn builder<E: SdkEngine>(device: E::Device, toml: &str) -> SdkBuilder<E> {
    Sdk::builder(device)
        .toml(toml)
        .unwrap()
        .min_security_bits(0.0)
        .app_params(toy_app(21))
        .agg_params(toy_aggregation(19))
}
