//! Folders and files that machine code is loaded from.
//!
//! Code is loaded only from what this user or root owns and nobody else can write: the file, its folder and all folders
//! above it, symbolic links resolved first. A folder that others can write is accepted above such a folder if it has the
//! sticky bit, as `/tmp` has: nobody else can then rename or remove what lies in it. Access control lists are seen as far
//! as the system shows them in the mode; Linux does, macOS does not. On systems without owners and modes of files,
//! nothing is checked.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use tempfile::TempDir;

/// Reason why code is not loaded from a folder or file.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum UntrustedPath {
    /// The user who owns it, or a folder above it, can replace the code.
    #[error(
        "nothing is loaded from {}: {} belongs to user {owner}, not to this user ({user}) or root; name a folder \
         below your home folder, or give it to this user with `chown`",
        wanted.display(), path.display()
    )]
    Owner {
        /// The folder or file that code was to come from.
        wanted: PathBuf,
        /// It, or the folder above it that is owned by the other user.
        path: PathBuf,
        /// The other user.
        owner: u32,
        /// This user.
        user: u32,
    },
    /// Other users can replace the code.
    #[error(
        "nothing is loaded from {}: other users may write to {} (mode {mode:04o}); name a folder that only you can \
         write, or run `chmod go-w` on that path if it is yours",
        wanted.display(), path.display()
    )]
    Writable {
        /// The folder or file that code was to come from.
        wanted: PathBuf,
        /// It, or the folder above it that others can write.
        path: PathBuf,
        /// The mode.
        mode: u32,
    },
    /// Something else stands where the folder or the file should be.
    #[error("nothing is loaded from {}: it is not a {expected}; remove it", path.display())]
    Kind {
        /// The path.
        path: PathBuf,
        /// `folder` or `file`.
        expected: &'static str,
    },
    /// It cannot be made, read or written.
    #[error("{} cannot be used: {error}; name another folder", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: Arc<io::Error>,
    },
}

type Result<T, E = UntrustedPath> = std::result::Result<T, E>;

/// Environment variable: the folder of the caches of compiled kernels, or `0` for none.
pub const CACHE_VARIABLE: &str = "OPENVM_METAL_CACHE";

/// Reason why there is no cache on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoCache {
    /// The variable says so.
    #[error("{variable}=0")]
    Off {
        /// The variable.
        variable: &'static str,
    },
    /// There is no place for it.
    #[error("there is no home folder; {variable} names another")]
    NoHome {
        /// The variable.
        variable: &'static str,
    },
}

/// The folder of a cache: that which `value`, the variable's, names, else `in_home`; a value of `0` means none.
///
/// # Errors
/// The reason why there is to be no cache.
pub fn cache_folder(
    variable: &'static str,
    value: Option<OsString>,
    in_home: Option<PathBuf>,
) -> std::result::Result<PathBuf, NoCache> {
    match value {
        Some(value) if value == "0" => Err(NoCache::Off { variable }),
        Some(value) if !value.is_empty() => Ok(value.into()),
        _ => in_home.ok_or(NoCache::NoHome { variable }),
    }
}

/// A folder that code is kept in and loaded from, found to be trusted when it was opened.
#[derive(Clone, Debug)]
pub struct TrustedFolder {
    /// The path without symbolic links.
    path: PathBuf,
    /// Removes the folder with the last clone.
    temporary: Option<Arc<TempDir>>,
}

impl TrustedFolder {
    /// Opens a folder; `None` if it is not there.
    ///
    /// # Errors
    /// The reason why no code may be loaded from it.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        let resolved = match fs::canonicalize(path) {
            Ok(resolved) => resolved,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(refused(path, error)),
        };
        check_folder(&resolved)?;
        Ok(Some(Self {
            path: resolved,
            temporary: None,
        }))
    }

    /// Opens a folder, which is made with those above it if it is not there; only its user can then use it.
    ///
    /// # Errors
    /// The reason why it cannot be made or no code may be loaded from it. Nothing is made below an untrusted folder.
    pub fn create(path: &Path) -> Result<Self> {
        if let Some(folder) = Self::open(path)? {
            return Ok(folder);
        }
        // An empty path above the first folder of a relative one is the current folder.
        let above = path.ancestors().skip(1);
        let above = above.map(|above| match above.as_os_str().is_empty() {
            true => Path::new("."),
            false => above,
        });
        for above in above {
            match fs::canonicalize(above) {
                Ok(above) => {
                    check_folders(path, &above, true)?;
                    break;
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(refused(path, error)),
            }
        }
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(|error| refused(path, error))?;
        let missing = || refused(path, io::ErrorKind::NotFound.into());
        Self::open(path)?.ok_or_else(missing)
    }

    /// Makes a private folder of a random name among the system's temporary files, for code that is loaded but not kept. It is
    /// removed when the last clone is dropped.
    ///
    /// # Errors
    /// The reason why it cannot be made, or why other users could rename it.
    pub fn temporary() -> Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("openvm-metal-");
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
        let made = builder.tempdir();
        let made = made.map_err(|error| refused(&std::env::temp_dir(), error))?;
        let missing = || refused(made.path(), io::ErrorKind::NotFound.into());
        let path = Self::open(made.path())?.ok_or_else(missing)?.path;
        Ok(Self {
            path,
            temporary: Some(Arc::new(made)),
        })
    }

    /// Opens or makes a folder in this one; a temporary folder lives as long as those in it.
    ///
    /// # Errors
    /// As for [`TrustedFolder::create`].
    pub fn subfolder(&self, name: &str) -> Result<Self> {
        let folder = Self::create(&self.path.join(name))?;
        Ok(Self {
            temporary: self.temporary.clone(),
            ..folder
        })
    }

    /// The folder's path without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// True if the folder is removed in the end.
    pub fn is_temporary(&self) -> bool {
        self.temporary.is_some()
    }

    /// The content of a file of the folder; `None` if it is not there.
    ///
    /// # Errors
    /// The reason why it cannot be read, or is not trusted.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        read(&self.path.join(name))
    }

    /// The content of a text file of the folder, as by [`TrustedFolder::read`].
    ///
    /// # Errors
    /// As for [`TrustedFolder::read`]; bytes that are not UTF-8.
    pub fn read_text(&self, name: &str) -> Result<Option<String>> {
        let text = |bytes| {
            String::from_utf8(bytes).map_err(|_| {
                let error = io::Error::new(io::ErrorKind::InvalidData, "it is not text");
                refused(&self.path.join(name), error)
            })
        };
        self.read(name)?.map(text).transpose()
    }

    /// The path of a file of the folder that code may be loaded from; `None` if it is not there.
    ///
    /// # Errors
    /// The reason why it is not trusted.
    pub fn file(&self, name: &str) -> Result<Option<PathBuf>> {
        match trusted_file(&self.path.join(name)) {
            Ok(path) => Ok(Some(path)),
            Err(UntrustedPath::Io { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Writes a file under a temporary name and renames it, so that nobody reads half of it.
    ///
    /// # Errors
    /// The system's reason.
    pub fn write(&self, name: &str, content: &[u8]) -> io::Result<()> {
        // Other processes, and other threads of this one, may write the same file.
        static PARTS: AtomicU64 = AtomicU64::new(0);
        let number = PARTS.fetch_add(1, Ordering::Relaxed);
        let process = std::process::id();
        let part = self.path.join(format!("{name}.{process}-{number}.part"));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        // That of a process of the same number, which is gone.
        let _ = fs::remove_file(&part);
        let written = options
            .open(&part)
            .and_then(|mut file| file.write_all(content))
            .and_then(|()| fs::rename(&part, self.path.join(name)));
        if written.is_err() {
            let _ = fs::remove_file(&part);
        }
        written
    }
}

/// The path of a file, without symbolic links, if code may be loaded from it: the file and all folders above it are
/// trusted, so that nobody else can put another in its place until it is loaded.
///
/// # Errors
/// The reason why it is not trusted, or cannot be found.
pub fn trusted_file(path: &Path) -> Result<PathBuf> {
    let resolved = fs::canonicalize(path).map_err(|error| refused(path, error))?;
    if let Some(folder) = resolved.parent() {
        check_folder(folder)?;
    }
    let data = fs::symlink_metadata(&resolved).map_err(|error| refused(&resolved, error))?;
    check_file(&resolved, &data)?;
    Ok(resolved)
}

/// The content of a trusted file; `None` if it is not there. The open file itself is checked.
///
/// # Errors
/// The reason why it is not trusted, or cannot be read.
pub fn read(path: &Path) -> Result<Option<Vec<u8>>> {
    let failed = |error| refused(path, error);
    let resolved = match fs::canonicalize(path) {
        Ok(resolved) => resolved,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if let Some(folder) = resolved.parent() {
        check_folder(folder)?;
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // A pipe would be waited for; it is refused as no file.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let mut file: File = options.open(&resolved).map_err(failed)?;
    check_file(&resolved, &file.metadata().map_err(failed)?)?;
    let mut content = Vec::new();
    file.read_to_end(&mut content).map_err(failed)?;
    Ok(Some(content))
}

fn refused(path: &Path, error: io::Error) -> UntrustedPath {
    UntrustedPath::Io {
        path: path.to_owned(),
        error: Arc::new(error),
    }
}

fn check_file(path: &Path, data: &Metadata) -> Result<()> {
    if !data.is_file() {
        return Err(UntrustedPath::Kind {
            path: path.to_owned(),
            expected: "file",
        });
    }
    check_entry(path, path, data, false)
}

/// Checks a folder without symbolic links in its path, and those above it.
fn check_folder(folder: &Path) -> Result<()> {
    check_folders(folder, folder, false)
}

/// Checks a folder without symbolic links in its path, which is `wanted` or above that, and those above it.
fn check_folders(wanted: &Path, folder: &Path, is_above: bool) -> Result<()> {
    for path in folder.ancestors() {
        let data = fs::symlink_metadata(path).map_err(|error| refused(path, error))?;
        if !data.is_dir() {
            return Err(UntrustedPath::Kind {
                path: path.to_owned(),
                expected: "folder",
            });
        }
        check_entry(wanted, path, &data, is_above || path != folder)?;
    }
    Ok(())
}

/// Checks owner and mode of `path`, a folder above `wanted` or that itself.
#[cfg(unix)]
fn check_entry(wanted: &Path, path: &Path, data: &Metadata, is_above: bool) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    const OTHERS_WRITE: u32 = 0o022;
    const STICKY: u32 = 0o1000;
    // SAFETY: reads a number and takes no memory.
    let user = unsafe { libc::geteuid() };
    let (owner, mode) = (data.uid(), data.mode() & 0o7777);
    if owner != user && owner != 0 {
        return Err(UntrustedPath::Owner {
            wanted: wanted.to_owned(),
            path: path.to_owned(),
            owner,
            user,
        });
    }
    // What lies below a folder is trusted itself, so that the sticky bit keeps others from moving it.
    let kept = is_above && mode & STICKY != 0;
    if mode & OTHERS_WRITE != 0 && !kept {
        return Err(UntrustedPath::Writable {
            wanted: wanted.to_owned(),
            path: path.to_owned(),
            mode,
        });
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_entry(_: &Path, _: &Path, _: &Metadata, _: bool) -> Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
