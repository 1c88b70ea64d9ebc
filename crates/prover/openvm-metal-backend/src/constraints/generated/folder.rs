//! The folder that compiled rules are kept in.

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;
use openvm_metal_common::trusted_folder::{cache_folder, NoCache, TrustedFolder, CACHE_VARIABLE};

/// The folder for kernels that are compiled: `chosen`, or one below what the environment or the system names, made if it
/// is not there. Without a cache it is a temporary one: what is compiled is loaded and not kept.
///
/// # Errors
/// The reason why code may not be loaded from it, or why it cannot be made.
pub fn open(chosen: Option<&Path>) -> Result<TrustedFolder, String> {
    let folder = match place(chosen) {
        Ok(folder) => TrustedFolder::create(&folder),
        Err(reason) => {
            tracing::debug!(%reason, "compiled kernels are not kept");
            TrustedFolder::temporary()
        }
    };
    folder.map_err(|error| format!("{error} ({CACHE_VARIABLE} names the folder of kernels)"))
}

/// The folder for kernels if it is there already and there is to be a cache. One that was chosen and is not there, or that
/// code may not be loaded from, is warned of.
pub fn existing(chosen: Option<&Path>) -> Option<TrustedFolder> {
    let folder = place(chosen).ok()?;
    match TrustedFolder::open(&folder) {
        Ok(Some(folder)) => return Some(folder),
        Ok(None) if chosen.is_none() => {}
        Ok(None) => {
            let folder = folder.display();
            tracing::warn!(%folder, "there is no such folder of kernels: constraints are interpreted");
        }
        Err(reason) => tracing::warn!(%reason, "constraints are interpreted"),
    }
    None
}

fn place(chosen: Option<&Path>) -> Result<PathBuf, NoCache> {
    if let Some(folder) = chosen {
        return Ok(folder.to_path_buf());
    }
    let in_home = etcetera::base_strategy::choose_native_strategy();
    let in_home = in_home.map(|strategy| strategy.cache_dir().join("openvm-metal"));
    let named = std::env::var_os(CACHE_VARIABLE);
    let root = cache_folder(CACHE_VARIABLE, named, in_home.ok())?;
    Ok(root.join("constraint-kernels"))
}
