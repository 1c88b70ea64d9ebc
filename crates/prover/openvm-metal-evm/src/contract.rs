//! `Contract`: OpenVM's contract that verifies proofs, its files, and its run in an EVM of this process.

use std::{
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
};

use openvm_metal_sdk::{AggProvingKey, AppProvingKey, RootProvingKey, SdkError, SdkVmConfig};
use openvm_sdk::{
    fs::{
        read_evm_halo2_verifier_from_folder, write_evm_halo2_verifier_to_folder,
        EVM_HALO2_VERIFIER_BASE_NAME, EVM_HALO2_VERIFIER_INTERFACE_NAME,
        EVM_HALO2_VERIFIER_PARENT_NAME, EVM_VERIFIER_ARTIFACT_FILENAME,
    },
    keygen::Halo2ProvingKey,
    types::{EvmHalo2Verifier, EvmProof},
    Sdk, OPENVM_VERSION,
};
use snark_verifier_sdk::snark_verifier::loader::evm::deploy_and_call;

use crate::{
    error::{guard, EvmError},
    keys::KeyFile,
    params::{public_secret_words, ParamsFolder},
    resources::check_processor,
};

/// Version of the Solidity compiler for which OpenVM's contract is written.
const SOLC: &str = "0.8.19";

/// The contract that verifies proofs of one folder of keys, with its sources.
pub struct Contract(EvmHalo2Verifier);

/// Keys below the halo2 circuits, without which openvm-sdk makes no contract.
pub struct KeysBelow {
    pub app: AppProvingKey<SdkVmConfig>,
    pub aggregation: AggProvingKey,
    pub root: RootProvingKey,
}

impl Contract {
    /// Makes the contract for the keys in a folder by openvm-sdk, which has it compiled by `solc`.
    ///
    /// # Errors
    /// [`EvmError::Solc`] for a compiler that is missing or of another version, [`EvmError::Sdk`], panics of the libraries.
    pub fn make(keys: &Path, params: &ParamsFolder, below: KeysBelow) -> Result<Self, EvmError> {
        check_solc()?;
        const STAGE: &str = "making the contract";
        // openvm-sdk finds parameters by the ceremony's names.
        let named = tempfile::tempdir().map_err(|source| {
            EvmError::Sdk(SdkError::Write {
                path: std::env::temp_dir(),
                what: "a folder",
                source,
            })
        })?;
        let mut file = KeyFile::open(keys)?;
        let key = Halo2ProvingKey {
            verifier: Arc::new(file.verifier()?),
            wrapper: Arc::new(file.wrapper()?),
            profiling: false,
        };
        let facts = file.facts;
        for k in [facts.verifier_k, facts.wrapper_k] {
            let link = named.path().join(format!("kzg_bn254_{k}.srs"));
            let file = std::path::absolute(params.path(k));
            // The wrapper may have as many rows as the other circuit.
            if !link.is_symlink() {
                file.and_then(|file| symlink(file, &link))
                    .map_err(|source| {
                        EvmError::Sdk(SdkError::Write {
                            path: link,
                            what: "a link",
                            source,
                        })
                    })?;
            }
        }
        let made = guard(STAGE, || {
            Sdk::builder()
                .app_pk(below.app)
                .agg_pk(below.aggregation)
                .root_pk(below.root)
                .halo2_pk(key)
                .halo2_params_dir(named.path())
                .build()
                .and_then(|sdk| sdk.generate_halo2_verifier_solidity())
        })?;
        made.map(Self).map_err(|error| EvmError::Panicked {
            stage: STAGE,
            message: error.to_string(),
        })
    }

    /// Writes the sources and the code into a folder, as openvm-sdk does. Returns the files.
    ///
    /// # Errors
    /// [`EvmError::Sdk`].
    pub fn write(&self, folder: &Path) -> Result<Vec<PathBuf>, EvmError> {
        let written = guard("writing the contract", || {
            write_evm_halo2_verifier_to_folder(self.0.clone(), folder, None)
        })?;
        written.map_err(|error| {
            EvmError::Sdk(SdkError::Write {
                path: folder.to_owned(),
                what: "the contract",
                source: std::io::Error::other(error.to_string()),
            })
        })?;
        let folder = folder.join("src").join(format!("v{OPENVM_VERSION}"));
        let interfaces = folder.join("interfaces");
        Ok(vec![
            folder.join(EVM_HALO2_VERIFIER_BASE_NAME),
            folder.join(EVM_HALO2_VERIFIER_PARENT_NAME),
            interfaces.join(EVM_HALO2_VERIFIER_INTERFACE_NAME),
            folder.join(EVM_VERIFIER_ARTIFACT_FILENAME),
        ])
    }

    /// Reads the contract from the folder that [`write`](Self::write) was given.
    ///
    /// # Errors
    /// [`EvmError::Sdk`].
    pub fn read(folder: &Path) -> Result<Self, EvmError> {
        check_processor()?;
        let refused = |reason: String| {
            EvmError::Sdk(SdkError::File {
                path: folder.to_owned(),
                what: "a contract, which `openvm-metal setup --evm` writes",
                reason,
            })
        };
        let contract = read_evm_halo2_verifier_from_folder(folder, None)
            .map(Self)
            .map_err(|error| refused(format!("{error:#}")))?;
        // An account without code accepts every call.
        match contract.code().is_empty() {
            true => Err(refused("it has no code".into())),
            false => Ok(contract),
        }
    }

    /// The code that deploys the contract.
    pub fn code(&self) -> &[u8] {
        &self.0.artifact.bytecode
    }

    /// True if the code verifies proofs of KZG parameters whose secret everybody knows.
    pub fn is_unsafe(&self) -> bool {
        public_secret_words()
            .any(|word| self.code().windows(word.len()).any(|window| window == word))
    }

    /// Deploys the contract in an EVM of this process and calls its `verify` with a proof. Returns the gas that the call takes.
    ///
    /// # Errors
    /// [`EvmError::Rejected`] with what the contract says.
    pub fn verify(&self, proof: &EvmProof) -> Result<u64, EvmError> {
        let calldata = proof.clone().verifier_calldata();
        let result = guard("the EVM", || {
            deploy_and_call(self.code().to_vec(), calldata)
        })?;
        result.map_err(EvmError::Rejected)
    }
}

/// Finds the Solidity compiler, before work that needs it begins.
///
/// # Errors
/// [`EvmError::Solc`].
pub fn check_solc() -> Result<(), EvmError> {
    let solc = Command::new("solc")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let found = match solc {
        Ok(output) => {
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let version = text.lines().find(|line| line.contains("Version:"));
            match version {
                Some(line) if line.contains(SOLC) => return Ok(()),
                Some(line) => format!("`solc` on PATH is another version ({})", line.trim()),
                None => {
                    let said = String::from_utf8_lossy(&output.stderr).into_owned();
                    let said = said.lines().next().unwrap_or_default();
                    format!("`solc` on PATH does not say its version: {said}")
                }
            }
        }
        Err(error) => format!("`solc` cannot be started: {error}"),
    };
    Err(EvmError::Solc {
        found,
        wanted: SOLC,
    })
}
