//! Where compiled rules are kept.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use etcetera::BaseStrategy;

/// The folder of all caches, or `0` for none; else the user's.
const KERNEL_FOLDER: &str = "OPENVM_METAL_CACHE";

/// The folder for kernels: `chosen`, or one below what the environment or the system names. It is made if it is not
/// there, and refused if others than its user may write to it: machine code is loaded from it.
///
/// # Errors
/// Why it cannot be used.
pub fn open(chosen: Option<&Path>) -> Result<PathBuf, String> {
    let folder = match chosen {
        Some(folder) => folder.to_path_buf(),
        None => default(),
    };
    match make(&folder) {
        Ok(()) => Ok(folder),
        Err(error) => Err(format!(
            "kernels cannot be kept in {}: {error}; {KERNEL_FOLDER} names another folder",
            folder.display()
        )),
    }
}

/// The folder for kernels if it is there already. One that was chosen and is not there, or that may not be used, is
/// warned of.
pub fn existing(chosen: Option<&Path>) -> Option<PathBuf> {
    let folder = chosen.map_or_else(default, Path::to_path_buf);
    if !folder.is_dir() {
        if chosen.is_some() {
            let folder = folder.display();
            tracing::warn!(%folder, "there is no such folder of kernels: constraints are interpreted");
        }
        return None;
    }
    let warn = |reason: &String| tracing::warn!(%reason, "constraints are interpreted");
    open(Some(&folder)).inspect_err(warn).ok()
}

fn default() -> PathBuf {
    root().join("constraint-kernels")
}

fn root() -> PathBuf {
    let named = std::env::var_os(KERNEL_FOLDER).filter(|value| !value.is_empty());
    let temporary = || std::env::temp_dir().join(format!("openvm-metal-{}", std::process::id()));
    match named {
        Some(value) if value == "0" => temporary(),
        Some(value) => value.into(),
        None => etcetera::base_strategy::choose_native_strategy()
            .map_or_else(|_| temporary(), |s| s.cache_dir().join("openvm-metal")),
    }
}

fn make(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        if fs::metadata(folder)?.mode() & 0o022 != 0 {
            let what = "other users may write to it";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
        }
    }
    Ok(())
}
