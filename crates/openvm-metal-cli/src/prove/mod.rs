//! `openvm-metal prove`: a built-in circuit on one of the engines, checked by the stock verifier.

mod report;

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::{Args, ValueEnum};
use openvm_metal_backend::engine::BabyBearPoseidon2MetalEngine;
use openvm_metal_common::StreamCounters;
use openvm_stark_backend::{
    codec::Encode,
    keygen::types::{MultiStarkProvingKey, MultiStarkVerifyingKey},
    proof::Proof,
    prover::{DeviceDataTransporter, Prover},
    StarkEngine,
};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2CpuEngine, BabyBearPoseidon2RefEngine, DuplexSponge},
};

use self::report::Report;
use crate::{
    circuits::{Circuit, CircuitName, SC},
    error::{CliError, Result},
    interrupt, table,
    target_device::DeviceArgs,
};

/// Which prover.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum EngineName {
    /// This project's.
    Metal,
    /// The published reference engine.
    Reference,
    /// The published CPU engine.
    Cpu,
}

#[derive(Args, Debug)]
pub struct ProveArgs {
    /// The circuit.
    circuit: CircuitName,
    /// Keccak-f permutations, or rows of the tallest trace of the other circuits.
    #[arg(long, short = 'n', value_name = "N", default_value = "64")]
    permutations: NonZeroUsize,
    /// log2 of the stacked height.
    #[arg(long, value_name = "H", default_value_t = 21, value_parser = clap::value_parser!(u8).range(14..=24))]
    log_stacked: u8,
    #[command(flatten)]
    device: DeviceArgs,
    /// The prover.
    #[arg(long, value_enum, default_value = "metal")]
    engine: EngineName,
    /// Proofs to make; medians leave the first one out.
    #[arg(long, value_name = "RUNS", default_value_t = 1)]
    runs: usize,
    /// Write the proof to this file.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the verifying key to this file.
    #[arg(long, value_name = "FILE")]
    vk: Option<PathBuf>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// One proof.
struct Run {
    time: Duration,
    proof: Proof<SC>,
    counters: Option<StreamCounters>,
}

/// Runs the command.
///
/// # Errors
/// If the device cannot be used, the input is refused, or the proof is not valid.
pub fn run(args: &ProveArgs) -> Result<()> {
    let params = app_params_with_100_bits_security(args.log_stacked.into());
    let reference = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params.clone());
    let note = |what: &str| {
        if !args.json {
            eprintln!("{what}");
        }
    };
    note("generating the trace and the keys");
    let circuit = Circuit::new(args.circuit, args.permutations.get(), reference.config());
    let (pk, vk) = reference.keygen(&circuit.airs);
    let mut runs = Vec::with_capacity(args.runs);
    let mut device = String::from("host");
    for i in 0..args.runs.max(1) {
        interrupt::check()?;
        note(&format!("proof {} of {}", i + 1, args.runs.max(1)));
        let run = match args.engine {
            EngineName::Metal => {
                let target = args.device.device()?;
                let engine = BabyBearPoseidon2MetalEngine::try_new(params.clone(), target)?;
                device = engine.device().stream()?.context().info().to_string();
                metal(&engine, &pk, &circuit)?
            }
            EngineName::Reference => published("reference", &reference, &pk, &circuit)?,
            EngineName::Cpu => {
                let engine = BabyBearPoseidon2CpuEngine::<DuplexSponge>::new(params.clone());
                published("cpu", &engine, &pk, &circuit)?
            }
        };
        let verified = Instant::now();
        reference
            .verify(&vk, &run.proof)
            .map_err(|error| CliError::Rejected(error.to_string()))?;
        note(&format!(
            "proved in {}, valid (checked in {})",
            table::duration(run.time),
            table::duration(verified.elapsed())
        ));
        runs.push(run);
    }
    write_files(args, &vk, &runs)?;
    Report::new(args, device, &runs)?.print(args.json)
}

fn metal(
    engine: &BabyBearPoseidon2MetalEngine,
    pk: &MultiStarkProvingKey<SC>,
    circuit: &Circuit,
) -> Result<Run> {
    let device = engine.device();
    let device_pk = device.transport_pk_to_device(pk);
    let ctx = device.transport_proving_ctx_to_device(&circuit.ctx);
    let mut prover = engine.prover();
    let start = Instant::now();
    let proof = prover.prove(&device_pk, ctx)?;
    let time = start.elapsed();
    let counters = Some(prover.device.stream()?.counters());
    Ok(Run {
        time,
        proof,
        counters,
    })
}

fn published<E: StarkEngine<SC = SC>>(
    name: &'static str,
    engine: &E,
    pk: &MultiStarkProvingKey<SC>,
    circuit: &Circuit,
) -> Result<Run> {
    let device = engine.device();
    let device_pk = device.transport_pk_to_device(pk);
    let ctx = device.transport_proving_ctx_to_device(&circuit.ctx);
    let start = Instant::now();
    let proof = engine
        .prove(&device_pk, ctx)
        .map_err(|error| CliError::Engine {
            engine: name,
            message: error.to_string(),
        })?;
    Ok(Run {
        time: start.elapsed(),
        proof,
        counters: None,
    })
}

fn write_files(args: &ProveArgs, vk: &MultiStarkVerifyingKey<SC>, runs: &[Run]) -> Result<()> {
    if let (Some(path), Some(run)) = (&args.out, runs.last()) {
        std::fs::write(path, run.proof.encode_to_vec()?)?;
    }
    if let Some(path) = &args.vk {
        let bytes = postcard::to_allocvec(vk).map_err(std::io::Error::other)?;
        std::fs::write(path, bytes)?;
    }
    Ok(())
}
