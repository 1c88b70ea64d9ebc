//! Machine code of pipelines, kept from start to start: one file for each unit, in a folder for each system and
//! device. Metal compares what it finds in a file with the kernel, so that a wrong file is slow, never wrong.

mod folder;
mod name;
mod problem;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Instant, SystemTime};

pub(crate) use self::name::Key;
use self::name::{checksum, FileName};
pub(crate) use self::problem::CacheProblem;
use crate::lock;
use crate::report::CacheReport;
use crate::trusted_folder::{self, TrustedFolder};

/// Bytes of a device's archives above which those that were not used for longest go.
const MOST_BYTES: u64 = 256 << 20;

/// The system's parts that machine code depends on, besides the kernels.
#[derive(Clone, Debug)]
pub(crate) struct System {
    /// Name of the device.
    pub device: String,
    /// Build of the operating system, such as `24B83`: its compiler and driver.
    pub build: String,
}

/// The archives of one system and device.
pub(crate) struct Archives {
    folder: TrustedFolder,
    files: HashMap<Key, Vec<(FileName, PathBuf)>>,
    /// Saving has failed once and is not tried again.
    closed: AtomicBool,
    found: AtomicUsize,
    saved: AtomicUsize,
    saving: AtomicU64,
    notes: Mutex<Vec<String>>,
}

impl Archives {
    /// Opens or makes the folder and looks what is there. Archives of this device from other systems go.
    pub fn open(root: &Path, system: &System) -> std::result::Result<Self, CacheProblem> {
        Self::with_limit(root, system, MOST_BYTES)
    }

    fn with_limit(
        root: &Path,
        system: &System,
        most: u64,
    ) -> std::result::Result<Self, CacheProblem> {
        let (folder, removed) = folder::open(root, system)?;
        let unusable = |error| CacheProblem::Unusable {
            folder: folder.path().to_owned(),
            error,
        };
        let files = folder::list(folder.path(), most).map_err(unusable)?;
        let notes: Vec<String> = removed.iter().map(CacheProblem::to_string).collect();
        for note in &notes {
            tracing::info!("{note}");
        }
        let mut by_key: HashMap<Key, Vec<(FileName, PathBuf)>> = HashMap::new();
        for (name, path) in files {
            by_key.entry(name.key).or_default().push((name, path));
        }
        Ok(Self {
            folder,
            files: by_key,
            closed: AtomicBool::new(false),
            found: AtomicUsize::new(0),
            saved: AtomicUsize::new(0),
            saving: AtomicU64::new(0),
            notes: Mutex::new(notes),
        })
    }

    /// The archive of a unit, if there is one that is whole.
    pub fn find(&self, key: Key) -> Option<PathBuf> {
        self.files.get(&key)?.iter().find_map(|(name, path)| {
            let bytes = match trusted_folder::read(path) {
                Ok(Some(bytes)) => bytes,
                // Another process has removed it.
                Ok(None) => return None,
                Err(error) => {
                    self.reject(path, &error.to_string());
                    return None;
                }
            };
            if checksum(&bytes) != name.checksum {
                self.reject(path, "it is damaged");
                return None;
            }
            // The oldest go first; one that cannot be touched is only forgotten earlier.
            let _ = fs::File::open(path).and_then(|file| file.set_modified(SystemTime::now()));
            Some(path.clone())
        })
    }

    /// An archive is of no use: it goes, and the reason is noted.
    pub fn reject(&self, path: &Path, reason: &str) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        self.note(format!("archive {name} is not used: {reason}"));
        let _ = fs::remove_file(path);
    }

    /// A unit came from its archive.
    pub fn count_found(&self) {
        self.found.fetch_add(1, Ordering::Relaxed);
    }

    /// Keeps what `write` puts into the file that it is given. It appears under its name at once and whole, so that
    /// several processes may save the same unit. A failure is noted and ends saving, nothing more.
    pub fn save(
        &self,
        key: Key,
        unit: &str,
        write: impl FnOnce(&Path) -> std::result::Result<(), String>,
    ) {
        if self.closed.load(Ordering::Relaxed) {
            return;
        }
        let start = Instant::now();
        let temporary = folder::temporary(self.folder.path());
        let moved = write(&temporary).and_then(|()| {
            folder::make_private(&temporary).map_err(|error| error.to_string())?;
            let bytes = fs::read(&temporary).map_err(|error| error.to_string())?;
            let name = FileName {
                unit: unit.to_owned(),
                key,
                checksum: checksum(&bytes),
            };
            let path = self.folder.path().join(name.to_string());
            fs::rename(&temporary, path).map_err(|error| error.to_string())
        });
        self.saving
            .fetch_add(start.elapsed().as_micros() as u64, Ordering::Relaxed);
        match moved {
            Ok(()) => {
                self.saved.fetch_add(1, Ordering::Relaxed);
            }
            Err(reason) => {
                let _ = fs::remove_file(&temporary);
                if !self.closed.swap(true, Ordering::Relaxed) {
                    self.note(format!("archives are not saved: {reason}"));
                }
            }
        }
    }

    fn note(&self, note: String) {
        tracing::warn!("{note}");
        lock(&self.notes).push(note);
    }

    /// Files that were found and saved, and notes.
    pub fn report(&self) -> CacheReport {
        CacheReport {
            folder: Some(self.folder.path().display().to_string()),
            found: Some(self.found.load(Ordering::Relaxed)),
            saved: self.saved.load(Ordering::Relaxed),
            saving_milliseconds: self.saving.load(Ordering::Relaxed) / 1000,
            notes: lock(&self.notes).clone(),
        }
    }
}
