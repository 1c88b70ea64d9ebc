#![doc = include_str!("../README.md")]

mod array;
mod commands;
mod device;
mod error;
mod launch;
mod npy;
mod spec;
mod value;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::commands::{asm, check, disasm, emit_msl, fuzz, kernels, run, selftest};
use crate::device::BackendName;
use crate::error::{CliError, Result};

/// Programs of the Atlas instruction set: run them, check them, look at them.
#[derive(Parser)]
#[command(
    name = "hologram",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
struct Cli {
    /// Backend that runs the program of `run`; stands before or after the command's name.
    #[arg(long, value_enum)]
    backend: Option<BackendName>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a program on arrays.
    Run(run::RunArgs),
    /// Check a program, and its launch, without running it.
    Check(check::CheckArgs),
    /// Show a program as assembly text.
    Disasm(disasm::DisasmArgs),
    /// Turn assembly text into a serialised program.
    Asm(asm::AsmArgs),
    /// Show the Metal kernel that a program becomes.
    EmitMsl(emit_msl::EmitMslArgs),
    /// List the kernels in this program, or write their sources for Apple's compiler to files.
    Kernels(kernels::KernelsArgs),
    /// Try random programs.
    Fuzz(fuzz::FuzzArgs),
    /// Test every instruction and operation, and random programs, on a device.
    Selftest(selftest::SelftestArgs),
}

fn main() -> ExitCode {
    match dispatch(Cli::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_silent() => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            if let Some(hint) = error.hint() {
                eprintln!("  hint: {hint}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}

fn dispatch(cli: Cli) -> Result<()> {
    if cli.backend.is_some() && !matches!(cli.command, Command::Run(_)) {
        let reason = "--backend: only `run` uses one";
        return Err(CliError::Usage(reason.to_owned()));
    }
    match cli.command {
        Command::Run(mut args) => {
            args.take_backend(cli.backend)?;
            run::run(&args)
        }
        Command::Check(args) => check::run(&args),
        Command::Disasm(args) => disasm::run(&args),
        Command::Asm(args) => asm::run(&args),
        Command::EmitMsl(args) => emit_msl::run(&args),
        Command::Kernels(args) => kernels::run(&args),
        Command::Fuzz(args) => fuzz::run(&args),
        Command::Selftest(args) => selftest::run(&args),
    }
}
