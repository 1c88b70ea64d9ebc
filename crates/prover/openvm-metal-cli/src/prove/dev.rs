//! `prove --check` and `prove --dev`: the constraints of an execution, without proofs.

use std::{io::Read, path::Path};

use openvm_metal_sdk::{files, CheckedRun, MetalSdk, ProveOptions};
use openvm_sdk::StdIn;
use serde::Serialize;

use crate::{
    error::{CliError, Result},
    hex,
    outputs::Outputs,
    program::Program,
    table,
};

/// Begins every file of `--dev`. No format of a proof begins with it.
const MARK: &str = "{\"openvm_metal_dev\":";

/// A file of `--dev`.
#[derive(Serialize)]
struct DevReport {
    /// Text for those who take it for a proof.
    openvm_metal_dev: &'static str,
    program: String,
    public_values: String,
    instructions: u64,
    segments: usize,
    seconds: f64,
}

/// Checks the constraints of every segment's traces.
///
/// # Errors
/// Errors of the guest; the first constraint that fails.
pub fn check(
    program: &Program,
    sdk: &MetalSdk,
    input: StdIn,
    options: &ProveOptions<'_>,
) -> Result<CheckedRun> {
    let at_place = |error| program.at_place(error);
    let exe = sdk.executable(program.source()).map_err(at_place)?;
    let run = sdk
        .app_prover(exe)
        .and_then(|prover| prover.check_constraints(&*sdk.app_pk()?, input, options))
        .map_err(at_place)?;
    table::note(format_args!(
        "{}: every constraint holds on the traces of {} {} ({} instructions, {})",
        program.name,
        run.segments,
        table::plural(run.segments as u64, "segment"),
        run.instructions,
        table::duration(run.time)
    ));
    Ok(run)
}

/// Writes the file of an execution that was checked and not proved.
///
/// # Errors
/// A file that cannot be written.
pub fn write(program: &Program, run: &CheckedRun, file: &Path, json: bool) -> Result<()> {
    let report = DevReport {
        openvm_metal_dev: "NO PROOF: the execution was checked by `openvm-metal prove --dev`, and this file says nothing to anybody else",
        program: program.name.clone(),
        public_values: hex::encode(&run.public_values),
        instructions: run.instructions,
        segments: run.segments,
        seconds: run.time.as_secs_f64(),
    };
    let text = serde_json::to_string(&report)? + "\n";
    let mut outputs = Outputs::default();
    let what = "the result of --dev";
    let at = outputs.write(file, |path| files::write_bytes(path, what, text.as_bytes()))?;
    outputs.finish()?;
    if json {
        return table::json(&report);
    }
    table::line(format!("public values {}", report.public_values))?;
    table::line(format!(
        "{}: NO PROOF, which no verifier takes",
        at.display()
    ))
}

/// Refuses a file of `--dev` in place of a proof.
///
/// # Errors
/// [`CliError::Rejected`].
pub fn refuse(proof: &Path) -> Result<()> {
    let mut begin = Vec::new();
    if let Ok(file) = std::fs::File::open(proof) {
        // What cannot be read is reported by those who read the proof. A pipe would lose its beginning here.
        if file.metadata().is_ok_and(|data| data.is_file()) {
            let _ = file.take(MARK.len() as u64).read_to_end(&mut begin);
        }
    }
    match begin == MARK.as_bytes() {
        true => Err(CliError::Rejected(format!(
            "{} is the result of `prove --dev`, which is no proof: run `openvm-metal prove` without --dev",
            proof.display()
        ))),
        false => Ok(()),
    }
}
