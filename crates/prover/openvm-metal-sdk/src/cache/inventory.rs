//! Everything that is kept in the user's cache folder, for people: listed and removed.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use openvm_metal_common::TrustedFolder;
use serde::{Serialize, Serializer};

use super::folder::{exclusive, found, remove, root, Cache, CacheError, COMMITMENTS};

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CacheKind {
    /// Commitments of programs and circuits.
    Commitments,
    /// Kernels that were compiled for the constraints of a circuit.
    ConstraintKernels,
    /// Machine code of kernels for Apple GPUs.
    MetalArchives,
}

impl CacheKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [
        Self::Commitments,
        Self::ConstraintKernels,
        Self::MetalArchives,
    ];

    /// Name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Commitments => "commitments",
            Self::ConstraintKernels => "constraint kernels",
            Self::MetalArchives => "Metal archives",
        }
    }

    /// Name of its folder below the cache folder.
    fn folder(self) -> &'static str {
        match self {
            Self::Commitments => COMMITMENTS,
            Self::ConstraintKernels => "constraint-kernels",
            Self::MetalArchives => "metal-archives",
        }
    }
}

/// A file of the cache.
#[derive(Clone, Debug, Serialize)]
pub struct CacheEntry {
    /// The kind.
    pub kind: CacheKind,
    /// The file.
    pub file: PathBuf,
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last use of a commitment, of the making of a kernel. JSON has seconds since 1970.
    #[serde(serialize_with = "unix_seconds")]
    pub used: SystemTime,
}

fn unix_seconds<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
    let since = time.duration_since(SystemTime::UNIX_EPOCH);
    to.serialize_u64(since.map_or(0, |since| since.as_secs()))
}

impl Cache {
    /// The cache folder of this user, whether it is there or not.
    ///
    /// # Errors
    /// [`CacheError::None`].
    pub fn user_folder() -> Result<PathBuf, CacheError> {
        Ok(root()?)
    }

    /// The files that are kept in a cache folder.
    ///
    /// # Errors
    /// Folders that other users can write, or that cannot be read.
    pub fn list(root: &Path) -> Result<Vec<CacheEntry>, CacheError> {
        let mut entries = Vec::new();
        for kind in CacheKind::ALL {
            let Some(folder) = TrustedFolder::open(&root.join(kind.folder()))? else {
                continue;
            };
            let entry = |file: PathBuf, bytes, used| CacheEntry {
                kind,
                file,
                bytes,
                used,
            };
            match kind {
                CacheKind::Commitments => {
                    let files = found(folder.path()).map_err(failed(folder.path()))?;
                    entries.extend(files.into_iter().map(|f| entry(f.path, f.bytes, f.used)));
                }
                _ => walk(folder.path(), &mut |file, data| {
                    let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                    entries.push(entry(file, data.len(), used));
                })
                .map_err(failed(folder.path()))?,
            }
        }
        Ok(entries)
    }

    /// Removes the files that are kept in a cache folder, and gives those that were removed. Processes that use kernels of it keep
    /// them.
    ///
    /// # Errors
    /// [`CacheError::Link`] if a kind's folder is a link: what lies behind it need not be the cache's, and nothing is removed then. Folders that
    /// other users can write; a process that keeps the cache locked; a file that cannot be removed.
    pub fn clear(root: &Path) -> Result<Vec<CacheEntry>, CacheError> {
        let folders = CacheKind::ALL.map(|kind| root.join(kind.folder()));
        if let Some(path) = folders.into_iter().find(|folder| folder.is_symlink()) {
            return Err(CacheError::Link { path });
        }
        let commitments = TrustedFolder::open(&root.join(COMMITMENTS))?;
        let _lock = match &commitments {
            Some(folder) => Some(exclusive(folder.path()).map_err(failed(folder.path()))?),
            None => None,
        };
        let entries = Self::list(root)?;
        for entry in &entries {
            remove(&entry.file).map_err(failed(&entry.file))?;
        }
        Ok(entries)
    }
}

fn failed(path: &Path) -> impl Fn(io::Error) -> CacheError + '_ {
    |error| CacheError::Io {
        path: path.to_owned(),
        error,
    }
}

/// Visits the files in a folder and those below it. Symbolic links are not followed.
fn walk(folder: &Path, visit: &mut impl FnMut(PathBuf, fs::Metadata)) -> io::Result<()> {
    for file in fs::read_dir(folder)? {
        let file = file?;
        // Another process may have removed it.
        let Ok(data) = file.metadata() else { continue };
        match data.is_dir() {
            true => walk(&file.path(), visit)?,
            false => visit(file.path(), data),
        }
    }
    Ok(())
}
