//! The two halo2 proofs over a root proof, and their files.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use openvm_metal_evm::{check_prove, ProvedEvm, EVM_JSON, EVM_PK};
use openvm_metal_sdk::{files, SdkError, MIN_SECURITY_BITS};
use serde::Serialize;

use super::{
    evm::EvmArgs,
    root::{self, RootReport},
};
use crate::{
    error::Result,
    evm::CONTRACT,
    file::{self, Read},
    hex,
    host::peak_memory,
    outputs::Outputs,
    progress::Progress,
    table::{self, note, Unit},
    target_device::DeviceArgs,
};

/// A proof that the contract has accepted.
#[derive(Serialize)]
struct EvmReport {
    kind: &'static str,
    public_values: String,
    app_exe_commit: String,
    app_vm_commit: String,
    proof: PathBuf,
    /// Data of a transaction that calls the contract's `verify`.
    calldata: PathBuf,
    /// Gas of a call of the contract.
    gas: u64,
    /// Bits of security of the weakest STARK below.
    security_bits: f64,
    /// True if everybody knows the secret of the KZG parameters, so that the proof can be forged.
    unsafe_test_params: bool,
    #[serde(skip)]
    is_insecure: bool,
    /// Seconds of the stages.
    times: Times,
    /// Most bytes of this process's memory, if the system tells.
    host_memory_peak: Option<u64>,
    /// The root proof, if it was made.
    root: Option<RootReport>,
}

#[derive(Serialize)]
struct Times {
    /// Reading keys and parameters.
    read: f64,
    /// Verifying the root proof.
    verify: f64,
    /// The proof of the circuit over the root proof.
    outer: f64,
    /// The proof of the circuit over that.
    wrapper: f64,
}

/// Runs the command.
///
/// # Errors
/// Errors of the program, the device, keys and parameters; a root proof that is not valid.
pub fn run(command: &EvmArgs, device: DeviceArgs) -> Result<()> {
    let (args, keys) = (&command.proof, &command.keys);
    let params = command.params.folder()?;
    let contract = keys.join(CONTRACT);
    let facts = check_prove(keys, &params, &contract)?;
    let commit = command.commit.as_deref().map(files::read_commit);
    let commit = commit.transpose()?;
    if let Some(file) = &args.proof {
        file::check(&[("--proof", file)], &read_files(command))?;
    }
    let (root_file, expected, root, mut outputs) = match &command.from {
        Some(file) => (file.clone(), commit, None, Outputs::default()),
        None => {
            // `--proof` is the file of this command's own proof.
            let mut below = args.clone();
            below.proof = None;
            let (report, outputs) = root::prove(&below, None, command.root_pk.as_deref(), device)?;
            let expected = files::read_commit(&report.commit)?;
            let file = report.proof.clone();
            note(format_args!(
                "the root proof is {0}; after an interruption --from {0} goes on from it",
                file.display()
            ));
            (file, Some(expected), Some(report), outputs)
        }
    };
    let name = root_file.file_name().unwrap_or("program".as_ref());
    let name = name.to_string_lossy();
    let name = name.trim_end_matches(".root.proof");
    let stem = name.trim_end_matches(".insecure");
    let bits = root.as_ref().map(|root| root.security_bits);
    let bits = bits.map_or(facts.security_bits, |bits| bits.min(facts.security_bits));
    // Proofs that can be forged say so wherever their files go.
    let is_insecure = facts.is_unsafe() || bits < MIN_SECURITY_BITS || stem != name;
    let mark = if is_insecure { "insecure." } else { "" };
    let proof_file = args.proof.clone();
    let proof_file = proof_file.unwrap_or_else(|| format!("{stem}.{mark}evm.proof").into());
    let calldata_file = proof_file.with_extension("calldata");
    let mut read = read_files(command);
    read.push(("the root proof", root_file.clone()));
    let written = [
        ("--proof", proof_file.as_path()),
        ("the calldata", &calldata_file),
    ];
    file::check(&written, &read)?;

    let line = Progress::start(args.json);
    line.work("halo2 proofs");
    let root_proof = files::read_root_proof(&root_file)?;
    let min = match args.sdk.is_insecure() {
        true => 0.0,
        false => MIN_SECURITY_BITS,
    };
    let proved = openvm_metal_evm::prove(
        keys,
        &params,
        &contract,
        &root_proof,
        expected.as_ref(),
        min,
    );
    drop(line);
    let proved = match proved {
        Ok(proved) => proved,
        Err(error) => {
            // Where the root proof is, if not in its place.
            outputs.finish()?;
            return Err(error.into());
        }
    };

    let proof = outputs.write(&proof_file, |path| write_proof(path, &proved))?;
    let calldata = hex::encode(&proved.proof.clone().verifier_calldata());
    let calldata = outputs.write(&calldata_file, |path| {
        files::write_bytes(path, "the calldata", calldata.as_bytes())
    })?;
    let times = &proved.times;
    let printed = EvmReport {
        kind: "evm",
        public_values: hex::encode(&proved.proof.user_public_values),
        app_exe_commit: proved.proof.app_commit.app_exe_commit.to_string(),
        app_vm_commit: proved.proof.app_commit.app_vm_commit.to_string(),
        proof,
        calldata,
        gas: proved.gas,
        security_bits: bits,
        unsafe_test_params: facts.is_unsafe(),
        is_insecure,
        times: Times {
            read: times.read.as_secs_f64(),
            verify: times.verify.as_secs_f64(),
            outer: times.outer.as_secs_f64(),
            wrapper: times.wrapper.as_secs_f64(),
        },
        host_memory_peak: peak_memory(),
        root,
    }
    .print(args.json, &contract);
    outputs.finish()?;
    printed
}

/// The files that the command reads besides the program's.
fn read_files(command: &EvmArgs) -> Vec<Read> {
    let keys = &command.keys;
    let mut files = vec![
        ("the EVM keys", keys.join(EVM_PK)),
        ("the facts about EVM keys", keys.join(EVM_JSON)),
    ];
    let named = [
        ("--commit", &command.commit),
        ("--from", &command.from),
        ("--root-pk", &command.root_pk),
        ("--vk", &command.proof.vk),
    ];
    files.extend(
        named
            .into_iter()
            .filter_map(|(name, file)| Some((name, file.clone()?))),
    );
    files
}

/// Writes openvm-sdk's JSON; a proof that can be forged has a field that says so.
fn write_proof(path: &Path, proved: &ProvedEvm) -> Result<(), SdkError> {
    let what = "the proof";
    let bytes = serde_json::to_value(&proved.proof).and_then(|mut value| {
        if let (true, Some(fields)) = (proved.facts.is_unsafe(), value.as_object_mut()) {
            fields.insert("unsafe_test_params".into(), true.into());
        }
        serde_json::to_vec_pretty(&value)
    });
    let bytes = bytes.map_err(|error| SdkError::Bytes {
        what,
        reason: error.to_string(),
    })?;
    files::write_bytes(path, what, &bytes)
}

impl EvmReport {
    fn print(&self, json: bool, contract: &Path) -> Result<()> {
        if json {
            return table::json(self);
        }
        if let Some(root) = &self.root {
            root.print(false)?;
        }
        let stages = [
            ("EVM keys read", self.times.read),
            ("proof over the root proof", self.times.outer),
            ("wrapper proof", self.times.wrapper),
            ("verification", self.times.verify),
        ];
        let stages = stages.map(|(name, seconds)| (name, Duration::from_secs_f64(seconds)));
        let total = stages.iter().map(|stage| stage.1).sum();
        let unit = Unit::of_times([total]);
        let mut rows = table::table(&["stage".into(), unit.header("time")], &[1]);
        for (name, time) in stages.into_iter().chain([("total", total)]) {
            rows.add_row([name.to_owned(), unit.time(time)]);
        }
        table::line(rows)?;
        table::line(format!("public values  {}", self.public_values))?;
        table::line(format!("proof          {}", self.proof.display()))?;
        table::line(format!(
            "calldata       {} ({} gas)",
            self.calldata.display(),
            table::count(self.gas)
        ))?;
        table::line(match self.unsafe_test_params {
            true => "security       none: the secret of the KZG parameters is public, the proof can be FORGED".into(),
            false => format!("security       {:.1} bits below the halo2 proofs", self.security_bits),
        })?;
        let insecure = if self.is_insecure {
            " --allow-insecure"
        } else {
            ""
        };
        let commit = self.root.as_ref().map_or_else(String::new, |root| {
            format!(" --commit {}", root.commit.display())
        });
        table::line(format!(
            "verify with    openvm-metal verify evm {} --contract {}{commit} --trust-vk{insecure}",
            self.proof.display(),
            contract.display()
        ))
    }
}
