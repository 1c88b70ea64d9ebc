//! Files that are whole or not there: written under another name, then renamed. A process that is killed leaves at most a
//! file of such a name, which nothing reads.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// The extension of files that are being written.
const UNFINISHED: &str = "unfinished";

/// A file of this extension that is older was left behind. Processes of other machines may write into the same folder, so
/// that nobody can ask whether the writer lives; writing takes seconds.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Writes a file, or nothing. What is no file, as `/dev/null`, and files in folders where none can be made are written
/// directly.
///
/// # Errors
/// What the system says. A file that was there is as it was, unless it was written directly.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Several threads and processes may write into one folder.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // What a link names is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        return fs::write(target, bytes);
    }
    let unfinished = with_suffix(&target, &format!("{}-{number}.{UNFINISHED}", process::id()));
    let Ok(mut file) = File::create(&unfinished) else {
        return fs::write(target, bytes);
    };
    let written = file
        .write_all(bytes)
        .and_then(|()| fs::rename(&unfinished, &target));
    if written.is_err() {
        // What went wrong is told already; a disk that is full gets its space back.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(suffix);
    path.with_file_name(name)
}

/// Removes what processes that were killed an hour ago or earlier left in a folder. What cannot be read or removed stays.
pub(crate) fn remove_abandoned(folder: &Path) {
    let Ok(files) = fs::read_dir(folder) else {
        return;
    };
    for file in files.flatten() {
        let path = file.path();
        let is_old = || {
            let written = file.metadata().and_then(|data| data.modified());
            written.is_ok_and(|time| time.elapsed().is_ok_and(|age| age > ABANDONED))
        };
        if path.extension().is_some_and(|end| end == UNFINISHED) && is_old() {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("openvm-metal-whole-{}-{name}", process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let files = fs::read_dir(&self.0).expect("a folder");
            let name = |file: fs::DirEntry| file.file_name().to_string_lossy().into_owned();
            let mut names: Vec<String> = files.flatten().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = Folder::new("replaced");
        let path = folder.0.join("a.proof");
        write(&path, b"first").expect("written");
        write(&path, b"second").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"second");
        assert_eq!(folder.names(), ["a.proof"]);
        // A folder of that name is no file.
        fs::create_dir(folder.0.join("b")).expect("a folder");
        write(&folder.0.join("b"), b"x").expect_err("a folder");
        write(&folder.0.join("none/c"), b"x").expect_err("no folder");
        assert_eq!(folder.names(), ["a.proof", "b"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay_what_they_are() {
        let folder = Folder::new("links");
        let (file, link) = (folder.0.join("file"), folder.0.join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("a file"), b"new");
        let null = folder.0.join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("a link");
        write(&null, b"gone").expect("written");
        assert!(!Path::new("/dev/null").is_file());
        assert_eq!(folder.names(), ["file", "link", "null"]);
    }

    #[test]
    fn only_old_unfinished_files_are_removed() {
        let folder = Folder::new("abandoned");
        for (name, hours) in [
            ("segment-0.proof", 2),
            ("segment-1.proof.7-0.unfinished", 2),
            ("segment-2.proof.8-0.unfinished", 0),
        ] {
            let file = File::create(folder.0.join(name)).expect("made");
            let time = SystemTime::now() - Duration::from_secs(hours * 3600);
            file.set_modified(time).expect("a time");
        }
        remove_abandoned(&folder.0);
        let left = ["segment-0.proof", "segment-2.proof.8-0.unfinished"];
        assert_eq!(folder.names(), left);
        remove_abandoned(&folder.0.join("none"));
    }
}
