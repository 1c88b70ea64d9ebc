//! `openvm-metal setup --evm`: keys and contract.

use std::path::{Path, PathBuf};

use openvm_metal_evm::{
    check_disk, check_machine, check_solc, make_keys, Contract, KeysBelow, Origin, ParamsFolder,
    EVM_JSON, EVM_PK, VERIFIER_K, WRAPPER_K,
};
use openvm_metal_sdk::{MetalSdk, ProveOptions};

use super::{ParamsArgs, CONTRACT};
use crate::{error::Result, file, progress::Progress, table::note};

/// Keys and a contract that can be made.
pub struct Setup {
    params: ParamsFolder,
    folder: PathBuf,
}

impl Setup {
    /// Files and folders that are written in a folder of keys.
    pub const NAMES: [&'static str; 3] = [EVM_PK, EVM_JSON, CONTRACT];

    /// Finds out before work whether parameters, compiler and folder are there.
    ///
    /// # Errors
    /// Errors of parameters, compiler, memory and disk.
    pub fn begin(args: &ParamsArgs, folder: &Path) -> Result<Self> {
        let params = args.folder()?;
        params.check_both([VERIFIER_K, WRAPPER_K])?;
        check_solc()?;
        check_machine("making EVM keys")?;
        check_disk(folder)?;
        file::probe(&folder.join(EVM_PK))?;
        if params.origin() == Origin::UnsafeTest {
            note("warning: the secret of these KZG parameters is public: proofs with them can be FORGED");
        }
        let folder = folder.to_owned();
        Ok(Self { params, folder })
    }

    /// Makes the keys and the contract, and returns their files.
    ///
    /// # Errors
    /// Errors of the proof of the smallest program, of keys, of the compiler, and of files.
    pub fn finish(self, sdk: MetalSdk) -> Result<Vec<PathBuf>> {
        let line = Progress::start(false);
        line.work("root proof of the smallest program");
        let options = ProveOptions::default().with_progress(&()).with_output(&());
        let root = sdk.prove_smallest_root(&options)?;
        let bits = root.verified.security_bits.min(sdk.security_bits()?);
        let (vk, root_vk) = (sdk.agg_vk()?, sdk.root_vk()?);
        let below = KeysBelow {
            app: (*sdk.app_pk()?).clone(),
            aggregation: sdk.agg_pk()?,
            root: sdk.root_pk()?,
        };
        // Memory of the device, which the keys need.
        drop(sdk);
        line.work("EVM keys");
        let keys = make_keys(&self.folder, &self.params, &vk, &root_vk, &root.proof, bits)?;
        line.work("contract");
        let contract = Contract::make(&self.folder, &self.params, below)?;
        let contract = contract.write(&self.folder.join(CONTRACT))?;
        Ok(keys.into_iter().chain(contract).collect())
    }
}
