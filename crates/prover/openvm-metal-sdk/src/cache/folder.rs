//! `Cache`: the folder of entries, found when it is first needed.

use std::{
    env,
    fs::{self, File, OpenOptions},
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::{Duration, Instant, SystemTime},
};

use etcetera::BaseStrategy as _;
use openvm_metal_common::{
    trusted_folder::{cache_folder, NoCache, CACHE_VARIABLE},
    TrustedFolder, UntrustedPath,
};

use super::entry::{self, Key};

/// Most bytes of all entries. Those that were not used for longest are removed first.
const MAX_BYTES: u64 = 1 << 30;
/// A file that is being written and is older has no writer any more.
const ABANDONED: Duration = Duration::from_secs(3600);
/// Longest wait for another process that writes.
const MAX_WAIT: Duration = Duration::from_secs(3);
const LOCK: &str = "lock";
/// The folder of entries below the cache folder.
pub(super) const COMMITMENTS: &str = "commitments";

/// Reason why the cache cannot be listed or cleared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CacheError {
    /// The environment says that there is none.
    #[error("there is no cache: {0}")]
    None(#[from] NoCache),
    /// Other users could have written it.
    #[error(transparent)]
    Untrusted(#[from] UntrustedPath),
    /// A link stands in place of a folder that is to be cleared.
    #[error(
        "the cache folder {} is a link, and nothing is removed behind it: remove the link, or what it names, yourself",
        path.display()
    )]
    Link {
        /// The link.
        path: PathBuf,
    },
    /// The system refuses.
    #[error("the cache {}: {error}", path.display())]
    Io {
        /// The folder or file.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
}

/// Commitments of programs and circuits that are kept on disk from process to process; clones share it.
///
/// Used on CPUs, where commitments take seconds, and above a size that is worth the read.
#[derive(Clone, Debug)]
pub struct Cache(Option<Arc<Place>>);

#[derive(Debug)]
struct Place {
    folder: PathBuf,
    most: u64,
    opened: Mutex<Opened>,
}

#[derive(Debug)]
enum Opened {
    NotYet,
    Yes(TrustedFolder),
    /// The reason was said.
    Refused,
}

impl Cache {
    /// No cache: everything is made in memory.
    pub fn none() -> Self {
        Self(None)
    }

    /// The cache of this user: `commitments` in the folder that `OPENVM_METAL_CACHE` names, else in `openvm-metal` in the user's cache
    /// folder; none if the variable is `0`. The folder is made when the first entry is written.
    pub fn of_user() -> Self {
        match root() {
            Ok(root) => Self::in_folder(&root),
            Err(reason @ NoCache::NoHome { .. }) => {
                tracing::warn!(%reason, "commitments are not kept");
                Self::none()
            }
            Err(reason) => {
                tracing::debug!(%reason, "commitments are not kept");
                Self::none()
            }
        }
    }

    /// The cache in `commitments` in this folder.
    pub fn in_folder(root: &Path) -> Self {
        Self::bounded(root, MAX_BYTES)
    }

    pub(super) fn bounded(root: &Path, most: u64) -> Self {
        Self(Some(Arc::new(Place {
            folder: root.join(COMMITMENTS),
            most,
            opened: Mutex::new(Opened::NotYet),
        })))
    }

    /// True if there is to be none.
    pub fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The content of an entry. Nothing if it is not there, or damaged, or if another user could have written it.
    pub(super) fn get(&self, key: &Key) -> Option<Vec<u8>> {
        let place = self.0.as_ref()?;
        let folder = place.open(false)?;
        let name = key.file_name();
        let path = folder.path().join(&name);
        // No entry is larger than all together may be.
        if fs::metadata(&path).is_ok_and(|data| data.len() > place.most) {
            tracing::warn!(file = %path.display(), "an entry of the cache is too large: it is made again");
            return None;
        }
        let file = match folder.read(&name) {
            Ok(file) => file?,
            Err(reason) => {
                tracing::warn!(%reason, "an entry of the cache is made again");
                return None;
            }
        };
        let content = entry::decode(key, file);
        match content {
            // The time of the last use decides which entries go first.
            Some(_) => drop(touch(&path)),
            None => {
                tracing::warn!(file = %path.display(), "an entry of the cache is damaged or of another version: it is made again");
            }
        }
        content
    }

    /// Keeps an entry, in place of those that were not used for longest.
    pub(super) fn put(&self, key: &Key, content: &[u8]) {
        let Some(place) = self.0.as_ref() else {
            return;
        };
        let Some(folder) = place.open(true) else {
            return;
        };
        if let Err(error) = place.write(&folder, key, content) {
            let folder = folder.path().display();
            tracing::warn!(%folder, %error, "a commitment is not kept in the cache");
        }
    }
}

impl Place {
    /// The folder, made on demand; nothing if it is not there or is refused, of which a warning says the reason once.
    fn open(&self, create: bool) -> Option<TrustedFolder> {
        let opened = self.opened.lock();
        let mut opened = opened.unwrap_or_else(PoisonError::into_inner);
        let found = match &*opened {
            Opened::Yes(folder) => return Some(folder.clone()),
            Opened::Refused => return None,
            Opened::NotYet if create => TrustedFolder::create(&self.folder).map(Some),
            Opened::NotYet => TrustedFolder::open(&self.folder),
        };
        match found {
            Ok(Some(folder)) => {
                *opened = Opened::Yes(folder.clone());
                Some(folder)
            }
            Ok(None) => None,
            Err(reason) => {
                tracing::warn!(%reason, "commitments are not kept ({CACHE_VARIABLE} names the cache folder)");
                *opened = Opened::Refused;
                None
            }
        }
    }

    fn write(&self, folder: &TrustedFolder, key: &Key, content: &[u8]) -> io::Result<()> {
        let file = entry::encode(key, content);
        let Some(left) = self.most.checked_sub(file.len() as u64) else {
            return Err(io::Error::other("it is larger than the cache may be"));
        };
        let _lock = exclusive(folder.path())?;
        remove_oldest(folder.path(), left)?;
        folder.write(&key.file_name(), &file)
    }
}

/// The folder of all caches of this user.
pub(super) fn root() -> Result<PathBuf, NoCache> {
    let in_home = etcetera::base_strategy::choose_native_strategy();
    let in_home = in_home.map(|strategy| strategy.cache_dir().join("openvm-metal"));
    cache_folder(CACHE_VARIABLE, env::var_os(CACHE_VARIABLE), in_home.ok())
}

/// The lock of those who write and remove entries, held until the file is dropped or the process ends. Where files have no locks, nobody
/// waits.
///
/// # Errors
/// Another process that holds it for longer than [`MAX_WAIT`], a file that cannot be opened, or a link, pipe or device in its place.
pub(super) fn exclusive(folder: &Path) -> io::Result<File> {
    let mut options = no_link();
    options.create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let path = folder.join(LOCK);
    let is_file = |data: &fs::Metadata| data.is_file();
    let refused = || {
        let reason = format!("{} is no regular file: remove it", path.display());
        io::Error::new(io::ErrorKind::InvalidData, reason)
    };
    let file = match options.open(&path) {
        Ok(file) => file,
        // The system's reason for a link or a pipe without a reader says nothing of either.
        Err(_) if fs::symlink_metadata(&path).is_ok_and(|data| !is_file(&data)) => {
            return Err(refused())
        }
        Err(error) => return Err(error),
    };
    if !is_file(&file.metadata()?) {
        return Err(refused());
    }
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) if start.elapsed() > MAX_WAIT => {
                return Err(io::Error::other("another process keeps the cache locked"));
            }
            Err(fs::TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
            Ok(()) | Err(fs::TryLockError::Error(_)) => return Ok(file),
        }
    }
}

/// An entry, or a file that an entry is being written to.
pub(super) struct Found {
    pub path: PathBuf,
    pub bytes: u64,
    pub used: SystemTime,
    pub is_entry: bool,
}

/// The entries of a folder, and the files that entries are being written to. Other files are left alone.
pub(super) fn found(folder: &Path) -> io::Result<Vec<Found>> {
    let mut files = Vec::new();
    for file in fs::read_dir(folder)? {
        let file = file?;
        let name = file.file_name();
        let Some(name) = name.to_str() else { continue };
        let is_entry = entry::is_name(name);
        let is_part = name.ends_with(".part") && name.split('.').next().is_some_and(entry::is_name);
        // Another process may have removed it.
        let Ok(data) = file.metadata() else { continue };
        if (is_entry || is_part) && !data.is_dir() {
            files.push(Found {
                path: file.path(),
                bytes: data.len(),
                used: data.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                is_entry,
            });
        }
    }
    Ok(files)
}

/// Removes what was not used for longest until the rest has at most `most` bytes, and what writers left behind that were killed.
fn remove_oldest(folder: &Path, most: u64) -> io::Result<()> {
    let now = SystemTime::now();
    let (mut entries, parts): (Vec<_>, Vec<_>) =
        found(folder)?.into_iter().partition(|file| file.is_entry);
    for part in parts {
        if now
            .duration_since(part.used)
            .is_ok_and(|age| age > ABANDONED)
        {
            remove(&part.path)?;
        }
    }
    entries.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    let mut bytes = 0;
    for entry in entries {
        bytes += entry.bytes;
        if bytes > most {
            remove(&entry.path)?;
        }
    }
    Ok(())
}

/// Removes a file, unless somebody else did.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Sets the time of the last use, which is the file's time. A folder that is read-only keeps the old one.
fn touch(path: &Path) -> io::Result<()> {
    // Another file may have taken its place since it was read.
    let file = no_link().open(path)?;
    file.set_modified(SystemTime::now())
}

/// Options to write to a file. What a link in its place names is neither opened nor made, and a pipe is not waited for.
fn no_link() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOFOLLOW,
    );
    options
}

#[cfg(test)]
mod tests;
