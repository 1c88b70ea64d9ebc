#![doc = include_str!("../README.md")]
// These macros panic where a stream takes nothing, as a log on a full disk; `table` has functions in place of them.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

#[cfg(feature = "reference")]
mod bench;
mod cache;
mod circuit;
mod costs;
mod debug;
mod devices;
mod ending;
mod error;
mod evm;
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
mod rates;
mod report;
mod run;
mod selftest;
mod shown;
mod table;
mod target_device;
mod trust;
mod usage;
mod verify;

use std::io::IsTerminal;

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
    /// Print more messages on standard error (RUST_LOG overrides).
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
    /// Build a guest: its ELF, and the executable for the virtual machine.
    ///
    /// The executable of a program that is an ELF file, NAME.vmexe, goes to the working directory.
    Build(guest::GuestArgs),
    /// Execute a program without a proof; show its costs, or where it fails.
    #[command(mut_arg("profile", |arg| arg.long("cargo-profile")))]
    Run(run::RunArgs),
    /// Make the keys of a program's configuration: app.pk, app.vk and agg_prefix.pk.
    #[command(mut_args(hide_given_keys))]
    Keygen(keys::KeygenArgs),
    /// Make the keys of the last circuit of aggregation, internal_recursive.pk and internal_recursive.vk, of root proofs, and of proofs for the EVM.
    Setup(keys::SetupArgs),
    /// Compute the commitments to a program and to its virtual machine.
    Commit(keys::KeyArgs),
    /// Prove an execution of a program and verify the proof.
    #[command(subcommand)]
    Prove(prove::ProveCommand),
    /// Prove on a Ray cluster by the Python package `openvm-metal`.
    #[command(disable_help_flag = true)]
    Cluster(prove::ClusterArgs),
    /// List or remove the commitments and kernels that earlier commands left in the cache folder.
    #[command(subcommand)]
    Cache(cache::CacheCommand),
    /// Verify a proof from a file.
    #[command(subcommand)]
    Verify(verify::VerifyCommand),
    /// Prove a built-in circuit and verify the proof.
    Circuit(circuit::CircuitArgs),
    /// List the devices of this machine, and why a kind of device is missing.
    Devices(devices::DevicesArgs),
    /// Run every kernel on a device and compare it with its oracle.
    Selftest(selftest::SelftestArgs),
    /// Test this machine and write one file to post: devices, every kernel, proofs, rates.
    Report(report::ReportArgs),
    /// Run one section of a report.
    #[command(hide = true)]
    ReportSection(report::SectionArgs),
    /// List the kernels in this program, or write their sources for Apple's compiler to files.
    Kernels(kernels::KernelsArgs),
    /// Measure kernels, and proofs of executions.
    #[cfg(feature = "reference")]
    #[command(subcommand)]
    Bench(bench::BenchCommand),
}

impl Command {
    /// True if the command runs on a device.
    fn uses_device(&self) -> bool {
        !matches!(
            self,
            Self::Init(_)
                | Self::Build(_)
                | Self::Cache(_)
                | Self::Cluster(_)
                | Self::Verify(_)
                | Self::Devices(_)
                | Self::Kernels(_)
        )
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

/// Stack of the thread that runs the command. The stack of the process's first thread is bounded by `ulimit -s`.
const STACK: usize = 8 << 20;

fn main() {
    panics::install();
    memory::explain_aborts();
    file::report_size_limit();
    let thread = std::thread::Builder::new().name("main".into());
    let status = match thread.stack_size(STACK).spawn(start) {
        // A panic has said what it is.
        Ok(command) => command.join().unwrap_or(101),
        Err(_) => memory::end(format_args!("the system refuses a thread")),
    };
    ending::end(status)
}

/// Runs the command, and gives the status of the process.
fn start() -> u8 {
    let cli: Cli = usage::parse();
    init_logging(cli.verbose);
    match interrupt::install().and_then(|()| run(cli)) {
        Ok(()) => 0,
        Err(error) => fail(&error),
    }
}

fn run(cli: Cli) -> Result<()> {
    let device = cli.device;
    if device.is_given() && !cli.command.uses_device() {
        return Err(CliError::Usage("--device: this command uses no device"));
    }
    match &cli.command {
        Command::Init(args) => guest::init(args),
        Command::Cache(command) => cache::run(command),
        Command::Build(args) => guest::build(args),
        Command::Run(args) => run::run(args, device),
        Command::Keygen(args) => keys::keygen(args, device),
        Command::Setup(args) => keys::setup(args, device),
        Command::Commit(args) => keys::commit(args, device),
        Command::Prove(command) => prove::run(command, device),
        Command::Cluster(args) => prove::cluster(args),
        Command::Verify(command) => verify::run(command),
        Command::Circuit(args) => circuit::run(args, device),
        Command::Devices(args) => devices::run(args),
        Command::Selftest(args) => selftest::run(args, device),
        Command::Kernels(args) => kernels::run(args),
        Command::Report(args) => report::run(args, device),
        Command::ReportSection(args) => report::run_section(args, device),
        #[cfg(feature = "reference")]
        Command::Bench(command) => bench::run(command, device),
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
    tracing_subscriber::registry()
        .with(lines)
        .with(stages)
        .init();
}

/// Says what went wrong, and gives the status of the process.
fn fail(error: &CliError) -> u8 {
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
    error.exit_code()
}
