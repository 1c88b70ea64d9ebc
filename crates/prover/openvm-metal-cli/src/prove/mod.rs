//! `openvm-metal prove`: an execution of a program, proved segment by segment (`app`), by one proof (`stark`), by that and a root proof
//! (`root`), or by these and a proof that a contract verifies (`evm`).

mod cluster;
mod dev;
mod evm;
mod progress;
mod report;
mod root;
#[cfg(feature = "evm")]
mod wrap;

use std::{
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::Arc,
    thread,
};

use clap::{Args, Subcommand};
use openvm_circuit::arch::instructions::exe::VmExe;
use openvm_metal_common::Device;
use openvm_metal_sdk::{
    app_vm_commit, files, DeviceList, MetalSdk, ProveOptions, MIN_SECURITY_BITS,
};
use openvm_sdk::{types::AppExecutionCommit, StdIn, F};
use openvm_verify_stark_host::vk::VmStarkVerifyingKey;

pub use self::{
    cluster::{run as cluster, ClusterArgs},
    dev::refuse as refuse_dev,
};
use self::{evm::EvmArgs, progress::Bar, report::ProofReport, root::RootArgs};
use crate::{
    error::{CliError, Result},
    file, hex,
    host::peak_memory,
    interrupt,
    outputs::Outputs,
    program::{byte_count, ExecutionArgs, InputArgs, Printed, Program, ProgramArgs, SdkArgs},
    table::note,
    target_device::DeviceArgs,
};

#[derive(Subcommand)]
pub enum ProveCommand {
    /// Prove an execution by one proof for each segment.
    App(ProofArgs),
    /// Prove an execution by one proof, aggregated from the proofs of its segments.
    Stark(StarkArgs),
    /// Prove an execution, or an aggregated proof, by a root proof: the last STARK before a contract, hashed with Poseidon2 over BN254.
    Root(RootArgs),
    /// Prove an execution, or a root proof, by a proof that a contract on an EVM verifies.
    Evm(EvmArgs),
}

#[derive(Args, Debug)]
pub struct StarkArgs {
    #[command(flatten)]
    proof: ProofArgs,
    /// Prove on a Ray cluster: HOST:PORT of its head node, or auto for the cluster of this machine.
    ///
    /// The Python package openvm-metal proves; --resume names the job's folder.
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["devices", "machines", "in_flight"])]
    ray: Option<String>,
}

#[derive(Args, Clone, Debug)]
pub struct ProofArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    input: InputArgs,
    /// Write the proof to FILE [default: NAME.KIND.proof in the working directory].
    ///
    /// KIND is app, stark, root or evm. The default is NAME.insecure.KIND.proof if the parameters have less than 80 bits of security.
    #[arg(long, value_name = "FILE")]
    proof: Option<PathBuf>,
    /// Write the verifying key and the baseline to FILE [default: as the proof, with the ending .vk].
    #[arg(long, value_name = "FILE")]
    vk: Option<PathBuf>,
    /// Keep the proofs of segments in FOLDER, and continue from the proofs in it.
    ///
    /// They must be of the same program, input and parameters.
    #[arg(long, value_name = "FOLDER")]
    resume: Option<PathBuf>,
    /// Prove on several devices: auto for all GPUs (else the CPU), or names as cuda:0,cuda:1.
    ///
    /// The CPU may be named several times, a GPU once.
    #[arg(long, value_name = "LIST", conflicts_with = "device")]
    devices: Option<DeviceList>,
    /// Limit the segments in flight for each device [default: workers + concurrent proofs + 1].
    ///
    /// A segment is in flight from its recording to its proof. A GPU has two concurrent proofs, a CPU one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: Option<u16>,
    /// Limit the host memory of the segments in flight to BYTES, for example 8G [default: 3/4 of the free memory].
    ///
    /// The sizes of records and traces are estimated from heights and widths. With --ray the limit is each node's.
    #[arg(long, value_name = "BYTES", value_parser = byte_count)]
    host_memory: Option<u64>,
    /// Set the number of workers that record segments and make their traces [default: the number of cores, on CPU devices 5/8 of it, at most 8 for each device].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    machines: Option<u16>,
    #[command(flatten)]
    execution: ExecutionArgs,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Check every constraint on the traces of every segment before the proof; name AIR, row and columns of the first failure.
    #[arg(long)]
    check: bool,
    /// Execute and check as --check does, without a proof; write NAME.dev.json, or the file of --proof.
    ///
    /// No verifier takes this file. The parameters are those of --toy: no constraint depends on them.
    #[arg(long, conflicts_with_all = ["check", "app_pk", "agg_pk", "agg_prefix_pk", "resume", "vk"])]
    dev: bool,
    /// Print one JSON object instead of a table.
    #[arg(long)]
    json: bool,
}

impl ProofArgs {
    /// For the SDK.
    fn options<'a>(&'a self, bar: &'a Bar, output: &'a Printed) -> ProveOptions<'a> {
        self.silent_options().with_progress(bar).with_output(output)
    }

    /// The same for an execution of which nothing is said.
    fn silent_options(&self) -> ProveOptions<'_> {
        let options = self.execution.options();
        let mut options = options.with_progress(&()).with_output(&());
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

    /// Checks the constraints before the proof, whose execution is the one that is reported.
    fn check_first(
        &self,
        program: &Program,
        sdk: &MetalSdk,
        input: StdIn,
        bar: &Bar,
    ) -> Result<()> {
        bar.phase("checking constraints");
        dev::check(program, sdk, input, &self.silent_options()).map(drop)
    }

    /// The files of the proof and of what verifies it, which can be written.
    fn files(&self, program: &Program, kind: &str, bits: f64) -> Result<ProofFiles> {
        let name = &program.name;
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
        let mut read = self.program.read_files();
        read.extend(self.input.read_file());
        read.extend(self.sdk.read_files());
        read.extend(program.elf.clone().map(|file| ("the program's ELF", file)));
        let beside = |end| program.output_beside(&proof, &format!("{name}.{mark}{end}"));
        let files = ProofFiles {
            commit: beside("commit.json"),
            baseline: beside("baseline.json"),
            proof,
            vk,
        };
        let mut written = vec![("--proof", files.proof.as_path()), ("--vk", &files.vk)];
        if kind != "app" {
            program.make_folder()?;
            written.extend([
                ("the commitments", files.commit.as_path()),
                ("the baseline", &files.baseline),
            ]);
        }
        file::check(&written, &read)?;
        Ok(files)
    }
}

/// The files of a proof. Commitments and baseline are written with an aggregated proof, whose keys they name.
struct ProofFiles {
    proof: PathBuf,
    vk: PathBuf,
    commit: PathBuf,
    baseline: PathBuf,
}

/// Runs the command.
///
/// # Errors
/// What goes wrong in the program or on the device.
pub fn run(command: &ProveCommand, device: DeviceArgs) -> Result<()> {
    if let ProveCommand::Stark(StarkArgs {
        proof,
        ray: Some(address),
    }) = command
    {
        // The other command gets Ctrl-C too, and has something to end.
        if proof.check || proof.dev {
            return Err(CliError::Usage(
                "--check and --dev work on this machine, without --ray",
            ));
        }
        return cluster::prove(proof, address, device);
    }
    let (ProveCommand::App(args)
    | ProveCommand::Stark(StarkArgs { proof: args, .. })
    | ProveCommand::Root(RootArgs { proof: args, .. })
    | ProveCommand::Evm(EvmArgs { proof: args, .. })) = command;
    match command {
        // The root proof is kept, which the command says.
        ProveCommand::Evm(_) if !args.dev => interrupt::at_once(),
        _ => interrupt::at_once_with(args.resume.is_some()),
    }
    match command {
        _ if args.dev => check_alone(args, device),
        ProveCommand::App(args) => app(args, device),
        ProveCommand::Stark(args) => stark(&args.proof, device),
        ProveCommand::Root(args) => root::run(args, device),
        ProveCommand::Evm(args) => evm::run(args, device),
    }
}

/// The size of a file that was written; 0 if it is gone already.
fn file_bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |data| data.len())
}

/// Program, keys and files of a proof.
struct Prepared {
    program: Program,
    exe: Arc<VmExe<F>>,
    sdk: Arc<MetalSdk>,
    /// Bits of security of the keys.
    bits: f64,
    paths: ProofFiles,
    bar: Bar,
}

impl Prepared {
    /// Runs the work of a proof while its devices are opened, and prints the hint for CPUs.
    fn proving<T>(&self, is_quiet: bool, work: impl FnOnce() -> T) -> T {
        let tell = || {
            // The proof returns the error.
            let Ok(devices) = self.sdk.devices() else {
                return;
            };
            self.bar.set_devices(devices.len());
            let is_cpu = |device: &Device| matches!(device, Device::Cpu | Device::CpuConformance);
            let is_long = self.bits >= MIN_SECURITY_BITS && devices.iter().all(is_cpu);
            if is_long && !is_quiet {
                note("hint: a proof on a CPU takes ten seconds or more, hours for long programs; --toy tries a program out in less, without security");
            }
        };
        thread::scope(|scope| {
            scope.spawn(tell);
            work()
        })
    }
}

/// Loads the program, begins to open the devices, and makes the executable and the application's key.
fn prepare(
    args: &ProofArgs,
    device: DeviceArgs,
    kind: &str,
    root_pk: Option<&Path>,
) -> Result<Prepared> {
    let program = Program::load(&args.program)?;
    // Before anything takes long. Files of an insecure proof have other names, and are looked at again.
    args.files(&program, kind, MIN_SECURITY_BITS)?;
    let bar = Bar::new(kind == "app");
    bar.step("application keys");
    let sdk = args.sdk.sdk_on(
        &program.settings,
        device,
        args.devices.as_ref(),
        args.resume.as_deref(),
        root_pk,
    )?;
    let sdk = Arc::new(sdk);
    // Drivers take long to open a device. The proof returns the error.
    let opening = sdk.clone();
    thread::spawn(move || opening.devices().map(drop));
    let (exe, bits) = thread::scope(|scope| {
        let exe = scope.spawn(|| sdk.executable(program.source()));
        let bits = args.sdk.security_bits(&sdk);
        (
            exe.join().unwrap_or_else(|panic| resume_unwind(panic)),
            bits,
        )
    });
    let (bits, exe) = (bits?, exe?);
    let paths = args.files(&program, kind, bits)?;
    Ok(Prepared {
        program,
        exe,
        sdk,
        bits,
        paths,
        bar,
    })
}

/// Leaves the memory of keys, programs and devices to the end of the process, which is next: the system takes it back faster than piece by piece.
fn leave(sdk: Arc<MetalSdk>) {
    std::mem::forget(sdk);
}

/// Executes and checks, and proves nothing.
fn check_alone(args: &ProofArgs, device: DeviceArgs) -> Result<()> {
    let input = args.input.stdin()?;
    let program = Program::load(&args.program)?;
    let file = args.proof.clone();
    let file = file.unwrap_or_else(|| format!("{}.dev.json", program.name).into());
    let mut read = args.program.read_files();
    read.extend(args.input.read_file());
    read.extend(program.elf.clone().map(|file| ("the program's ELF", file)));
    file::check(&[("--proof", &file)], &read)?;
    let toy = args.sdk.clone().into_toy();
    let sdk = toy.sdk_on(&program.settings, device, args.devices.as_ref(), None, None)?;
    let bar = Bar::new(true);
    bar.set_devices(sdk.devices()?.len());
    let output = Printed::above(bar.line());
    bar.phase("checking constraints");
    let run = dev::check(&program, &sdk, input, &args.options(&bar, &output))?;
    drop(output);
    bar.finish();
    dev::write(&program, &run, &file, args.json)
}

fn app(args: &ProofArgs, device: DeviceArgs) -> Result<()> {
    let input = args.input.stdin()?;
    let prepared = prepare(args, device, "app", None)?;
    let Prepared {
        program,
        exe,
        sdk,
        bar,
        ..
    } = &prepared;

    let output = Printed::above(bar.line());
    let options = args.options(bar, &output);
    if args.check {
        args.check_first(program, sdk, input.clone(), bar)?;
    }
    let proved = prepared.proving(args.json, || sdk.prove_app(exe.clone(), input, &options));
    let (proof, mut report) = proved.map_err(|error| program.at_place(error))?;
    bar.step("verification");
    let clock = std::time::Instant::now();
    let verified = sdk.verify_app(exe.clone(), &proof)?;
    report.verify = clock.elapsed();
    report.total += report.verify;
    report.security_bits = verified.security_bits;
    drop(output);
    prepared.bar.finish();

    let mut outputs = Outputs::default();
    let proof = outputs.write(&prepared.paths.proof, |path| {
        files::write_app_proof(path, &proof)
    })?;
    let key = prepared.sdk.app_vk()?;
    let vk = outputs.write(&prepared.paths.vk, |path| files::write_app_vk(path, &key))?;
    let printed = ProofReport {
        kind: "app",
        program: prepared.program.name,
        public_values: hex::encode(&verified.public_values),
        proof_file_bytes: file_bytes(&proof),
        proof,
        vk,
        commit: None,
        baseline: None,
        host_memory_peak: peak_memory(),
        report,
    }
    .print(args.json);
    outputs.finish()?;
    leave(prepared.sdk);
    printed
}

fn stark(args: &ProofArgs, device: DeviceArgs) -> Result<()> {
    let input = args.input.stdin()?;
    let prepared = prepare(args, device, "stark", None)?;
    let Prepared {
        program,
        exe,
        sdk,
        bar,
        ..
    } = &prepared;

    let output = Printed::above(bar.line());
    let options = args.options(bar, &output);
    if args.check {
        args.check_first(program, sdk, input.clone(), bar)?;
    }
    let proved = prepared.proving(args.json, || sdk.prove(exe.clone(), input, &options));
    let proved = proved.map_err(|error| program.at_place(error))?;
    drop(output);
    prepared.bar.finish();

    let mut outputs = Outputs::default();
    let proof = outputs.write(&prepared.paths.proof, |path| {
        files::write_proof_with_security(path, &proved.proof, proved.report.security_bits)
    })?;
    let bits = proved.report.security_bits;
    let commits = AppExecutionCommit {
        app_exe_commit: proved.baseline.app_exe_commit.into(),
        app_vm_commit: app_vm_commit(&proved.baseline),
    };
    let commit = outputs.write(&prepared.paths.commit, |path| {
        files::write_commit_with_security(path, &commits, bits)
    })?;
    let baseline = outputs.write(&prepared.paths.baseline, |path| {
        files::write_baseline_with_security(path, &proved.baseline, bits)
    })?;
    let key = VmStarkVerifyingKey {
        mvk: (*prepared.sdk.agg_vk()?).clone(),
        baseline: proved.baseline,
    };
    let vk = outputs.write(&prepared.paths.vk, |path| files::write_stark_vk(path, &key))?;
    let printed = ProofReport {
        kind: "stark",
        program: prepared.program.name,
        public_values: hex::encode(&proved.public_values),
        proof_file_bytes: file_bytes(&proof),
        proof,
        vk,
        commit: Some(commit),
        baseline: Some(baseline),
        host_memory_peak: peak_memory(),
        report: proved.report,
    }
    .print(args.json);
    outputs.finish()?;
    leave(prepared.sdk);
    printed
}
