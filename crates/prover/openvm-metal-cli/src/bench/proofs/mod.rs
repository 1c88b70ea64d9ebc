//! Benchmarks of whole proofs: `openvm-metal bench keccakf`, `interactions` and `reth`.
//!
//! Each case is proved a few times; transport to the device is not counted, and the verifier accepts every proof
//! before its time counts.

mod result;
mod spans;

use std::{
    collections::BTreeMap,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

use clap::Args;
use openvm_metal_backend::{compile_kernels, BabyBearPoseidon2MetalEngine};
use openvm_metal_common::DeviceKind;
use openvm_stark_backend::{
    codec::Encode,
    keygen::types::MultiStarkProvingKey,
    prover::{ColMajorMatrix, DeviceDataTransporter, MatrixDimensions},
    StarkEngine, SystemParams,
};
use openvm_stark_sdk::config::{
    app_params_with_100_bits_security,
    baby_bear_poseidon2::{
        BabyBearPoseidon2CpuEngine, BabyBearPoseidon2RefEngine, DuplexSponge, F,
    },
};

pub use self::spans::SpanLayer;
use self::{
    result::{span_medians, CaseResult, Counts, ProofResults},
    spans::recorded,
};
use super::profile::SegmentShape;
use crate::{
    circuit::{
        self,
        catalogue::{Circuit, CircuitName, SC},
        published, EngineName, Run,
    },
    error::{CliError, Result},
    host::{hardware, HostReport, COMMIT},
    interrupt, table,
    target_device::DeviceArgs,
};

/// Options of all benchmarks of proofs.
#[derive(Args, Debug)]
pub struct ProofArgs {
    /// Select the prover.
    #[arg(long, value_enum, default_value = "metal")]
    engine: EngineName,
    /// Measure N proofs of each case.
    #[arg(long, value_name = "N", default_value = "5")]
    runs: NonZeroUsize,
    /// Make N proofs of each case before the measurement.
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: usize,
    /// Set the stacked height to 2^H.
    #[arg(long, value_name = "H", default_value_t = 21, value_parser = clap::value_parser!(u8).range(14..=24))]
    log_stacked: u8,
    /// Print JSON.
    #[arg(long)]
    json: bool,
    /// Compile the constraint kernels of all cases for CUDA devices into DIR, and make no proof. The cache for them is the folder
    /// `constraint-kernels` in OPENVM_METAL_CACHE.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["json", "engine", "runs", "warmup", "device"])]
    emit_kernels: Option<PathBuf>,
}

/// Options of `bench keccakf` and `bench interactions`.
#[derive(Args, Debug)]
pub struct SizesArgs {
    #[command(flatten)]
    proofs: ProofArgs,
    /// Prove one case with 2^N permutations (keccakf) or rows (interactions) for each N.
    #[arg(long, value_name = "N", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..=24))]
    log_sizes: Vec<u8>,
}

/// Options of `bench reth`.
#[derive(Args, Debug)]
pub struct RethArgs {
    #[command(flatten)]
    proofs: ProofArgs,
    /// Read the shapes of the segments of an execution from FILE, as JSON lines.
    #[arg(long, value_name = "FILE")]
    profile: PathBuf,
    /// Take each N-th segment.
    #[arg(long, value_name = "N", default_value = "20")]
    every: NonZeroUsize,
    /// Cut traces to 2^N rows.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..=24))]
    max_log_height: u8,
    /// Set the seed of the random traces.
    #[arg(long, default_value_t = 42)]
    seed: u64,
}

/// A case before its traces are made.
struct Case {
    name: String,
    rows: usize,
    max_constraint_degree: Option<usize>,
    make: Box<dyn Fn(&SC) -> Circuit>,
}

/// `bench keccakf` and `bench interactions`.
///
/// # Errors
/// If a trace is too tall, the device refuses, or a proof is not valid.
pub fn run_sizes(circuit: CircuitName, args: &SizesArgs, device: DeviceArgs) -> Result<()> {
    let defaults: &[u8] = match circuit {
        CircuitName::Keccakf => &[10, 13],
        _ => &[16, 20],
    };
    let sizes = match args.log_sizes.is_empty() {
        true => defaults,
        false => &args.log_sizes,
    };
    let case = |&log_size: &u8| {
        let size = match args.proofs.emit_kernels {
            None => 1usize << log_size,
            // Keys, and so kernels, are those of any size.
            Some(_) => 1,
        };
        // Keccak-f: 24 rows a permutation.
        let rows = match circuit {
            CircuitName::Keccakf => size * 32,
            _ => size,
        };
        Case {
            name: format!("2^{log_size}"),
            rows,
            max_constraint_degree: None,
            make: Box::new(move |config| Circuit::new(circuit, size, config)),
        }
    };
    let cases = sizes.iter().map(case).collect();
    run(&circuit.to_string(), cases, &args.proofs, device)
}

/// `bench reth`.
///
/// # Errors
/// If the profile cannot be read, the device refuses, or a proof is not valid.
pub fn run_reth(args: &RethArgs, device: DeviceArgs) -> Result<()> {
    let max_log_height = match args.proofs.emit_kernels {
        None => args.max_log_height,
        // Keys, and so kernels, are those of any height.
        Some(_) => 1,
    };
    let shapes = SegmentShape::read(&args.profile, args.every.get(), max_log_height)?;
    if shapes.is_empty() {
        return Err(CliError::Corrupt {
            path: args.profile.display().to_string(),
            what: "profile",
            reason: "it has no segments".into(),
        });
    }
    let seed = args.seed;
    let cases = shapes.into_iter().map(|shape| Case {
        name: format!("segment {}", shape.segment_idx),
        rows: shape.rows(),
        max_constraint_degree: Some(shape.global_max_constraint_degree),
        make: Box::new(move |config| shape.circuit(seed, config)),
    });
    run("reth", cases.collect(), &args.proofs, device)
}

fn run(benchmark: &str, cases: Vec<Case>, args: &ProofArgs, device: DeviceArgs) -> Result<()> {
    if args.engine != EngineName::Metal && device.is_given() {
        return Err(CliError::Usage("--device is for --engine metal"));
    }
    for case in &cases {
        if case.rows > 1 << args.log_stacked {
            return Err(CliError::TooTall {
                circuit: format!("{benchmark}, {}", case.name),
                size: case.rows,
                rows: format!("2^{}", case.rows.ilog2()),
                log_stacked: args.log_stacked,
            });
        }
    }
    if let Some(folder) = &args.emit_kernels {
        return emit_kernels(benchmark, &cases, args, folder);
    }
    let host = HostReport::gather();
    let mut results = ProofResults {
        benchmark: benchmark.to_owned(),
        engine: format!("{:?}", args.engine).to_lowercase(),
        device: processor(),
        version: host.version.to_owned(),
        commit: COMMIT.to_owned(),
        threads: host.threads,
        log_stacked: args.log_stacked,
        warmup: args.warmup,
        cases: Vec::with_capacity(cases.len()),
        profile: None,
    };
    let num_cases = cases.len();
    for (i, case) in cases.into_iter().enumerate() {
        interrupt::check()?;
        table::note(format_args!(
            "{benchmark}, {} ({} of {num_cases})",
            case.name,
            i + 1
        ));
        let params = params(&case, args);
        let result = match args.engine {
            EngineName::Metal => {
                let engine = BabyBearPoseidon2MetalEngine::try_new(params, device.device()?)?;
                results.device = engine.device().stream()?.context().info().to_string();
                // The key is transported once, with the warm-up.
                let mut device_pk = None;
                let once = |engine: &BabyBearPoseidon2MetalEngine, pk: &_, circuit: &_| {
                    let pk =
                        device_pk.get_or_insert_with(|| engine.device().transport_pk_to_device(pk));
                    circuit::metal(engine, pk, circuit)
                };
                let result = measure(&engine, &case, args, once)?;
                results.profile = circuit::device_times(&engine)?;
                result
            }
            EngineName::Cpu => {
                let engine = BabyBearPoseidon2CpuEngine::<DuplexSponge>::new(params);
                let once = |engine: &_, pk: &_, circuit: &_| published("cpu", engine, pk, circuit);
                measure(&engine, &case, args, once)?
            }
            EngineName::Reference => {
                let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params);
                let once =
                    |engine: &_, pk: &_, circuit: &_| published("reference", engine, pk, circuit);
                measure(&engine, &case, args, once)?
            }
        };
        table::note(format_args!(
            "{benchmark}, {}: median {:.1} ms",
            case.name,
            result.median_ms()
        ));
        results.cases.push(result);
    }
    print(&results, args.json)
}

fn params(case: &Case, args: &ProofArgs) -> SystemParams {
    let mut params = app_params_with_100_bits_security(args.log_stacked.into());
    if let Some(degree) = case.max_constraint_degree {
        params.max_constraint_degree = degree.max(params.max_constraint_degree);
    }
    params
}

/// Kernels for the constraints of all cases; keys with the same AIRs share them.
fn emit_kernels(benchmark: &str, cases: &[Case], args: &ProofArgs, folder: &Path) -> Result<()> {
    for (i, case) in cases.iter().enumerate() {
        interrupt::check()?;
        let engine = BabyBearPoseidon2RefEngine::<DuplexSponge>::new(params(case, args));
        let circuit = (case.make)(engine.config());
        let (pk, _) = engine.keygen(&circuit.airs);
        let units = compile_kernels(DeviceKind::Cuda, folder, &pk)?;
        table::line(format!(
            "{benchmark}, {} ({} of {}): {units} units in {}",
            case.name,
            i + 1,
            cases.len(),
            folder.display()
        ))?;
    }
    Ok(())
}

/// Name of the processor.
fn processor() -> String {
    let chip = hardware().into_iter().find(|(name, _)| *name == "chip");
    chip.map_or_else(|| "unknown processor".into(), |(_, chip)| chip)
}

/// Proves a case as often as the options say.
fn measure<E: StarkEngine<SC = SC>>(
    engine: &E,
    case: &Case,
    args: &ProofArgs,
    mut once: impl FnMut(&E, &MultiStarkProvingKey<SC>, &Circuit) -> Result<Run>,
) -> Result<CaseResult> {
    let circuit = (case.make)(engine.config());
    let (pk, vk) = engine.keygen(&circuit.airs);
    let mut result = CaseResult {
        name: case.name.clone(),
        cells: cells(&circuit),
        proof_bytes: 0,
        times_ms: Vec::with_capacity(args.runs.get()),
        spans_ms: BTreeMap::new(),
        counts: None,
    };
    let mut spans = Vec::with_capacity(args.runs.get());
    for i in 0..args.warmup + args.runs.get() {
        interrupt::check()?;
        let (run, times) = recorded(|| once(engine, &pk, &circuit));
        let run = run?;
        engine
            .verify(&vk, &run.proof)
            .map_err(|error| CliError::Rejected(error.to_string()))?;
        if i < args.warmup {
            continue;
        }
        result.times_ms.push(run.time.as_secs_f64() * 1e3);
        spans.push(times);
        result.proof_bytes = run.proof.encode_to_vec()?.len();
        result.counts = run.counters.as_ref().map(Counts::new);
    }
    result.spans_ms = span_medians(&spans);
    Ok(result)
}

/// Cells of all traces, cached ones too.
fn cells(circuit: &Circuit) -> u64 {
    let of = |m: &ColMajorMatrix<F>| (m.height() * m.width()) as u64;
    circuit
        .ctx
        .per_trace
        .iter()
        .map(|(_, ctx)| {
            let cached = ctx.cached_mains.iter().map(|cached| of(&cached.trace));
            of(&ctx.common_main) + cached.sum::<u64>()
        })
        .sum()
}

fn print(results: &ProofResults, json: bool) -> Result<()> {
    if json {
        return table::json(results);
    }
    let header = [
        "case",
        "cells",
        "median (ms)",
        "spread (ms)",
        "dispatches",
        "host syncs",
        "peak (MiB)",
        "proof (MiB)",
    ];
    let mut rows = table::table(&header, &[1, 2, 3, 4, 5, 6, 7]);
    for case in &results.cases {
        let count = |of: fn(&Counts) -> String| case.counts.as_ref().map_or("-".into(), of);
        rows.add_row([
            case.name.clone(),
            table::rate(case.cells as f64),
            format!("{:.1}", case.median_ms()),
            format!("{:.1}", case.spread_ms()),
            count(|counts| counts.dispatches.to_string()),
            count(|counts| counts.waits.to_string()),
            count(|counts| table::mib(counts.peak_bytes)),
            table::mib(case.proof_bytes as u64),
        ]);
    }
    table::line(format!(
        "{}, engine {} on {}: medians of {} proofs after {}, all accepted by the verifier",
        results.benchmark,
        results.engine,
        results.device,
        results.cases.first().map_or(0, |case| case.times_ms.len()),
        results.warmup
    ))?;
    table::line(rows)?;
    table::line(format!("sum of medians {:.1} ms", results.total_ms()))?;
    results.profile.as_ref().map_or(Ok(()), table::line)
}
