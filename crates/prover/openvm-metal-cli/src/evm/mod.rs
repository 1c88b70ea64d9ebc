//! Options that the commands of proofs for the EVM have in common, and `setup --evm`. Builds without the feature `evm` have the options, and
//! return [`CliError::NoEvm`](crate::error::CliError).

#[cfg(feature = "evm")]
mod setup;

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "evm")]
pub use self::setup::Setup;
#[cfg(not(feature = "evm"))]
pub use without::Setup;

/// Folder of the contract, in a folder of keys: that of cargo-openvm.
#[cfg(feature = "evm")]
pub const CONTRACT: &str = "halo2";

/// The KZG parameters.
#[derive(Args, Clone, Debug)]
pub struct ParamsArgs {
    /// Read the KZG parameters of the ceremony from FOLDER [default: ~/.openvm/params, which `cargo openvm setup --evm` fills].
    #[arg(long, value_name = "FOLDER")]
    params: Option<PathBuf>,
    /// Use KZG parameters WITHOUT SECURITY, for tests: their secret is public. They are made in FOLDER of --params if they are missing.
    #[arg(long)]
    unsafe_test_params: bool,
}

#[cfg(feature = "evm")]
impl ParamsArgs {
    /// The folder of the parameters.
    ///
    /// # Errors
    /// [`CliError::Usage`](crate::error::CliError) if none is named and the user has no home folder.
    pub fn folder(&self) -> crate::error::Result<openvm_metal_evm::ParamsFolder> {
        use openvm_metal_evm::{Origin, ParamsFolder};

        let default = openvm_metal_sdk::files::kzg_params_path;
        let folder = self.params.clone().or_else(default);
        let folder = folder.ok_or(crate::error::CliError::Usage(
            "--params is missing, and there is no home folder with .openvm/params",
        ))?;
        let origin = match self.unsafe_test_params {
            true => Origin::UnsafeTest,
            false => Origin::Ceremony,
        };
        Ok(ParamsFolder::new(folder, origin))
    }
}

/// The work in builds that cannot do it.
#[cfg(not(feature = "evm"))]
mod without {
    use std::path::{Path, PathBuf};

    use openvm_metal_sdk::MetalSdk;

    use super::ParamsArgs;
    use crate::error::{CliError, Result};

    /// Keys that are made.
    pub enum Setup {}

    impl Setup {
        /// No file is written.
        pub const NAMES: [&'static str; 0] = [];

        pub fn begin(_: &ParamsArgs, _: &Path) -> Result<Self> {
            Err(CliError::NoEvm)
        }

        pub fn finish(self, _: MetalSdk) -> Result<Vec<PathBuf>> {
            match self {}
        }
    }
}
