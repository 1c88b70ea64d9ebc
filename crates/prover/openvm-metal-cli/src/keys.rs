//! `openvm-metal keygen`, `setup` and `commit`: keys and commitments, in cargo-openvm's files.

use std::{
    fs,
    path::{Path, PathBuf},
};

use clap::Args;
use openvm_metal_sdk::{files, key_hash, MIN_SECURITY_BITS, OPENVM_CIRCUIT};
use serde::Serialize;

use crate::{
    error::{CliError, Result},
    evm::{self, ParamsArgs},
    file::{self, Named},
    interrupt,
    program::{Program, ProgramArgs, SdkArgs, Settings},
    table,
    target_device::DeviceArgs,
};

#[derive(Args, Debug)]
pub struct KeyArgs {
    #[command(flatten)]
    program: ProgramArgs,
    #[command(flatten)]
    sdk: SdkArgs,
    /// Write the files to FOLDER [default: the folder of cargo-openvm].
    ///
    /// Folders of cargo-openvm: openvm in a guest's target folder (`keygen`), openvm/PROFILE there (`commit`), and .openvm in your home
    /// folder for keys of OpenVM's default parameters (`setup`). The default for a program that is a file is the working directory. Nothing is
    /// written through links in a guest's folder, nor, unasked, to a target folder outside of the guest's workspace.
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    /// Print one JSON object instead of lines.
    #[arg(long)]
    json: bool,
}

impl KeyArgs {
    /// The folder of keys, with files of these names.
    fn key_folder(&self, names: &[&str]) -> Result<PathBuf> {
        match &self.out {
            Some(folder) => Ok(folder.clone()),
            None => self.program.key_folder(names),
        }
    }

    /// Makes the folders of files, and finds out whether the files can be written, before keys are made, which takes long.
    fn probe(&self, written: &[Named<'_>]) -> Result<()> {
        for (_, file) in written {
            let folder = file.parent().unwrap_or(Path::new(""));
            if !folder.as_os_str().is_empty() {
                fs::create_dir_all(folder).map_err(|source| CliError::Write {
                    path: folder.display().to_string(),
                    source,
                })?;
            }
        }
        file::check(written, &self.program.read_files())
    }
}

#[derive(Args, Debug)]
pub struct KeygenArgs {
    #[command(flatten)]
    keys: KeyArgs,
    /// Make the application's keys only, without agg_prefix.pk.
    #[arg(long)]
    app_only: bool,
}

#[derive(Args, Debug)]
pub struct SetupArgs {
    #[command(flatten)]
    keys: KeyArgs,
    /// Make the keys of root proofs, too: root.pk and root.vk in FOLDER. This takes a proof of the smallest program.
    #[arg(long)]
    root: bool,
    /// Make the keys of proofs for the EVM and the contract that verifies them, too: evm.pk, evm.json and halo2 in FOLDER.
    ///
    /// This takes a root proof of the smallest program, `solc` 0.8.19, 24 GiB of memory and minutes.
    #[arg(long)]
    evm: bool,
    #[command(flatten)]
    params: ParamsArgs,
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
        let bytes = file
            .metadata()
            .map_err(|source| CliError::Read {
                path: file.display().to_string(),
                source,
            })?
            .len();
        table::line(format!("{} ({})", file.display(), table::bytes(bytes)))?;
    }
    Ok(())
}

/// Runs `openvm-metal keygen`: the keys that belong to one configuration.
///
/// # Errors
/// If the configuration has no circuit, or a file cannot be written.
pub fn keygen(command: &KeygenArgs, device: DeviceArgs) -> Result<()> {
    interrupt::at_once();
    let args = &command.keys;
    let sdk = args.sdk.sdk(&Settings::of(&args.program)?, device)?;
    args.sdk.security_bits(&sdk)?;
    let folder = args.key_folder(&[files::APP_PK, files::APP_VK, files::AGG_PREFIX_PK])?;
    let file = |name| folder.join(name);
    let (pk, vk) = (file(files::APP_PK), file(files::APP_VK));
    let prefix = (!command.app_only).then(|| file(files::AGG_PREFIX_PK));
    let mut names: Vec<Named<'_>> = vec![(files::APP_PK, pk.as_path()), (files::APP_VK, &vk)];
    names.extend(prefix.as_deref().map(|file| (files::AGG_PREFIX_PK, file)));
    args.probe(&names)?;
    let written: Vec<PathBuf> = [pk.clone(), vk.clone()]
        .into_iter()
        .chain(prefix.clone())
        .collect();
    let key = sdk.app_pk()?;
    files::write_app_pk(&pk, &key)?;
    files::write_app_vk(&vk, &key.get_app_vk())?;
    if let Some(prefix) = &prefix {
        files::write_agg_prefix_pk(prefix, &sdk.agg_pk()?.prefix)?;
    }
    print(args.json, written)
}

/// Runs `openvm-metal setup`: the keys of the circuit in which every aggregated proof ends, and of root proofs if they are asked for.
///
/// # Errors
/// If the parameters do not go together, or a file cannot be written.
pub fn setup(command: &SetupArgs, device: DeviceArgs) -> Result<()> {
    interrupt::at_once();
    let args = &command.keys;
    let sdk = args.sdk.sdk(&Settings::of(&args.program)?, device)?;
    args.sdk.security_bits(&sdk)?;
    // Each folder is asked for where it is written to: the guest's may be refused, and keys of default parameters do not go there.
    let in_folder = |names: [&'static str; 2]| -> Result<[PathBuf; 2]> {
        let folder = args.key_folder(&names)?;
        Ok(names.map(|name| folder.join(name)))
    };
    // The user's folder is cargo-openvm's: keys of other parameters would make its proofs worthless.
    let places = |is_default: bool| {
        let home = [
            files::internal_recursive_pk_path(),
            files::internal_recursive_vk_path(),
        ];
        match home {
            [Some(pk), Some(vk)] if is_default && args.out.is_none() => Ok([pk, vk]),
            _ => in_folder([files::INTERNAL_RECURSIVE_PK, files::INTERNAL_RECURSIVE_VK]),
        }
    };
    // The parameters of keys that are given are known once these are read, which takes no time.
    if args.out.is_some() || !args.sdk.has_agg_keys() {
        let [pk, vk] = places(!args.sdk.is_toy())?;
        args.probe(&[
            (files::INTERNAL_RECURSIVE_PK, &pk),
            (files::INTERNAL_RECURSIVE_VK, &vk),
        ])?;
    }
    // The root key depends on the shape of the machine's memory, too: it stands with the program's keys.
    let names = [files::ROOT_PK, files::ROOT_VK];
    let root = command.root.then(|| in_folder(names)).transpose()?;
    if let Some([pk, vk]) = &root {
        args.probe(&[(files::ROOT_PK, pk), (files::ROOT_VK, vk)])?;
    }
    let evm = command.evm.then(|| {
        let folder = args.key_folder(&evm::Setup::NAMES)?;
        evm::Setup::begin(&command.params, &folder)
    });
    let evm = evm.transpose()?;
    let key = sdk.agg_pk()?.internal_recursive;
    let vk = sdk.agg_vk()?;
    let is_default = key_hash(&vk).to_string() == OPENVM_CIRCUIT.vk_pre_hash;
    let [pk_file, vk_file] = places(is_default)?;
    files::write_internal_recursive_pk(&pk_file, &key)?;
    files::write_agg_vk(&vk_file, &vk)?;
    let mut written = vec![pk_file, vk_file];
    if let Some([pk_file, vk_file]) = root {
        files::write_root_pk(&pk_file, &sdk.root_pk()?)?;
        files::write_root_vk(&vk_file, &*sdk.root_vk()?)?;
        written.extend([pk_file, vk_file]);
    }
    if let Some(evm) = evm {
        written.extend(evm.finish(sdk)?);
    }
    print(args.json, written)
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
pub fn commit(args: &KeyArgs, device: DeviceArgs) -> Result<()> {
    interrupt::at_once();
    let program = Program::load(&args.program)?;
    let sdk = args.sdk.sdk(&program.settings, device)?;
    // Commitments of circuits whose proofs can be forged say so wherever their files go.
    let mark = match args.sdk.security_bits(&sdk)? < MIN_SECURITY_BITS {
        true => "insecure.",
        false => "",
    };
    let exe = sdk.executable(program.source())?;
    let file = |end| {
        let name = format!("{}.{mark}{end}", program.name);
        match &args.out {
            Some(folder) => folder.join(name),
            None => program.output(&name),
        }
    };
    if args.out.is_none() {
        program.make_folder()?;
    }
    let (commit, baseline_file) = (file("commit.json"), file("baseline.json"));
    args.probe(&[
        ("the commitments", commit.as_path()),
        ("the baseline", &baseline_file),
    ])?;
    let commits = sdk.app_commit(exe.clone())?;
    let baseline = sdk.baseline(exe)?;
    let report = CommitReport {
        app_exe_commit: commits.app_exe_commit.to_string(),
        app_vm_commit: commits.app_vm_commit.to_string(),
        security_bits: sdk.security_bits()?,
        commit,
        baseline: baseline_file,
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
