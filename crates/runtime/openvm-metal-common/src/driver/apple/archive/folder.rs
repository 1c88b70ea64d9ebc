//! The folder of the cache: made, checked, cleared of files that no system can load any more.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime};

use super::name::{plain, FileName};
use super::{CacheProblem, System};
use crate::trusted_folder::TrustedFolder;

/// Everything stands below this, so that other files in a folder of the user's are left alone.
const ARCHIVES: &str = "metal-archives";
const TEMPORARY: &str = "temporary-";
/// A temporary file of this age has no writer any more.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The folder of a system, made if it is not there, with the others that were removed.
pub(super) fn open(
    root: &Path,
    system: &System,
) -> Result<(TrustedFolder, Vec<CacheProblem>), CacheProblem> {
    let all = TrustedFolder::create(&root.join(ARCHIVES))?;
    let device = plain(&system.device);
    let build = plain(&system.build);
    let folder = all.subfolder(&format!("{device}-{build}"))?;
    let unusable = |error| CacheProblem::Unusable {
        folder: all.path().to_owned(),
        error,
    };
    let mut removed = Vec::new();
    for other in fs::read_dir(all.path()).map_err(unusable)?.flatten() {
        let name = other.file_name().to_string_lossy().into_owned();
        let of_device = name.strip_prefix(&device).and_then(|n| n.strip_prefix('-'));
        if let Some(old) = of_device.filter(|old| *old != build) {
            // Another process may be at it too.
            if fs::remove_dir_all(other.path()).is_ok() {
                removed.push(CacheProblem::OtherSystem {
                    found: old.to_owned(),
                    here: build.clone(),
                });
            }
        }
    }
    Ok((folder, removed))
}

/// The archives in a folder. Those that were not used for longest go until the rest has at most `most` bytes.
pub(super) fn list(folder: &Path, most: u64) -> io::Result<Vec<(FileName, PathBuf)>> {
    let now = SystemTime::now();
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let (Some(name), Ok(data)) = (name.to_str(), entry.metadata()) else {
            continue;
        };
        let modified = data.modified().unwrap_or(now);
        if name.starts_with(TEMPORARY) {
            if now
                .duration_since(modified)
                .is_ok_and(|age| age > ABANDONED)
            {
                let _ = fs::remove_file(path);
            }
        } else if let Some(name) = FileName::parse(name) {
            files.push((modified, data.len(), name, path));
        }
    }
    files.sort_by_key(|file| std::cmp::Reverse(file.0));
    let mut bytes = 0;
    let (kept, old): (Vec<_>, Vec<_>) = files.into_iter().partition(|file| {
        bytes += file.1;
        bytes <= most
    });
    for (_, _, _, path) in old {
        let _ = fs::remove_file(path);
    }
    Ok(kept
        .into_iter()
        .map(|(_, _, name, path)| (name, path))
        .collect())
}

/// A file for one writer of this process.
pub(super) fn temporary(folder: &Path) -> PathBuf {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    folder.join(format!("{TEMPORARY}{}-{number}", std::process::id()))
}

/// Takes all rights to a file, which Metal has made, from other users.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    #[cfg(not(unix))]
    let _ = path;
    Ok(())
}
