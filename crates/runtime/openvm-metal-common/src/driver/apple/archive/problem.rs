//! Reasons why machine code is not kept, or not used: warnings, for everything runs without.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::trusted_folder::{NoCache, UntrustedPath};

/// Faults of the cache.
#[derive(Debug, Error)]
pub(crate) enum CacheProblem {
    /// Nobody wants one, or there is no place for it.
    #[error(transparent)]
    None(#[from] NoCache),
    /// Other users can replace the code in the folder, or it cannot be made.
    #[error(transparent)]
    Untrusted(#[from] UntrustedPath),
    /// Metal compiles kernels with checks, which no archive has.
    #[error("checked kernels (MTL_SHADER_VALIDATION) cannot come from archives")]
    CheckedKernels,
    /// The folder cannot be read or written.
    #[error("{} cannot be used: {error}", folder.display())]
    Unusable {
        /// That was asked for.
        folder: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// Archives of this device that another system has made: its code does not load here.
    #[error("archives of system {found} removed, this is system {here}")]
    OtherSystem {
        /// Build of the system that made them.
        found: String,
        /// Build of this one.
        here: String,
    },
}
