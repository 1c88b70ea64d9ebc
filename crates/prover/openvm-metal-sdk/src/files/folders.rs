//! Names and folders of key files, as cargo-openvm 2.0.2 has them.
//!
//! `keygen` writes [`APP_PK`], [`APP_VK`] and [`AGG_PREFIX_PK`] to `openvm` in a guest's target folder; `setup` writes
//! [`INTERNAL_RECURSIVE_PK`] and [`INTERNAL_RECURSIVE_VK`], which are the same for every guest, to `.openvm` in the user's
//! home folder.

use std::{
    env,
    path::{Path, PathBuf},
};

use openvm_sdk::keygen::AggProvingKey;

use super::{read_agg_prefix_pk, read_internal_recursive_pk};
use crate::error::SdkError;

/// The application's proving key.
pub const APP_PK: &str = "app.pk";
/// The application's verifying key.
pub const APP_VK: &str = "app.vk";
/// The keys of leaves and of the nodes above them, which belong to one application.
pub const AGG_PREFIX_PK: &str = "agg_prefix.pk";
/// The key of all higher nodes, which is the same for every application.
pub const INTERNAL_RECURSIVE_PK: &str = "internal_recursive.pk";
/// The proving key of root proofs, with the heights of their traces.
pub const ROOT_PK: &str = "root.pk";
/// The verifying key of root proofs.
pub const ROOT_VK: &str = "root.vk";
/// The verifying key of aggregated proofs.
pub const INTERNAL_RECURSIVE_VK: &str = "internal_recursive.vk";

/// A file in the user's folder of OpenVM, nothing if the user has no home folder.
fn in_home(name: &str) -> Option<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from)?;
    home.is_absolute().then(|| home.join(".openvm").join(name))
}

/// The file of [`INTERNAL_RECURSIVE_PK`] that `cargo openvm setup` writes and `cargo openvm prove` reads.
pub fn internal_recursive_pk_path() -> Option<PathBuf> {
    in_home(INTERNAL_RECURSIVE_PK)
}

/// The file of [`INTERNAL_RECURSIVE_VK`] that `cargo openvm setup` writes and `cargo openvm verify` reads.
pub fn internal_recursive_vk_path() -> Option<PathBuf> {
    in_home(INTERNAL_RECURSIVE_VK)
}

/// The folder of KZG parameters that `cargo openvm setup --evm` fills.
pub fn kzg_params_path() -> Option<PathBuf> {
    in_home("params")
}

/// The two files of aggregation keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AggKeyFiles {
    /// The file of [`AGG_PREFIX_PK`].
    pub prefix: PathBuf,
    /// The file of [`INTERNAL_RECURSIVE_PK`].
    pub internal_recursive: PathBuf,
}

/// The files of the aggregation keys above `app_pk`: nothing if neither is named. If one is named, the other is where
/// cargo-openvm has it: the prefix beside `app_pk`, the other one in the user's home folder.
///
/// # Errors
/// [`SdkError::Config`] if that is in the home folder and the user has none.
pub fn find_agg_keys(
    app_pk: &Path,
    internal_recursive: Option<PathBuf>,
    prefix: Option<PathBuf>,
) -> Result<Option<AggKeyFiles>, SdkError> {
    if internal_recursive.is_none() && prefix.is_none() {
        return Ok(None);
    }
    let Some(internal_recursive) = internal_recursive.or_else(internal_recursive_pk_path) else {
        return Err(SdkError::Config(format!(
            "no {INTERNAL_RECURSIVE_PK} is named, and there is no home folder that has it in .openvm"
        )));
    };
    Ok(Some(AggKeyFiles {
        prefix: prefix.unwrap_or_else(|| app_pk.with_file_name(AGG_PREFIX_PK)),
        internal_recursive,
    }))
}

impl AggKeyFiles {
    /// Reads both.
    ///
    /// # Errors
    /// Errors of [`read_agg_prefix_pk`] and [`read_internal_recursive_pk`].
    pub fn read(&self) -> Result<AggProvingKey, SdkError> {
        Ok(AggProvingKey {
            prefix: read_agg_prefix_pk(&self.prefix)?,
            internal_recursive: read_internal_recursive_pk(&self.internal_recursive)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_two_files_is_found_by_the_other() {
        let path = |name: &str| PathBuf::from(name);
        let app_pk = path("openvm/app.pk");
        let find = |internal: Option<&str>, prefix: Option<&str>| {
            find_agg_keys(&app_pk, internal.map(path), prefix.map(path)).expect("found")
        };
        assert_eq!(find(None, None), None);
        let both = find(Some("a.pk"), Some("b.pk")).expect("both are named");
        assert_eq!(
            (both.prefix, both.internal_recursive),
            (path("b.pk"), path("a.pk"))
        );
        let beside = find(Some("a.pk"), None).expect("one is named");
        assert_eq!(beside.prefix, path("openvm/agg_prefix.pk"));
        if let Some(home) = internal_recursive_pk_path() {
            assert!(home.ends_with(".openvm/internal_recursive.pk"), "{home:?}");
            let found = find(None, Some("b.pk")).expect("one is named");
            assert_eq!(found.internal_recursive, home);
        }
    }
}
