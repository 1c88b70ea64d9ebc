//! `openvm-metal keygen`, `setup` and `commit`: keys and commitments, in cargo-openvm's files.

use std::path::PathBuf;

use clap::Args;
use openvm_metal_sdk::files;
use serde::Serialize;

use crate::{
    error::Result,
    interrupt,
    program::{Program, ProgramArgs, SdkArgs},
    table,
    target_device::DeviceArgs,
};

#[derive(Args, Debug)]
pub struct KeyArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Where the files go; if absent, target/openvm of a guest's folder, or the folder one is in.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

impl KeyArgs {
    /// Where the command runs.
    pub fn device(&mut self) -> &mut DeviceArgs {
        self.sdk.device()
    }

    fn file(&self, program: &Program, name: &str) -> PathBuf {
        match &self.out {
            Some(folder) => folder.join(name),
            None => program.output(name),
        }
    }
}

/// The files of a command.
#[derive(Serialize)]
struct Files {
    files: Vec<PathBuf>,
}

fn print(json: bool, files: Vec<PathBuf>) -> Result<()> {
    if json {
        return table::json(&Files { files });
    }
    for file in files {
        let bytes = file.metadata()?.len();
        table::line(format!("{} ({})", file.display(), table::bytes(bytes)))?;
    }
    Ok(())
}

/// Runs `openvm-metal keygen`: the application's keys.
///
/// # Errors
/// If the configuration has no circuit, or a file cannot be written.
pub fn keygen(args: &KeyArgs) -> Result<()> {
    interrupt::at_once();
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk(&program)?;
    args.sdk.security_bits(&sdk)?;
    let key = sdk.app_pk()?;
    let (pk, vk) = (args.file(&program, "app.pk"), args.file(&program, "app.vk"));
    files::write_app_pk(&pk, &key)?;
    files::write_app_vk(&vk, &key.get_app_vk())?;
    print(args.json, vec![pk, vk])
}

/// Runs `openvm-metal setup`: the aggregation keys above the application's.
///
/// # Errors
/// If the parameters do not go together, or a file cannot be written.
pub fn setup(args: &KeyArgs) -> Result<()> {
    interrupt::at_once();
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk(&program)?;
    args.sdk.security_bits(&sdk)?;
    let (pk, vk) = (args.file(&program, "agg.pk"), args.file(&program, "agg.vk"));
    files::write_agg_pk(&pk, &sdk.agg_pk()?)?;
    files::write_agg_vk(&vk, &*sdk.agg_vk()?)?;
    print(args.json, vec![pk, vk])
}

#[derive(Serialize)]
struct CommitReport {
    app_exe_commit: String,
    app_vm_commit: String,
    /// Bits of security of the weakest circuit of an aggregated proof.
    security_bits: f64,
    commit: PathBuf,
    baseline: PathBuf,
}

/// Runs `openvm-metal commit`: the commitments to the executable and to the virtual machine.
///
/// # Errors
/// If the program does not fit its configuration, or a file cannot be written.
pub fn commit(args: &KeyArgs) -> Result<()> {
    interrupt::at_once();
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk(&program)?;
    let exe = sdk.executable(program.source())?;
    let commits = sdk.app_commit(exe.clone())?;
    let baseline = sdk.baseline(exe)?;
    let report = CommitReport {
        app_exe_commit: commits.app_exe_commit.to_string(),
        app_vm_commit: commits.app_vm_commit.to_string(),
        security_bits: sdk.security_bits()?,
        commit: args.file(&program, &format!("{}.commit.json", program.name)),
        baseline: args.file(&program, &format!("{}.baseline.json", program.name)),
    };
    files::write_commit_with_security(&report.commit, &commits, report.security_bits)?;
    files::write_baseline_with_security(&report.baseline, &baseline, report.security_bits)?;
    if args.json {
        return table::json(&report);
    }
    table::line(format!("executable       {}", report.app_exe_commit))?;
    table::line(format!("virtual machine  {}", report.app_vm_commit))?;
    table::line(format!("security         {:.1} bits", report.security_bits))?;
    print(false, vec![report.commit, report.baseline])
}
