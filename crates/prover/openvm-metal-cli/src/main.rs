#![doc = include_str!("../README.md")]
// These macros panic where a stream takes nothing, as a log on a full disk; `table` has functions in place of them.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod bench;
mod circuit;
mod costs;
mod debug;
mod devices;
mod error;
mod file;
mod guest;
mod hex;
mod host;
mod interrupt;
mod kernels;
mod keys;
mod memory;
mod outputs;
mod panics;
mod program;
mod progress;
mod prove;
mod public_values;
mod report;
mod run;
mod selftest;
mod table;
mod target_device;
mod trust;
mod usage;
mod verify;

use std::io::IsTerminal;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use openvm_metal_common::memory_limit;
use tracing_subscriber::{
    filter::LevelFilter, layer::SubscriberExt, util::SubscriberInitExt, Layer,
};

use crate::error::{CliError, Result};
use crate::target_device::DeviceArgs;

#[global_allocator]
static ALLOCATOR: memory::Allocator = memory::Allocator;

/// OpenVM proofs on Metal: one binary for Apple GPUs, NVIDIA GPUs and CPUs.
#[derive(Parser)]
#[command(
    name = "openvm-metal",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    /// More messages on standard error (RUST_LOG overrides).
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(flatten)]
    device: DeviceArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Make the package of a new guest.
    Init(guest::InitArgs),
    /// Build a guest: its ELF, and the executable for the virtual machine. Of a program that is an ELF, NAME.vmexe goes to the working
    /// directory.
    Build(guest::GuestArgs),
    /// Execute a program without proving it; show what it costs, or where it fails.
    #[command(mut_arg("profile", |arg| arg.long("cargo-profile")))]
    Run(run::RunArgs),
    /// Make the keys of a program's configuration: app.pk, app.vk and agg_prefix.pk.
    #[command(mut_args(hide_given_keys))]
    Keygen(keys::KeygenArgs),
    /// Make the keys in which every aggregated proof ends: internal_recursive.pk and internal_recursive.vk.
    Setup(keys::KeyArgs),
    /// The commitments to a program and to its virtual machine.
    Commit(keys::KeyArgs),
    /// Prove an execution of a program and verify the proof.
    #[command(subcommand)]
    Prove(prove::ProveCommand),
    /// Prove on many machines with Ray, or simulate it: the command of the Python package `openvm-metal`.
    #[command(disable_help_flag = true)]
    Cluster(prove::ClusterArgs),
    /// Verify a proof from a file.
    #[command(subcommand)]
    Verify(verify::VerifyCommand),
    /// Prove a built-in circuit and verify the proof.
    Circuit(circuit::CircuitArgs),
    /// List the devices this machine has and why others are missing.
    Devices(devices::DevicesArgs),
    /// Run every kernel on a device and compare it with its oracle.
    Selftest(selftest::SelftestArgs),
    /// Write everything that this machine tells about itself to one file: devices, every kernel, proofs, rates.
    Report(report::ReportArgs),
    /// Run one section of a report.
    #[command(hide = true)]
    ReportSection(report::SectionArgs),
    /// List the kernels in this program, or write their text for Apple's compiler to files.
    Kernels(kernels::KernelsArgs),
    /// Measure.
    #[command(subcommand)]
    Bench(bench::BenchCommand),
}

impl Command {
    /// The device that the command runs on; none if it needs none.
    fn device(&mut self) -> Option<&mut DeviceArgs> {
        match self {
            Self::Run(args) => Some(args.device()),
            Self::Keygen(args) => Some(args.device()),
            Self::Setup(args) | Self::Commit(args) => Some(args.device()),
            Self::Prove(command) => Some(command.device()),
            Self::Circuit(args) => Some(args.device()),
            Self::Selftest(args) => Some(args.device()),
            Self::Report(args) => Some(args.device()),
            Self::Bench(command) => command.device(),
            Self::Init(_)
            | Self::Build(_)
            | Self::Cluster(_)
            | Self::Verify(_)
            | Self::Devices(_)
            | Self::ReportSection(_)
            | Self::Kernels(_) => None,
        }
    }
}

/// Hides the options for keys of a command that makes them.
fn hide_given_keys(arg: clap::Arg) -> clap::Arg {
    let is_key = ["app_pk", "agg_pk", "agg_prefix_pk"].contains(&arg.get_id().as_str());
    match is_key {
        true => arg.hide(true),
        false => arg,
    }
}

/// The stack of the thread that runs the command. That of the process's first thread is what `ulimit -s` gives.
const STACK: usize = 8 << 20;

fn main() -> ExitCode {
    panics::install();
    file::report_size_limit();
    let thread = std::thread::Builder::new().name("main".into());
    match thread.stack_size(STACK).spawn(start) {
        // A panic has said what it is.
        Ok(command) => command.join().unwrap_or(ExitCode::from(101)),
        Err(_) => memory::end(format_args!("the system refuses a thread")),
    }
}

fn start() -> ExitCode {
    let cli: Cli = usage::parse();
    init_logging(cli.verbose);
    match interrupt::install().and_then(|()| run(cli)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(&error),
    }
}

fn run(mut cli: Cli) -> Result<()> {
    match cli.command.device() {
        Some(device) => device.take(&cli.device)?,
        None if cli.device.is_given() => {
            return Err(CliError::Usage("--device: this command uses no device"));
        }
        None => {}
    }
    match &cli.command {
        Command::Init(args) => guest::init(args),
        Command::Build(args) => guest::build(args),
        Command::Run(args) => run::run(args),
        Command::Keygen(args) => keys::keygen(args),
        Command::Setup(args) => keys::setup(args),
        Command::Commit(args) => keys::commit(args),
        Command::Prove(command) => prove::run(command),
        Command::Cluster(args) => prove::cluster(args),
        Command::Verify(command) => verify::run(command),
        Command::Circuit(args) => circuit::run(args),
        Command::Devices(args) => devices::run(args),
        Command::Selftest(args) => selftest::run(args),
        Command::Kernels(args) => kernels::run(args),
        Command::Report(args) => report::run(args),
        Command::ReportSection(args) => report::run_section(args),
        Command::Bench(command) => bench::run(command),
    }
}

/// Log lines go to standard error, so that standard output stays a table or JSON.
fn init_logging(verbose: bool) {
    // OpenVM's metering warns of each short segment with twenty lines; progress says it once.
    let default = match verbose {
        true => "info",
        false => "warn,openvm_circuit::arch::execution_mode::metered=error",
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env()
        .unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(default));
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .log_internal_errors(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_filter(filter);
    let stages = progress::StageLayer.with_filter(LevelFilter::INFO);
    let spans = bench::SpanLayer.with_filter(LevelFilter::INFO);
    tracing_subscriber::registry()
        .with(lines)
        .with(stages)
        .with(spans)
        .init();
}

fn fail(error: &CliError) -> ExitCode {
    if !error.is_silent() {
        table::note(format_args!("error: {error}"));
        match error.hint() {
            _ if error.is_lack_of_memory() && memory_limit().is_some() => {
                table::note(format_args!("hint: {}", memory::Remedy));
            }
            Some(hint) => table::note(format_args!("hint: {hint}")),
            None => {}
        }
    }
    ExitCode::from(error.exit_code())
}
