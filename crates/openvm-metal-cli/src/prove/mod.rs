//! `openvm-metal prove`: an execution of a program, proved segment by segment (`app`) or by one proof (`stark`).

mod cluster;
mod progress;
mod report;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use openvm_metal_sdk::{files, DeviceList, MetalSdk, ProveOptions, MIN_SECURITY_BITS};
use openvm_verify_stark_host::vk::VmStarkVerifyingKey;

pub use self::cluster::{run as cluster, ClusterArgs};
use self::{progress::Bar, report::ProofReport};
use crate::{
    error::Result,
    file, hex,
    host::peak_memory,
    interrupt,
    outputs::Outputs,
    program::{
        byte_count, ExecutionArgs, InputArgs, PrintedToStderr, Program, ProgramArgs, SdkArgs,
    },
    target_device::DeviceArgs,
};

#[derive(Subcommand)]
pub enum ProveCommand {
    /// One proof for each segment.
    App(ProofArgs),
    /// One proof of the whole execution, aggregated from the segments'.
    Stark(StarkArgs),
}

#[derive(Args, Debug)]
pub struct StarkArgs {
    #[command(flatten)]
    proof: ProofArgs,
    /// Prove on a Ray cluster: HOST:PORT of its head node, or auto for the cluster that this machine is part of. The Python package
    /// openvm-metal does it; --resume names the job's folder.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["devices", "machines", "in_flight"])]
    ray: Option<String>,
}

impl ProveCommand {
    /// Where the command runs.
    pub fn device(&mut self) -> &mut DeviceArgs {
        match self {
            Self::App(args) => args.sdk.device(),
            Self::Stark(args) => args.proof.sdk.device(),
        }
    }
}

#[derive(Args, Debug)]
pub struct ProofArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    input: InputArgs,
    /// The proof's file; if absent, NAME.app.proof or NAME.stark.proof here. With parameters of less
    /// than 80 bits of security NAME.insecure.app.proof or NAME.insecure.stark.proof.
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// The file for what verifies the proof; if absent, named as the proof, with vk at its end.
    #[arg(long, value_name = "FILE")]
    vk: Option<PathBuf>,
    /// Keep the proofs of segments in this folder, and go on from those that are there; they must be of the same
    /// program, input and parameters.
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    /// The devices that prove together: auto for all GPUs, or the processor if there is none; or names separated
    /// by commas, as cuda:0,cuda:1. The processor may be named several times, a GPU once.
    #[arg(long, value_name = "LIST", conflicts_with = "device")]
    devices: Option<DeviceList>,
    /// Most segments for each device that are recorded, traced or proved at the same time; if absent, those that its
    /// machines are at, those that it proves at once (two on a GPU), and one that is next.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: Option<u16>,
    /// Records and traces of segments take at most this much of the host's memory (bytes, or with K, M, G), as estimated from
    /// heights and widths; if absent, three quarters of what is free. With --ray: of each node's memory.
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    host_memory: Option<u64>,
    /// How many machines record segments and make their traces; if absent, five for every eight cores, but at
    /// most ten for each device.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    machines: Option<u16>,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

impl ProofArgs {
    /// For the SDK.
    fn options<'a>(&'a self, bar: &'a Bar) -> ProveOptions<'a> {
        let mut options = self.execution.options().with_progress(bar);
        if let Some(segments) = self.in_flight {
            options = options.with_in_flight(segments.into());
        }
        if let Some(bytes) = self.host_memory {
            options = options.with_host_memory(bytes);
        }
        if let Some(machines) = self.machines {
            options = options.with_machines(machines.into());
        }
        match &self.resume {
            Some(folder) => options.with_resume(folder),
            None => options,
        }
    }

    /// The files of the proof and of what verifies it.
    fn files(&self, name: &str, kind: &str, bits: f64) -> Result<(PathBuf, PathBuf)> {
        // A proof that can be forged says so wherever its file goes.
        let mark = match bits < MIN_SECURITY_BITS {
            true => "insecure.",
            false => "",
        };
        let or = |given: &Option<PathBuf>, end: &str| {
            given
                .clone()
                .unwrap_or_else(|| format!("{name}.{mark}{kind}.{end}").into())
        };
        let (proof, vk) = (or(&self.proof, "proof"), or(&self.vk, "vk"));
        let read = self.program.read_files().chain(self.input.read_file());
        let read: Vec<_> = read.chain(self.sdk.read_files()).collect();
        file::check(&[("--proof", &proof), ("--vk", &vk)], &read)?;
        Ok((proof, vk))
    }
}

/// Runs the command.
///
/// # Errors
/// What goes wrong in the program or on the device.
pub fn run(command: &ProveCommand) -> Result<()> {
    if let ProveCommand::Stark(StarkArgs {
        proof,
        ray: Some(address),
    }) = command
    {
        // The other command gets Ctrl-C too, and has something to end.
        return cluster::prove(proof, address);
    }
    interrupt::at_once();
    match command {
        ProveCommand::App(args) => app(args),
        ProveCommand::Stark(args) => stark(&args.proof),
    }
}

fn prepare(args: &ProofArgs) -> Result<(Program, MetalSdk)> {
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk_on(&program, args.devices.as_ref())?;
    Ok((program, sdk))
}

fn app(args: &ProofArgs) -> Result<()> {
    let input = args.input.stdin()?;
    let (program, sdk) = prepare(args)?;
    let bits = args.sdk.security_bits(&sdk)?;
    let (proof_file, vk_file) = args.files(&program.name, "app", bits)?;
    let exe = sdk.executable(program.source())?;

    let printed = PrintedToStderr::if_json(args.json)?;
    let bar = Bar::new(args.json, sdk.devices().len());
    bar.phase("keys and program");
    let prover = sdk.app_prover(exe.clone())?;
    let (proof, mut report) = prover.prove(input, &args.options(&bar))?;
    bar.phase("verifying");
    let clock = std::time::Instant::now();
    let verified = sdk.verify_app(exe, &proof)?;
    report.verify = clock.elapsed();
    report.security_bits = verified.security_bits;
    bar.finish();
    drop(printed);

    let mut outputs = Outputs::default();
    let proof = outputs.write(&proof_file, |path| files::write_app_proof(path, &proof))?;
    let key = sdk.app_vk()?;
    let vk = outputs.write(&vk_file, |path| files::write_app_vk(path, &key))?;
    let printed = ProofReport {
        kind: "app",
        program: program.name,
        public_values: hex::encode(&verified.public_values),
        proof,
        vk,
        host_memory_peak: peak_memory(),
        report,
    }
    .print(args.json);
    outputs.finish()?;
    printed
}

fn stark(args: &ProofArgs) -> Result<()> {
    let input = args.input.stdin()?;
    let (program, sdk) = prepare(args)?;
    let bits = args.sdk.security_bits(&sdk)?;
    let (proof_file, vk_file) = args.files(&program.name, "stark", bits)?;
    let exe = sdk.executable(program.source())?;

    let printed = PrintedToStderr::if_json(args.json)?;
    let bar = Bar::new(args.json, sdk.devices().len());
    bar.phase("keys and program");
    let proved = sdk.prove(exe, input, &args.options(&bar))?;
    bar.finish();
    drop(printed);

    let mut outputs = Outputs::default();
    let proof = outputs.write(&proof_file, |path| {
        files::write_proof_with_security(path, &proved.proof, proved.report.security_bits)
    })?;
    let key = VmStarkVerifyingKey {
        mvk: (*sdk.agg_vk()?).clone(),
        baseline: proved.baseline,
    };
    let vk = outputs.write(&vk_file, |path| files::write_stark_vk(path, &key))?;
    let printed = ProofReport {
        kind: "stark",
        program: program.name,
        public_values: hex::encode(&proved.public_values),
        proof,
        vk,
        host_memory_peak: peak_memory(),
        report: proved.report,
    }
    .print(args.json);
    outputs.finish()?;
    printed
}
