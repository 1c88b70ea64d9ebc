//! Skips work whose inputs have not changed.

use std::{
    collections::{hash_map::DefaultHasher, BTreeSet},
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    sync::{
        atomic::{AtomicUsize, Ordering},
        Condvar, Mutex, PoisonError,
    },
    thread,
};

use crate::error::BuildError;

/// 128-bit hash of some parts, in hexadecimal.
pub fn hash(parts: &[&str]) -> String {
    let mut a = DefaultHasher::new();
    let mut b = DefaultHasher::new();
    1u8.hash(&mut b);
    for p in parts {
        p.hash(&mut a);
        p.hash(&mut b);
    }
    format!("{:016x}{:016x}", a.finish(), b.finish())
}

fn key_file(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".key");
    name.into()
}

/// The files that are being made.
static BUSY: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static FREE: Condvar = Condvar::new();

/// The right to make a file, which one thread of the process has at a time.
struct Claim<'a>(&'a Path);

impl<'a> Claim<'a> {
    fn wait_for(output: &'a Path) -> Self {
        let mut busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
        while !busy.insert(output.to_owned()) {
            busy = FREE.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        Self(output)
    }
}

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        let mut busy = BUSY.lock().unwrap_or_else(PoisonError::into_inner);
        busy.remove(self.0);
        FREE.notify_all();
    }
}

/// Runs `make`, which writes `output`, unless it was last made with the same `key`. Threads that want one file wait for each other, so
/// that none reads what another writes.
pub fn cached(
    output: &Path,
    key: &str,
    make: impl FnOnce() -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let _claim = Claim::wait_for(output);
    let key_path = key_file(output);
    if output.exists() && fs::read_to_string(&key_path).is_ok_and(|old| old == key) {
        return Ok(());
    }
    // A build that is interrupted must not leave a key beside a half-written file.
    let _ = fs::remove_file(&key_path);
    if let Some(dir) = output.parent() {
        fs::create_dir_all(dir).map_err(|e| BuildError::io(dir, e))?;
    }
    make()?;
    fs::write(&key_path, key).map_err(|e| BuildError::io(key_path, e))
}

/// Key of a file list: each path with the hash of its content; `None` if one cannot be read.
pub fn files_key(files: &[PathBuf]) -> Option<String> {
    let mut key = String::new();
    for f in files {
        let text = fs::read(f).ok()?;
        let h = hash(&[&String::from_utf8_lossy(&text)]);
        key += &format!("{} {h}\n", f.display());
    }
    Some(key)
}

/// Runs `job(0..n)` on all processors, at most as many as cargo allows; gives the results in order.
pub fn parallel<T: Send>(
    n: usize,
    job: impl Fn(usize) -> Result<T, BuildError> + Sync,
) -> Vec<Result<T, BuildError>> {
    let allowed = std::env::var("NUM_JOBS").ok().and_then(|v| v.parse().ok());
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let workers = allowed
        .unwrap_or(processors)
        .clamp(1, processors)
        .min(n.max(1));
    let next = AtomicUsize::new(0);
    let mut results: Vec<(usize, Result<T, BuildError>)> = thread::scope(|s| {
        let handles: Vec<_> = (0..workers)
            .map(|_| {
                s.spawn(|| {
                    let mut mine = Vec::new();
                    loop {
                        let i = next.fetch_add(1, Ordering::Relaxed);
                        if i >= n {
                            return mine;
                        }
                        mine.push((i, job(i)));
                    }
                })
            })
            .collect();
        handles
            .into_iter()
            .flat_map(|h| match h.join() {
                Ok(r) => r,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect()
    });
    results.sort_by_key(|r| r.0);
    results.into_iter().map(|r| r.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of threads that want a file at once one makes it, the others find it whole.
    #[test]
    fn a_file_is_made_once_at_a_time() {
        let folder = std::env::temp_dir().join(format!("cache-test-{}", std::process::id()));
        let (output, made) = (folder.join("file"), AtomicUsize::new(0));
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            fs::write(&output, "half").map_err(|e| BuildError::io(&output, e))?;
            thread::sleep(std::time::Duration::from_millis(20));
            fs::write(&output, "whole").map_err(|e| BuildError::io(&output, e))
        };
        thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| {
                    cached(&output, "key", make).expect("made");
                    assert_eq!(fs::read_to_string(&output).expect("a file"), "whole");
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
        let _ = fs::remove_dir_all(folder);
    }
}
