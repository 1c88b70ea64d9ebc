//! Common start of programs that measure proofs.

use std::{error::Error, fs, sync::Arc};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_sdk::{decode_elf, DeviceList, MetalSdk};
use openvm_sdk::{StdIn, F};
use openvm_sdk_config::SdkVmConfig;

/// The command's allocator.
#[global_allocator]
static ALLOCATOR: openvm_metal_sdk::HugePages = openvm_metal_sdk::HugePages;

/// A program with its input, and the SDK that proves it: RV32IM, OpenVM's default parameters.
pub struct Job {
    pub sdk: MetalSdk,
    pub exe: Arc<VmExe<F>>,
    pub input: StdIn,
}

impl Job {
    /// `elf` is a file, `value` the input in hexadecimal, `devices` as `--devices` of the command takes them, `bytes` the
    /// memory of a segment.
    pub fn new(elf: &str, value: &str, devices: &str, bytes: &str) -> Result<Self, Box<dyn Error>> {
        let devices: DeviceList = devices.parse()?;
        let devices = devices.resolve(|missing| eprintln!("{missing}"));
        let sdk = MetalSdk::builder(devices[0])
            .devices(devices)
            .vm_config(SdkVmConfig::riscv32())
            .segment_max_memory(bytes.parse()?)
            .build()?;
        Ok(Self {
            exe: sdk.executable(decode_elf(&fs::read(elf)?)?)?,
            sdk,
            input: StdIn::from_bytes(&decode(value)?),
        })
    }
}

/// Bytes of hexadecimal digits.
fn decode(text: &str) -> Result<Vec<u8>, Box<dyn Error>> {
    let digits: Vec<char> = text.chars().collect();
    digits
        .chunks(2)
        .map(|pair| Ok(u8::from_str_radix(&pair.iter().collect::<String>(), 16)?))
        .collect()
}
