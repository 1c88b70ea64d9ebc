//! Skips work whose inputs have not changed.

use std::{
    collections::hash_map::DefaultHasher,
    fs,
    hash::{Hash, Hasher},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
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

/// Runs `make`, which writes `output`, unless it was last made with the same `key`.
pub fn cached(
    output: &Path,
    key: &str,
    make: impl FnOnce() -> Result<(), BuildError>,
) -> Result<(), BuildError> {
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
