//! Files that are whole or not there: written under another name, then renamed. A process that is killed leaves at most a
//! file of such a name, which nothing reads.

use std::{
    fs::{self, File},
    hash::{BuildHasher as _, RandomState},
    io::{self, ErrorKind, Write as _},
    path::{Path, PathBuf},
    process,
    time::Duration,
};

/// The extension of files that are being written.
const UNFINISHED: &str = "unfinished";

/// A file of this extension that is older was left behind. Processes of other machines may write into the same folder, so
/// that nobody can ask whether the writer lives; writing takes seconds.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Writes a file, or nothing. When this returns the file's bytes are on the disk, as far as the system says so. What is no file,
/// as `/dev/null`, and files in folders where none may be made are written directly.
///
/// # Errors
/// What the system says. A file that was there is as it was, unless it was written directly.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a link names is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        return fs::write(target, bytes);
    }
    let unfinished = unfinished(&target);
    let mut file = match File::create_new(&unfinished) {
        Ok(file) => file,
        Err(error) if may_be_written_directly(error.kind()) => {
            let mut file = File::create(target)?;
            return file.write_all(bytes).and_then(|()| file.sync_all());
        }
        // A disk that is full among others: the file that is there stays.
        Err(error) => return Err(error),
    };
    // A disk of another machine may say only now that it has no room.
    let written = file.write_all(bytes).and_then(|()| file.sync_all());
    drop(file);
    let written = written.and_then(|()| fs::rename(&unfinished, &target));
    if written.is_err() {
        // What went wrong is told already; a disk that is full gets its space back.
        let _ = fs::remove_file(&unfinished);
    }
    written
}

/// Whether an error says that the folder takes no new file. Its files may be writable still.
fn may_be_written_directly(error: ErrorKind) -> bool {
    matches!(
        error,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}

/// Another name in the folder of a file. Threads, processes and machines that write there at the same time have others: each call draws
/// 64 bits. The file's own name is no part of it, so that it may be as long as the system allows.
fn unfinished(path: &Path) -> PathBuf {
    let drawn = RandomState::new().hash_one(process::id());
    path.with_file_name(format!("{drawn:016x}.{UNFINISHED}"))
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

    /// Of a long path the file can be opened, but another file beside it cannot be made: as on a disk without room for another.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_stays_if_its_other_name_cannot_be_made() {
        let folder = Folder::new("long");
        let mut path = folder.0.clone();
        while path.as_os_str().len() + 220 < libc::PATH_MAX as usize {
            path.push("d".repeat(200));
        }
        let left = libc::PATH_MAX as usize - 4 - path.as_os_str().len();
        path.push("d".repeat(left - 1));
        fs::create_dir_all(&path).expect("folders");
        path.push("f");
        fs::write(&path, "good").expect("written");
        let error = write(&path, b"new").expect_err("no other file");
        assert_eq!(error.kind(), ErrorKind::InvalidFilename);
        assert_eq!(fs::read(&path).expect("a file"), b"good");
    }

    #[test]
    fn only_folders_that_take_no_file_are_written_directly() {
        let errors = [
            ErrorKind::PermissionDenied,
            ErrorKind::ReadOnlyFilesystem,
            ErrorKind::StorageFull,
            ErrorKind::QuotaExceeded,
            ErrorKind::NotFound,
            ErrorKind::Other,
        ];
        let direct = errors.map(may_be_written_directly);
        assert_eq!(direct, [true, true, false, false, false, false]);
    }

    #[test]
    fn nobody_writes_to_the_file_of_another() {
        let folder = Folder::new("others");
        let path = folder.0.join("n".repeat(255));
        let drawn: std::collections::BTreeSet<_> = (0..1000).map(|_| unfinished(&path)).collect();
        assert_eq!(drawn.len(), 1000);
        // The longest name that there is.
        write(&path, b"whole").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"whole");
    }

    #[test]
    fn only_old_unfinished_files_are_removed() {
        let folder = Folder::new("abandoned");
        for (name, hours) in [
            ("segment-0.proof", 2),
            ("00c0ffee00c0ffee.unfinished", 2),
            ("decade0000decade.unfinished", 0),
        ] {
            let file = File::create(folder.0.join(name)).expect("made");
            let time = SystemTime::now() - Duration::from_secs(hours * 3600);
            file.set_modified(time).expect("a time");
        }
        remove_abandoned(&folder.0);
        let left = ["decade0000decade.unfinished", "segment-0.proof"];
        assert_eq!(folder.names(), left);
        remove_abandoned(&folder.0.join("none"));
    }
}
