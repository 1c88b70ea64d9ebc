//! `openvm-metal cluster` and `openvm-metal prove stark --ray`: the Python package's command with the same options.

use std::{
    ffi::OsString,
    io::ErrorKind,
    path::Path,
    process::{Command, Stdio},
};

use clap::Args;

use super::ProofArgs;
use crate::{
    error::{CliError, Result},
    table,
    target_device::DeviceArgs,
};

const COMMAND: &str = "openvm-metal-cluster";
/// Keeps Python from taking modules from the current folder, which may be a stranger's. It is known since Python 3.11, which
/// the package needs.
const SAFE_PATH: &str = "-P";
const MODULE: &str = "openvm_metal.ray";

#[derive(Args, Debug)]
pub struct ClusterArgs {
    /// Arguments for the package's command: `prove`, `nodes` and their options, or --help.
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENT"
    )]
    arguments: Vec<OsString>,
}

/// Runs the package's command.
///
/// # Errors
/// [`CliError::NoClusterCommand`] if the package is not installed; what the command ended with.
pub fn run(args: &ClusterArgs) -> Result<()> {
    let is_help = |argument: &OsString| argument == "--help" || argument == "-h";
    match start(&args.arguments) {
        Err(error @ CliError::NoClusterCommand) if args.arguments.iter().any(is_help) => {
            table::line(HELP)?;
            table::line(format_args!("\n{error}"))?;
            table::line(error.hint().unwrap_or_default())
        }
        result => result,
    }
}

/// Help where the command that has more is not installed.
const HELP: &str = "Prove on many machines with Ray.

Usage: openvm-metal cluster prove PROGRAM --address HOST:PORT [OPTIONS]
       openvm-metal cluster nodes [OPTIONS]

`openvm-metal prove stark PROGRAM --ray HOST:PORT` is the first of them.";

/// Proves on a cluster.
///
/// # Errors
/// As [`run`].
pub fn prove(args: &ProofArgs, address: &str, device: DeviceArgs) -> Result<()> {
    start(&options(args, address, device)?)
}

fn start(options: &[OsString]) -> Result<()> {
    let mut command = Command::new(COMMAND);
    let status = match command.args(options).status() {
        Err(error) if error.kind() == ErrorKind::NotFound => by_python()?.args(options).status(),
        status => status,
    };
    let status = status.map_err(|source| CliError::Read {
        path: COMMAND.to_owned(),
        source,
    })?;
    match status.code() {
        Some(0) => Ok(()),
        // Ended by a signal: the user's, most likely.
        None => Err(CliError::Interrupted),
        Some(code) => Err(CliError::Cluster(u8::try_from(code).unwrap_or(1))),
    }
}

/// A Python that has the package, but not its commands' folder in PATH.
fn by_python() -> Result<Command> {
    let found = Command::new("python3")
        .args([SAFE_PATH, "-c", &format!("import {MODULE}")])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !found.is_ok_and(|status| status.success()) {
        return Err(CliError::NoClusterCommand);
    }
    let mut command = Command::new("python3");
    command.args([SAFE_PATH, "-m", MODULE]);
    Ok(command)
}

fn options(args: &ProofArgs, address: &str, device: DeviceArgs) -> Result<Vec<OsString>> {
    let sdk = args.sdk.for_cluster(device)?;
    let (program, config) = args.program.files()?;
    // Commitments to a guest are with its executables, as those of a local proof.
    let commitments = args.program.is_guest().then(|| program.parent()).flatten();
    let commitments = commitments.map(Path::to_path_buf);
    let mut options: Vec<OsString> = vec!["prove".into(), program.into()];
    let mut add = |name: &str, value: OsString| {
        options.push(name.into());
        options.push(value);
    };
    add("--address", address.into());
    add(
        "--max-instructions",
        args.execution.max_instructions().to_string().into(),
    );
    if let Some(input) = args.input.text() {
        add("--input", input.into());
    }
    if let Some(bytes) = args.host_memory {
        add("--host-memory", bytes.to_string().into());
    }
    let files = [
        ("--config", &config),
        ("--job-folder", &args.resume),
        ("--proof", &args.proof),
        ("--vk", &args.vk),
        ("--commitments", &commitments),
    ];
    for (name, file) in files {
        if let Some(file) = file {
            add(name, file.into());
        }
    }
    options.extend(sdk);
    if args.program.is_as_cargo_openvm() {
        options.push("--as-cargo-openvm".into());
    }
    if args.json {
        options.push("--json".into());
    }
    Ok(options)
}
