//! Processor time and memory of the application proof of one program with default parameters: by this SDK on the processor,
//! or by the stock one.
//!
//! `app_proof ours|stock guest ELF BYTES` gives a guest one value of so many bytes, under the `openvm.toml` beside it;
//! `app_proof ours|stock word` runs 26 instructions that change one word at 64 MiB, `small` a loop over 1,000 words. One process for each figure of memory.

#[path = "../tests/riscv/mod.rs"]
mod riscv;
#[path = "../tests/toy/mod.rs"]
mod toy;
#[path = "support/usage.rs"]
mod usage;

use std::{env, error::Error, fs, path::Path};

use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    decode_elf, executable, verify_app, MetalSdk, ProgramSource, ProveOptions, MIN_SECURITY_BITS,
};
use openvm_sdk::{
    config::{AggregationSystemParams, AppConfig},
    Sdk as StockSdk, StdIn,
};
use openvm_sdk_config::SdkVmConfig;
use openvm_stark_sdk::config::{app_params_with_100_bits_security, MAX_APP_LOG_STACKED_HEIGHT};
use p3_baby_bear::BabyBear as F;
use usage::Phases;

/// A program and input to prove.
struct Job {
    config: SdkVmConfig,
    source: ProgramSource,
    input: StdIn,
}

/// A program of RISC-V instructions alone, without input.
fn of_words(program: impl FnOnce(&SdkVmConfig) -> VmExe<F>) -> Job {
    let config = SdkVmConfig::riscv32();
    Job {
        source: program(&config).into(),
        config,
        input: StdIn::default(),
    }
}

fn job(args: &[&str]) -> Result<Job, Box<dyn Error>> {
    match args {
        ["word"] => Ok(of_words(toy::word_at_64_mib)),
        ["small"] => Ok(of_words(|config| toy::small(config, 1000))),
        ["guest", elf, bytes] => {
            let toml = Path::new(elf).with_file_name("openvm.toml");
            Ok(Job {
                config: SdkVmConfig::from_toml(&fs::read_to_string(toml)?)?,
                source: decode_elf(&fs::read(elf)?)?.into(),
                input: StdIn::from_bytes(&vec![7; bytes.parse()?]),
            })
        }
        _ => {
            Err("app_proof ours|stock word, ours|stock small, or ours|stock guest ELF BYTES".into())
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let (engine, what) = args.split_first().ok_or("ours or stock?")?;
    let Job {
        config,
        source,
        input,
    } = job(what)?;
    let exe = executable(&config, source)?;
    let mut phases = Phases::start();
    let (vk, proof) = match *engine {
        "ours" => {
            let builder = MetalSdk::builder(Device::Cpu).vm_config(config);
            let sdk = builder.build()?;
            let prover = sdk.app_prover(exe)?;
            phases.end("keys and program");
            let (proof, report) = prover.prove(input, &ProveOptions::default())?;
            println!("{} instructions", report.instructions);
            (sdk.app_vk()?, proof)
        }
        "stock" => {
            let params = app_params_with_100_bits_security(MAX_APP_LOG_STACKED_HEIGHT);
            let config = AppConfig::new(config, params);
            let sdk = StockSdk::new(config, AggregationSystemParams::default())?;
            let mut prover = sdk.app_prover(exe)?;
            phases.end("keys and program");
            (sdk.app_pk().get_app_vk(), prover.prove(input)?)
        }
        other => return Err(format!("unknown SDK {other}: ours or stock").into()),
    };
    phases.end("proof");
    println!("{} segments", proof.per_segment.len());
    verify_app(&vk, &proof, None, None, MIN_SECURITY_BITS)?;
    phases.end("verification");
    Ok(())
}
