//! Skips work whose inputs have not changed.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use sha2::{Digest, Sha256};

use crate::{error::BuildError, files};

/// Length of a hash in hexadecimal.
const SUM: usize = 64;

/// SHA-256 of some parts, in hexadecimal: names what was compiled from them. Kernels are written for circuits and programs
/// of strangers, who must not find two with one name.
pub fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    hex(&hasher.finalize())
}

fn key_file(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".key");
    name.into()
}

/// Hash of a file's bytes, in hexadecimal.
fn sum(file: &Path) -> std::io::Result<String> {
    Ok(hex(&Sha256::digest(fs::read(file)?)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs `make`, which writes `output`, unless it was last made with the same `key` and has the bytes that it had then: a file
/// that was cut or changed since is made again. Threads and processes that want one file with one key wait for each other, so
/// that none reads half of a file. Whoever has another key writes it again. A file that another user has put there is
/// removed and made again.
pub fn cached(
    output: &Path,
    key: &str,
    make: impl FnOnce() -> Result<(), BuildError>,
) -> Result<(), BuildError> {
    let key_path = key_file(output);
    let is_made = || {
        let own = files::is_own(output) && files::is_own(&key_path);
        let noted = own.then(|| fs::read_to_string(&key_path).ok()).flatten();
        let noted = noted.as_deref().and_then(|noted| noted.rsplit_once('\n'));
        noted.is_some_and(|(old, bytes)| old == key && sum(output).is_ok_and(|sum| sum == bytes))
    };
    if is_made() {
        return Ok(());
    }
    if let Some(dir) = output.parent() {
        files::make_folder(dir).map_err(|e| BuildError::io(dir, e))?;
    }
    let failed = |e| BuildError::io(&key_path, e);
    files::remove_foreign(&key_path).map_err(failed)?;
    let mut file = files::open(&key_path).map_err(failed)?;
    // Whoever has the lock makes the file; the end of the process gives it back too. Where files have no locks, nobody waits.
    while file
        .lock()
        .is_err_and(|e| e.kind() == ErrorKind::Interrupted)
    {}
    if is_made() {
        return Ok(());
    }
    // A build that is interrupted must not leave a key beside a half-written file.
    file.set_len(0).map_err(failed)?;
    let on_output = |e| BuildError::io(output, e);
    files::remove_foreign(output).map_err(on_output)?;
    make()?;
    files::protect(output).map_err(on_output)?;
    let bytes = sum(output).map_err(on_output)?;
    file.write_all(format!("{key}\n{bytes}").as_bytes())
        .map_err(failed)
}

/// Bytes that [`give`] put at `path`; `None` if there are none, damaged ones, or those of another user than the
/// folder's.
pub fn take(path: &Path) -> Option<Vec<u8>> {
    let own = files::is_own(path).then(|| fs::read(path).ok());
    let mut bytes = own.flatten()?;
    let noted = bytes.split_off(bytes.len().checked_sub(SUM)?);
    let is_whole = hex(&Sha256::digest(&bytes)).as_bytes() == noted;
    is_whole.then(|| {
        files::note_use(path);
        bytes
    })
}

/// Puts bytes at `path` for [`take`], and removes files beside it that nobody took for some time. Where nothing can be written,
/// nothing is.
pub fn give(path: &Path, bytes: &[u8], unused: Duration) {
    let sum = hex(&Sha256::digest(bytes));
    let Some(folder) = path.parent() else { return };
    if files::make_folder(folder).is_ok() {
        files::remove_unused(folder, unused);
        let _ = files::write(path, &[bytes, sum.as_bytes()].concat());
    }
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
    use std::process::Command;

    use super::*;

    #[test]
    fn bytes_that_were_given_are_taken_whole_or_not() {
        let folder = std::env::temp_dir().join(format!("given-{}", std::process::id()));
        let path = folder.join("kernels").join("key");
        assert_eq!(take(&path), None);
        give(&path, b"bytes", Duration::MAX);
        assert_eq!(take(&path).as_deref(), Some(&b"bytes"[..]));
        let whole = fs::read(&path).expect("a file");
        let changed = [&b"c"[..], &whole[1..]].concat();
        for damaged in [&changed[..], &whole[1..], b"bytes", b""] {
            fs::write(&path, damaged).expect("a file");
            assert_eq!(take(&path), None);
        }
        fs::remove_dir_all(&folder).expect("removed");
        // A file in place of the folder.
        fs::write(&folder, b"").expect("a file");
        give(&path, b"bytes", Duration::MAX);
        assert_eq!(take(&path), None);
        fs::remove_file(&folder).expect("removed");
    }

    /// The folder in which a process of the test is to make the file.
    const FOLDER: &str = "OPENVM_METAL_TEST_CACHE_FOLDER";

    fn whole_file(folder: &Path, made: &AtomicUsize) {
        let output = folder.join("file");
        let make = || {
            made.fetch_add(1, Ordering::Relaxed);
            fs::write(&output, "half").map_err(|e| BuildError::io(&output, e))?;
            thread::sleep(std::time::Duration::from_millis(50));
            fs::write(&output, "whole").map_err(|e| BuildError::io(&output, e))
        };
        cached(&output, "key", make).expect("made");
        assert_eq!(fs::read_to_string(&output).expect("a file"), "whole");
    }

    /// One of several threads that want a file makes it, and the other threads find it whole.
    #[test]
    fn a_file_is_made_once_at_a_time() {
        let (temporary, made) = (tempfile::tempdir().expect("a folder"), AtomicUsize::new(0));
        let folder = temporary.path().join("made");
        thread::scope(|s| {
            for _ in 0..8 {
                s.spawn(|| whole_file(&folder, &made));
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }

    /// So of processes, which are this test again.
    #[test]
    fn a_file_is_made_by_one_process_at_a_time() {
        if let Some(folder) = std::env::var_os(FOLDER) {
            let made = AtomicUsize::new(0);
            whole_file(Path::new(&folder), &made);
            println!("made {}", made.load(Ordering::Relaxed));
            return;
        }
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().join("made");
        let test = "cache::tests::a_file_is_made_by_one_process_at_a_time";
        let children: Vec<_> = (0..4)
            .map(|_| {
                Command::new(std::env::current_exe().expect("this program"))
                    .args(["--exact", test, "--nocapture"])
                    .env(FOLDER, &folder)
                    .stdout(std::process::Stdio::piped())
                    .spawn()
                    .expect("a process")
            })
            .collect();
        let mut made = 0;
        for child in children {
            let output = child.wait_with_output().expect("an end");
            assert!(output.status.success(), "{output:?}");
            let text = String::from_utf8_lossy(&output.stdout);
            made += text.matches("made 1").count();
            assert_eq!(text.matches("made ").count(), 1, "{text}");
        }
        assert_eq!(made, 1);
    }

    /// A file that is gone, empty, cut or changed is made again, and one that is as it was made is kept.
    #[test]
    fn a_damaged_file_is_made_again() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().join("made");
        let output = folder.join("file");
        let made = std::cell::Cell::new(0);
        let file = || {
            let make = || {
                made.set(made.get() + 1);
                fs::write(&output, "content").map_err(|e| BuildError::io(&output, e))
            };
            cached(&output, "a key\nof two lines", make).expect("made");
            assert_eq!(fs::read_to_string(&output).expect("a file"), "content");
        };
        file();
        for damaged in ["", "cont", "contenT", "content and more"] {
            fs::write(&output, damaged).expect("written");
            file();
            file();
        }
        fs::remove_file(&output).expect("removed");
        file();
        assert_eq!(made.get(), 6);
    }

    /// A key that another make left behind is replaced whole.
    #[test]
    fn a_new_key_makes_the_file_again() {
        let temporary = tempfile::tempdir().expect("a folder");
        let folder = temporary.path().join("made");
        let output = folder.join("file");
        let mut made = 0;
        for key in ["a long key", "key", "key", "a long key"] {
            let make = || {
                made += 1;
                fs::write(&output, key).map_err(|e| BuildError::io(&output, e))
            };
            cached(&output, key, make).expect("made");
            assert_eq!(fs::read_to_string(&output).expect("a file"), key);
        }
        assert_eq!(made, 3);
    }
}
