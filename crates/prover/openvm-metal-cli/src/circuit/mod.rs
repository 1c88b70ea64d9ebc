//! `openvm-metal circuit`: a proof of a built-in circuit by one of the engines, checked by the stock verifier.

pub mod catalogue;
mod report;
pub mod verify;

use std::{
    num::NonZeroUsize,
    path::PathBuf,
    time::{Duration, Instant},
};

use clap::Args;
#[cfg(feature = "reference")]
use clap::ValueEnum;
use openvm_metal_backend::{
    compile_kernels, BabyBearPoseidon2MetalEngine, MetalBackend, MetalProverConfig,
};
use openvm_metal_common::{host_memory, DeviceKind, ProfileTable, StreamCounters};
use openvm_metal_sdk::files;
#[cfg(feature = "reference")]
use openvm_stark_backend::keygen::types::MultiStarkProvingKey;
use openvm_stark_backend::{
    keygen::types::MultiStarkVerifyingKey,
    proof::Proof,
    prover::{DeviceDataTransporter, DeviceMultiStarkProvingKey},
    StarkEngine, SystemParams,
};
#[cfg(feature = "reference")]
use openvm_stark_sdk::config::baby_bear_poseidon2::BabyBearPoseidon2CpuEngine;
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{BabyBearPoseidon2RefEngine, DuplexSponge},
};

use self::{
    catalogue::{dimensions, Circuit, CircuitName, Dimensions, SC},
    report::Report,
};
use crate::{
    error::{CliError, Result},
    file, interrupt,
    outputs::Outputs,
    progress::Progress,
    table,
    target_device::DeviceArgs,
};

/// Name of a prover.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "reference", derive(ValueEnum))]
pub enum EngineName {
    /// This project's engine.
    #[default]
    Metal,
    /// OpenVM's reference engine.
    #[cfg(feature = "reference")]
    Reference,
    /// OpenVM's CPU engine.
    #[cfg(feature = "reference")]
    Cpu,
}

#[derive(Args, Debug)]
pub struct CircuitArgs {
    /// Circuit to prove.
    circuit: CircuitName,
    /// Prove N permutations of keccakf, or N rows of the tallest trace of another circuit.
    #[arg(long, short = 'n', value_name = "N", default_value = "64")]
    permutations: NonZeroUsize,
    /// Set the stacked height to 2^H.
    #[arg(long, value_name = "H", default_value_t = 21, value_parser = clap::value_parser!(u8).range(14..=24))]
    log_stacked: u8,
    /// Select the prover.
    #[cfg(feature = "reference")]
    #[arg(long, value_enum, default_value = "metal")]
    engine: EngineName,
    #[cfg(not(feature = "reference"))]
    #[arg(skip)]
    engine: EngineName,
    /// Make this many proofs; the median leaves the first one out.
    #[arg(long, value_name = "RUNS", default_value = "1")]
    runs: NonZeroUsize,
    /// Take precompiled constraint kernels from DIR. OPENVM_METAL_CONSTRAINT_KERNELS=generated compiles the missing ones and keeps
    /// them there.
    #[arg(long, value_name = "DIR")]
    kernels: Option<PathBuf>,
    /// Compile the constraint kernels for CUDA devices into DIR, for machines without a compiler, and make no proof.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kernels", "out", "vk", "json"])]
    emit_kernels: Option<PathBuf>,
    /// Write the proof to FILE.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the verifying key to FILE.
    #[arg(long, value_name = "FILE")]
    vk: Option<PathBuf>,
    /// Print one JSON object instead of tables.
    #[arg(long)]
    json: bool,
}

/// One proof.
pub struct Run {
    /// Time of the proof.
    pub time: Duration,
    /// The proof.
    pub proof: Proof<SC>,
    /// Counters of our engine only.
    pub counters: Option<StreamCounters>,
}

/// Runs the command.
///
/// # Errors
/// If the device cannot be used, the input is refused, or the proof is not valid.
pub fn run(args: &CircuitArgs, device: DeviceArgs) -> Result<()> {
    check(args, device)?;
    interrupt::at_once();
    let params = app_params_with_100_bits_security(args.log_stacked.into());
    let reference = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params.clone());
    let note = |what: &str| {
        if !args.json {
            table::note(what);
        }
    };
    if let Some(folder) = &args.emit_kernels {
        let circuit = Circuit::new(args.circuit, 1, reference.config());
        let (pk, _) = reference.keygen(&circuit.airs);
        let units = compile_kernels(DeviceKind::Cuda, folder, &pk)?;
        return table::line(format_args!("{units} units in {}", folder.display()));
    }
    let engine = match args.engine {
        EngineName::Metal => Some(metal_engine(args, params.clone(), device)?),
        #[cfg(feature = "reference")]
        EngineName::Reference | EngineName::Cpu => None,
    };
    note("generating the trace and the keys");
    let circuit = Circuit::new(args.circuit, args.permutations.get(), reference.config());
    let (pk, vk) = reference.keygen(&circuit.airs);
    let device = match &engine {
        Some(engine) => engine.device().stream()?.context().info().to_string(),
        None => String::from("host"),
    };
    let device_pk = engine
        .as_ref()
        .map(|engine| engine.device().transport_pk_to_device(&pk));
    let mut runs = Vec::new();
    for i in 1..=args.runs.get() {
        note(&format!("proof {i} of {}", args.runs));
        let progress = Progress::start(args.json);
        let run = match (engine.as_ref().zip(device_pk.as_ref()), args.engine) {
            (Some((engine, pk)), _) => metal(engine, pk, &circuit)?,
            #[cfg(feature = "reference")]
            (None, EngineName::Cpu) => {
                let engine = BabyBearPoseidon2CpuEngine::<DuplexSponge>::new(params.clone());
                published("cpu", &engine, &pk, &circuit)?
            }
            #[cfg(feature = "reference")]
            (None, _) => published("reference", &reference, &pk, &circuit)?,
            #[cfg(not(feature = "reference"))]
            (None, EngineName::Metal) => {
                return Err(CliError::Usage("this build has no such engine"))
            }
        };
        drop(progress);
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
    let outputs = write_files(args, &vk, &runs)?;
    let kernels = engine
        .as_ref()
        .zip(device_pk.as_ref())
        .map(|(engine, pk)| engine.constraint_kernels(pk));
    let profile = match &engine {
        Some(engine) => device_times(engine)?,
        None => None,
    };
    let printed = Report::new(args, device, kernels, profile, &vk, &runs)?.print(args.json);
    outputs.finish()?;
    printed
}

/// Device time of each stage and kernel, if it was measured.
fn device_times(engine: &BabyBearPoseidon2MetalEngine) -> Result<Option<ProfileTable>> {
    let stream = engine.device().stream()?;
    let profile = stream.context().profile()?;
    Ok((!profile.rows.is_empty()).then_some(profile))
}

/// The engine on the device that is asked for.
fn metal_engine(
    args: &CircuitArgs,
    params: SystemParams,
    device: DeviceArgs,
) -> Result<BabyBearPoseidon2MetalEngine> {
    let engine = BabyBearPoseidon2MetalEngine::try_new(params, device.device()?)?;
    let mut config = MetalProverConfig::default();
    config.kernel_folder = args.kernels.clone();
    Ok(engine.with_prover_config(config))
}

/// Makes one proof on the device.
///
/// # Errors
/// If the device or the prover refuses it.
pub fn metal(
    engine: &BabyBearPoseidon2MetalEngine,
    device_pk: &DeviceMultiStarkProvingKey<MetalBackend>,
    circuit: &Circuit,
) -> Result<Run> {
    let device = engine.device();
    let ctx = device.transport_proving_ctx_to_device(&circuit.ctx);
    let start = Instant::now();
    let (proof, counters) = engine.prove_counted(device_pk, ctx)?;
    Ok(Run {
        time: start.elapsed(),
        proof,
        counters: Some(counters),
    })
}

/// Makes one proof by an engine of OpenVM.
///
/// # Errors
/// If the prover refuses it.
#[cfg(feature = "reference")]
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

fn write_files(
    args: &CircuitArgs,
    vk: &MultiStarkVerifyingKey<SC>,
    runs: &[Run],
) -> Result<Outputs> {
    let mut outputs = Outputs::default();
    if let (Some(path), Some(run)) = (&args.out, runs.last()) {
        outputs.write(path, |path| files::write_circuit_proof(path, &run.proof))?;
    }
    if let Some(path) = &args.vk {
        outputs.write(path, |path| files::write_circuit_vk(path, vk))?;
    }
    Ok(outputs)
}

/// Refuses sizes that would fail after minutes of work or exhaust the machine's memory.
fn check(args: &CircuitArgs, device: DeviceArgs) -> Result<()> {
    if args.engine != EngineName::Metal && device.is_given() {
        return Err(CliError::Usage("--device is for --engine metal"));
    }
    let files = [("--out", &args.out), ("--vk", &args.vk)];
    let given = |(name, file)| Option::as_deref(file).map(|file| (name, file));
    let written: Vec<_> = files.into_iter().filter_map(given).collect();
    file::check(&written, &[])?;
    let (circuit, size) = (args.circuit.to_string(), args.permutations.get());
    let fits = |d: &Dimensions| d.rows <= 1 << args.log_stacked;
    let dimensions = dimensions(args.circuit, size);
    let Some(dimensions) = dimensions.filter(fits) else {
        let rows = dimensions.map_or("over 2^63".into(), |d| format!("2^{}", d.rows.ilog2()));
        return Err(CliError::TooTall {
            circuit,
            size,
            rows,
            log_stacked: args.log_stacked,
        });
    };
    // Row by row as generated, and column by column as proved.
    let (needed, memory) = (dimensions.bytes().saturating_mul(2), host_memory());
    if needed > memory {
        return Err(CliError::HostMemory {
            circuit,
            size,
            needed: table::bytes(needed),
            memory: table::bytes(memory),
        });
    }
    Ok(())
}
