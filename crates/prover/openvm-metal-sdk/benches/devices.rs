//! Measures a program on several devices: proves it again and again in one process, which keeps keys and the committed
//! program, and prints one line of JSON for each proof.
//!
//! `devices ELF VALUE DEVICES PROOFS SEGMENT_BYTES [MACHINES,IN_FLIGHT ...]`: `VALUE` is the input in hexadecimal;
//! `DEVICES` as `--devices` of the command takes them. There are so many proofs with each pair of numbers, of which `-` is
//! the default. The program gets RV32IM and OpenVM's default parameters. The first proof has keys, kernels and the
//! commitment of the program in its time.

mod support;

use std::{env, error::Error};

use openvm_metal_sdk::ProveOptions;
use support::Job;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = env::args().skip(1).collect();
    let [elf, value, devices, proofs, bytes, settings @ ..] = args.as_slice() else {
        return Err("ELF VALUE DEVICES PROOFS SEGMENT_BYTES [MACHINES,IN_FLIGHT ...]".into());
    };
    let mut settings = settings.to_vec();
    if settings.is_empty() {
        settings.push(String::new());
    }
    let Job { sdk, exe, input } = Job::new(elf, value, devices, bytes)?;
    for setting in settings {
        let number = |n: &str| match n {
            "" | "-" => Ok(None),
            n => n.parse().map(Some),
        };
        let (machines, in_flight) = setting.split_once(',').unwrap_or((&setting, ""));
        let mut options = ProveOptions::default();
        options.machines = number(machines)?;
        options.in_flight = number(in_flight)?;
        for _ in 0..proofs.parse::<usize>()? {
            let (_, app) = sdk.prove_app(exe.clone(), input.clone(), &options)?;
            let app = serde_json::to_string(&app)?;
            println!("{{\"setting\":\"{setting}\",\"app\":{app}}}");
            let proved = sdk.prove(exe.clone(), input.clone(), &options)?;
            let stark = serde_json::to_string(&proved.report)?;
            println!("{{\"setting\":\"{setting}\",\"stark\":{stark}}}");
        }
    }
    Ok(())
}
