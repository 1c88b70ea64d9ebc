//! `openvm-metal verify`: proofs from files, by OpenVM's own verifier. docs/guide/verify.md says
//! which files a user makes and which they may be given.

#[cfg(feature = "evm")]
mod contract;

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use openvm_metal_sdk::{
    app_vm_commit, check_key, files, is_openvm_circuit, root::verify_root, verify, verify_app,
    SdkError, Verified, MIN_SECURITY_BITS,
};
use openvm_sdk::types::AppExecutionCommit;
use openvm_verify_stark_host::vk::{VerificationBaseline, VmStarkVerifyingKey};
use serde::Serialize;

use crate::{
    circuit::verify::{self as circuit, VerifyCircuitArgs},
    error::{CliError, Result},
    hex, interrupt,
    prove::refuse_dev,
    shown, table,
    trust::TrustArgs,
};

#[derive(Subcommand)]
pub enum VerifyCommand {
    /// Verify the proofs of all segments of an execution.
    App(VerifyAppArgs),
    /// Verify the aggregated proof of an execution.
    Stark(VerifyStarkArgs),
    /// Verify the root proof of an execution.
    Root(VerifyRootArgs),
    /// Verify a proof for the EVM by the contract, in an EVM of this process.
    Evm(VerifyEvmArgs),
    /// Verify the proof of a built-in circuit.
    Circuit(VerifyCircuitArgs),
}

/// Options of all kinds of proofs.
#[derive(Args, Debug)]
struct CommonArgs {
    /// Compare the commitments of the proof with FILE, as `commit` writes it.
    #[arg(long, alias = "app-commit", value_name = "FILE")]
    commit: Option<PathBuf>,
    #[command(flatten)]
    trust: TrustArgs,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

#[derive(Args, Debug)]
pub struct VerifyAppArgs {
    /// Proof, as `prove app` writes it.
    proof: PathBuf,
    /// Read the application's verifying key, as `keygen`, `prove app` or cargo-openvm writes it, from FILE.
    #[arg(long, alias = "app-vk", value_name = "FILE")]
    vk: PathBuf,
    /// Compare the key, the program and the virtual machine with this baseline, as `commit` writes it.
    ///
    /// --commit without a baseline compares the program alone.
    #[arg(long, alias = "app-baseline", value_name = "FILE")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
pub struct VerifyStarkArgs {
    /// Proof, as `prove stark` writes it.
    proof: PathBuf,
    /// Read the key and the baseline from FILE, as `prove stark` writes it.
    ///
    /// --commit compares the program and the virtual machine of a file from another person.
    #[arg(long, value_name = "FILE", required_unless_present = "agg_vk")]
    vk: Option<PathBuf>,
    /// Read the aggregation's verifying key, as `setup` or cargo-openvm writes it, from FILE: with --baseline, instead of --vk.
    #[arg(
        long,
        value_name = "FILE",
        requires = "baseline",
        conflicts_with = "vk"
    )]
    agg_vk: Option<PathBuf>,
    /// Compare the key, the program and the virtual machine with this baseline, as `commit` or cargo-openvm writes it.
    #[arg(long, alias = "app-baseline", value_name = "FILE", requires = "agg_vk")]
    baseline: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
pub struct VerifyRootArgs {
    /// Proof, as `prove root` writes it.
    proof: PathBuf,
    /// Read the root verifying key, as `setup --root` or `prove root` writes it, from FILE.
    #[arg(long, value_name = "FILE")]
    vk: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Args, Debug)]
pub struct VerifyEvmArgs {
    /// Proof, as `prove evm` or cargo-openvm writes it.
    proof: PathBuf,
    /// Read the contract from FOLDER, into which `setup --evm` or cargo-openvm writes.
    #[arg(long, value_name = "FOLDER")]
    contract: PathBuf,
    #[command(flatten)]
    common: CommonArgs,
}

/// A verified proof, as it is printed.
#[derive(Serialize)]
struct VerifiedReport {
    valid: bool,
    #[serde(flatten)]
    verified: Verified,
    /// True if `security_bits` are those of the weakest circuit, false if they are the last one's.
    is_of_all_circuits: bool,
    /// File of the commitments that the proof was compared with.
    compared_with: Option<PathBuf>,
    /// Parts of the statement that were compared with it: `program`, `virtual machine`.
    compared: &'static [&'static str],
}

/// A file that a proof was compared with.
struct Compared<'a> {
    file: &'a PathBuf,
    /// False if the virtual machine was not compared.
    is_whole: bool,
}

impl<'a> Compared<'a> {
    /// The file, with program and virtual machine.
    fn whole(file: &'a PathBuf) -> Self {
        Self {
            file,
            is_whole: true,
        }
    }

    /// Names of the parts that were compared.
    fn parts(&self) -> &'static [&'static str] {
        match self.is_whole {
            true => &["program", "virtual machine"],
            false => &["program"],
        }
    }
}

/// Runs the command.
///
/// Nobody need read what is printed: the verdict is known by then, and a pipe that is closed does not change it.
///
/// # Errors
/// If a file cannot be read, a key is refused, or the proof is not accepted.
pub fn run(command: &VerifyCommand) -> Result<()> {
    interrupt::at_once();
    let result = match command {
        VerifyCommand::Circuit(args) => circuit::run(args),
        VerifyCommand::App(args) => refuse_dev(&args.proof).and_then(|()| args.run()),
        VerifyCommand::Root(args) => refuse_dev(&args.proof).and_then(|()| args.run()),
        VerifyCommand::Evm(args) => refuse_dev(&args.proof).and_then(|()| args.run()),
        VerifyCommand::Stark(args) => refuse_dev(&args.proof).and_then(|()| args.run()),
    };
    match result {
        Err(error) if error.is_closed_pipe() => Ok(()),
        result => result,
    }
}

impl VerifyAppArgs {
    fn run(&self) -> Result<()> {
        if self.baseline.is_none() && !self.common.trust.trust_vk {
            return Err(CliError::UntrustedKey {
                path: self.vk.clone(),
                remedy:
                    "give --baseline FILE, which `openvm-metal commit` makes from the program, to \
                         compare it with; or --trust-vk if it is yours",
            });
        }
        let proof = files::read_app_proof(&self.proof)?;
        let vk = files::read_app_vk(&self.vk)?;
        let baseline = optional(&self.baseline, files::read_baseline)?;
        let commit = optional(&self.common.commit, files::read_commit)?;
        let min = self.common.trust.min_security_bits();
        let exe_commit = commit.as_ref().map(|commit| commit.app_exe_commit.into());
        if let (Some(commit), Some(baseline)) = (&commit, &baseline) {
            compare_machines(commit, baseline)?;
        }
        let verified = verify_app(&vk, &proof, exe_commit, baseline.as_ref(), min)?;
        let known = Some(verified.security_bits);
        let compared = match (&self.baseline, &self.common.commit) {
            (Some(baseline), _) => Some(Compared::whole(baseline)),
            // The key of segments does not fix the circuits above them, whose keys a virtual machine's commitment names too.
            (None, Some(file)) => Some(Compared {
                file,
                is_whole: false,
            }),
            (None, None) => None,
        };
        print(self.common.json, verified, known, compared)
    }
}

impl VerifyStarkArgs {
    fn key(&self) -> Result<VmStarkVerifyingKey> {
        Ok(match (&self.vk, &self.agg_vk, &self.baseline) {
            (_, Some(agg_vk), Some(baseline)) => VmStarkVerifyingKey {
                mvk: files::read_agg_vk(agg_vk)?,
                baseline: files::read_baseline(baseline)?,
            },
            (Some(vk), ..) => files::read_stark_vk(vk)?,
            _ => {
                return Err(CliError::Usage(
                    "--vk is missing, or --agg-vk and --baseline",
                ))
            }
        })
    }

    fn run(&self) -> Result<()> {
        let proof = files::read_proof(&self.proof)?;
        let vk = self.key()?;
        let min = self.common.trust.min_security_bits();
        check_key("the aggregation verifying key", &vk.mvk, min)?;
        if let Some(path) = &self.vk {
            let remedy = match (is_openvm_circuit(&vk.baseline), &self.common.commit) {
                (true, Some(_)) => None,
                (true, None) => Some(
                    "give --commit FILE, which `openvm-metal commit` makes from the program, to compare it \
                     with; or --trust-vk if it is yours",
                ),
                (false, _) => Some(
                    "it is not OpenVM's circuit with default parameters. Give --agg-vk and --baseline, which \
                     `openvm-metal setup` and `commit` make from the program; or --trust-vk if it is yours",
                ),
            };
            if let Some(remedy) = remedy.filter(|_| !self.common.trust.trust_vk) {
                let path = path.clone();
                return Err(CliError::UntrustedKey { path, remedy });
            }
        }
        if let Some(commit) = optional(&self.common.commit, files::read_commit)? {
            let found = vk.baseline.app_exe_commit.into();
            if commit.app_exe_commit != found {
                return Err(CliError::OtherProgram {
                    what: "program",
                    found: found.to_string(),
                    expected: commit.app_exe_commit.to_string(),
                });
            }
            compare_machines(&commit, &vk.baseline)?;
        }
        let known = known_security([&self.baseline, &self.common.commit], min)?;
        let verified = verify(&vk.mvk, &vk.baseline, &proof, min)?;
        let compared = self.common.commit.as_ref().or(self.baseline.as_ref());
        print(
            self.common.json,
            verified,
            known,
            compared.map(Compared::whole),
        )
    }
}

impl VerifyRootArgs {
    fn run(&self) -> Result<()> {
        if !self.common.trust.trust_vk {
            return Err(CliError::UntrustedKey {
                path: self.vk.clone(),
                remedy: "make one by `openvm-metal setup --root` and give --trust-vk",
            });
        }
        let proof = files::read_root_proof(&self.proof)?;
        let vk = files::read_root_vk(&self.vk)?;
        let commit = optional(&self.common.commit, files::read_commit)?;
        let min = self.common.trust.min_security_bits();
        let known = known_security([&None, &self.common.commit], min)?;
        let root = verify_root(&vk, &proof, commit.as_ref(), min)?;
        let compared = self.common.commit.as_ref().map(Compared::whole);
        print(self.common.json, root, known, compared)
    }
}

impl VerifyEvmArgs {
    #[cfg(feature = "evm")]
    fn run(&self) -> Result<()> {
        contract::run(self)
    }

    #[cfg(not(feature = "evm"))]
    fn run(&self) -> Result<()> {
        let Self {
            proof: _,
            contract: _,
            common: _,
        } = self;
        Err(CliError::NoEvm)
    }
}

/// The contents of a file that may be absent.
fn optional<T, E>(
    path: &Option<PathBuf>,
    read: impl FnOnce(&Path) -> Result<T, E>,
) -> Result<Option<T>, E> {
    path.as_deref().map(read).transpose()
}

/// Compares the virtual machine of `commit` with that of a baseline.
fn compare_machines(commit: &AppExecutionCommit, baseline: &VerificationBaseline) -> Result<()> {
    let found = app_vm_commit(baseline);
    match found == commit.app_vm_commit {
        true => Ok(()),
        false => Err(CliError::OtherProgram {
            what: "virtual machine",
            found: found.to_string(),
            expected: commit.app_vm_commit.to_string(),
        }),
    }
}

/// The bits of security that the user's own files say the circuits below the last one have.
///
/// # Errors
/// [`SdkError::Insecure`] if they are fewer than `min`.
fn known_security(files: [&Option<PathBuf>; 2], min: f64) -> Result<Option<f64>> {
    let mut known = None;
    for path in files.into_iter().flatten() {
        let Some(bits) = files::read_security(path)? else {
            continue;
        };
        if bits < min {
            let what = "the virtual machine of the commitments";
            return Err(SdkError::Insecure { what, bits, min }.into());
        }
        known = Some(bits);
    }
    Ok(known)
}

/// Prints a verified proof. `known` are the bits of security of all circuits, if files say them.
fn print(
    json: bool,
    mut verified: Verified,
    known: Option<f64>,
    compared: Option<Compared<'_>>,
) -> Result<()> {
    if let Some(bits) = known {
        verified.security_bits = verified.security_bits.min(bits);
    }
    if json {
        return table::json(&VerifiedReport {
            valid: true,
            verified,
            is_of_all_circuits: known.is_some(),
            compared_with: compared.as_ref().map(|compared| compared.file.clone()),
            compared: compared.map_or(&[], |compared| compared.parts()),
        });
    }
    let of = match (verified.security_bits < MIN_SECURITY_BITS, known) {
        (true, _) => ", so it can be FORGED",
        (false, Some(_)) => "",
        (false, None) => {
            " in the last circuit; the virtual machine says which circuits are below it"
        }
    };
    table::line(format!(
        "the proof is valid, public values {}",
        hex::encode(&verified.public_values)
    ))?;
    table::line(format!(
        "program          {}\nvirtual machine  {}\nsecurity         {:.1} bits{of}",
        verified.app_exe_commit,
        verified.app_vm_commit.map_or_else(
            || "not compared, which takes --baseline".into(),
            |commit| commit.to_string()
        ),
        verified.security_bits
    ))?;
    table::line(match compared {
        Some(Compared { file, is_whole }) => {
            let part = match is_whole {
                true => "",
                false => " (the program alone)",
            };
            format!("compared with    {}{part}", shown::name(file))
        }
        None => "compared with    nothing: is this your program? `openvm-metal commit` prints its \
                 commitments, --commit compares them"
            .into(),
    })
}
