//! `openvm-metal prove root`: the root proof of an execution, or of an aggregated proof.

use std::path::{Path, PathBuf};

use clap::Args;
use openvm_metal_sdk::{app_vm_commit, files, Report, RootTimes};
use openvm_sdk::types::AppExecutionCommit;
use serde::Serialize;

use super::{file_bytes, prepare, Prepared, ProofArgs};
use crate::{
    error::Result,
    hex,
    host::peak_memory,
    outputs::Outputs,
    program::Printed,
    table::{self, Unit},
    target_device::DeviceArgs,
    trust,
};

#[derive(Args, Debug)]
pub struct RootArgs {
    #[command(flatten)]
    pub proof: ProofArgs,
    /// Prove the aggregated proof in FILE, as `prove stark` writes it for the same program, in place of an execution.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["resume", "check", "dev", "input"])]
    from: Option<PathBuf>,
    /// Read the root key from FILE, as `setup --root` writes it [default: make it, which takes a proof of the smallest program].
    #[arg(long, value_name = "FILE", conflicts_with = "dev")]
    root_pk: Option<PathBuf>,
}

/// A root proof that was accepted by OpenVM's verifier.
#[derive(Serialize)]
pub struct RootReport {
    kind: &'static str,
    pub program: String,
    public_values: String,
    pub proof: PathBuf,
    vk: PathBuf,
    pub commit: PathBuf,
    baseline: PathBuf,
    /// Bytes of the proof's file.
    proof_file_bytes: u64,
    /// Bits of security of the weakest circuit.
    pub security_bits: f64,
    /// Number of proofs that made the aggregated proof smaller before.
    wraps: usize,
    /// Seconds of the root proof's stages.
    root: RootTimes,
    /// Most bytes of this process's memory, if the system tells.
    host_memory_peak: Option<u64>,
    /// The aggregated proof, if it was made.
    stark: Option<Report>,
}

/// Runs the command.
///
/// # Errors
/// What goes wrong in the program or on the device; an aggregated proof that is not valid.
pub fn run(command: &RootArgs, device: DeviceArgs) -> Result<()> {
    let (report, outputs) = prove(
        &command.proof,
        command.from.as_deref(),
        command.root_pk.as_deref(),
        device,
    )?;
    let printed = report.print(command.proof.json);
    outputs.finish()?;
    printed
}

/// Makes the root proof of an execution, or of the aggregated proof in file `from`, and writes its files.
///
/// # Errors
/// Errors of [`run`], except those that [`Outputs::finish`] returns.
pub fn prove(
    args: &ProofArgs,
    from: Option<&Path>,
    root_pk: Option<&Path>,
    device: DeviceArgs,
) -> Result<(RootReport, Outputs)> {
    let from = from.map(files::read_proof).transpose()?;
    let input = args.input.stdin()?;
    let prepared = prepare(args, device, "root", root_pk)?;
    let Prepared {
        program,
        exe,
        sdk,
        bar,
        ..
    } = &prepared;

    let output = Printed::above(bar.line());
    let options = args.options(bar, &output);
    let (proof, baseline, stark) = match from {
        Some(proof) => {
            let baseline = prepared.proving(args.json, || sdk.baseline(exe.clone()));
            (proof, baseline?, None)
        }
        None => {
            if args.check {
                args.check_first(program, sdk, input.clone(), bar)?;
            }
            let proved = prepared.proving(args.json, || sdk.prove(exe.clone(), input, &options));
            let proved = proved.map_err(|error| program.at_place(error))?;
            (proved.proof, proved.baseline, Some(proved.report))
        }
    };
    let proved = sdk.prove_root(&baseline, &proof, &options)?;
    let bits = proved.verified.security_bits.min(sdk.security_bits()?);
    drop(output);
    prepared.bar.finish();

    let mut outputs = Outputs::default();
    let proof = outputs.write(&prepared.paths.proof, |path| {
        files::write_root_proof(path, &proved.proof)
    })?;
    let commits = AppExecutionCommit {
        app_exe_commit: baseline.app_exe_commit.into(),
        app_vm_commit: app_vm_commit(&baseline),
    };
    let commit = outputs.write(&prepared.paths.commit, |path| {
        files::write_commit_with_security(path, &commits, bits)
    })?;
    let baseline = outputs.write(&prepared.paths.baseline, |path| {
        files::write_baseline_with_security(path, &baseline, bits)
    })?;
    let key = prepared.sdk.root_vk()?;
    let vk = outputs.write(&prepared.paths.vk, |path| files::write_root_vk(path, &key))?;
    let report = RootReport {
        kind: "root",
        program: prepared.program.name,
        public_values: hex::encode(&proved.verified.public_values),
        proof_file_bytes: file_bytes(&proof),
        proof,
        vk,
        commit,
        baseline,
        security_bits: bits,
        wraps: proved.wraps,
        root: proved.times,
        host_memory_peak: peak_memory(),
        stark,
    };
    Ok((report, outputs))
}

impl RootReport {
    /// Prints the report.
    ///
    /// # Errors
    /// Errors of standard output.
    pub fn print(&self, json: bool) -> Result<()> {
        if json {
            return table::json(self);
        }
        let stark = self.stark.as_ref().map(|report| report.total);
        let times = &self.root;
        let stages = [
            ("aggregated proof", stark),
            ("root key", Some(times.keys)),
            ("root traces", Some(times.traces)),
            ("root proof", Some(times.prove)),
            ("verification", Some(times.verify)),
        ];
        let total = stages.iter().filter_map(|stage| stage.1).sum();
        let unit = Unit::of_times([total]);
        let mut rows = table::table(&["stage".into(), unit.header("time")], &[1]);
        for (name, time) in stages.into_iter().chain([("total", Some(total))]) {
            if let Some(time) = time {
                rows.add_row([name.to_owned(), unit.time(time)]);
            }
        }
        table::line(rows)?;
        if self.wraps > 0 {
            table::line(format!(
                "the aggregated proof was made smaller {} before",
                table::plural(self.wraps as u64, "time")
            ))?;
        }
        table::line(format!("public values  {}", self.public_values))?;
        table::line(format!(
            "proof          {} ({}), {:.1} bits of security",
            self.proof.display(),
            table::bytes(self.proof_file_bytes),
            self.security_bits
        ))?;
        table::line(format!(
            "verify with    openvm-metal verify root {} --vk {} --commit {}{}",
            self.proof.display(),
            self.vk.display(),
            self.commit.display(),
            trust::of_own_key(self.security_bits)
        ))
    }
}
