//! Files that are whole or not there: written under another name, then renamed. A process that is killed leaves at most a
//! file of such a name, which nothing reads. What is read is a file of a bounded size, not a pipe or a device without end.

use std::{
    fs::{self, DirEntry, File, OpenOptions},
    hash::{BuildHasher as _, RandomState},
    io::{self, ErrorKind, Read as _, Write as _},
    path::{Path, PathBuf},
    process,
    time::{Duration, SystemTime},
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
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // What a link names is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if target.exists() && !target.is_file() {
        return fs::write(target, bytes);
    }
    match Unfinished::create(&target) {
        Ok(file) => file.write(&target, bytes),
        Err(error) if may_be_written_directly(error.kind()) => {
            let mut file = File::create(target)?;
            file.write_all(bytes).and_then(|()| file.sync_all())
        }
        // A disk that is full among others: the file that is there stays.
        Err(error) => Err(error),
    }
}

/// Writes a file, or nothing, in place of a file or a link: what a link names stays as it is.
///
/// # Errors
/// The system's error, also if a folder stands there, or the folder takes no new file. The old file stays as it was.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Unfinished::create(path)?.write(path, bytes)
}

/// A file under its other name.
struct Unfinished {
    path: PathBuf,
    file: File,
}

impl Unfinished {
    /// A new file beside `target`.
    fn create(target: &Path) -> io::Result<Self> {
        let path = unfinished(target);
        let file = File::create_new(&path)?;
        Ok(Self { path, file })
    }

    /// Writes the bytes, and gives the file the name of `target`.
    fn write(self, target: &Path, bytes: &[u8]) -> io::Result<()> {
        let Self { path, mut file } = self;
        // A disk of another machine may say only now that it has no room.
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        drop(file);
        let written = written.and_then(|()| fs::rename(&path, target));
        if written.is_err() {
            // What went wrong is told already; a disk that is full gets its space back.
            let _ = fs::remove_file(&path);
        }
        written
    }
}

/// True if an error says that the folder takes no new file. Its files may be writable still.
fn may_be_written_directly(error: ErrorKind) -> bool {
    matches!(
        error,
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem
    )
}

/// 64 random bits in hexadecimal digits, for a name that no other thread, process or machine takes.
pub(crate) fn drawn() -> String {
    format!("{:016x}", RandomState::new().hash_one(process::id()))
}

/// Another name in the folder of a file, which others that write there at the same time do not take. The file's own name is
/// no part of it, so that it may be as long as the system allows.
fn unfinished(path: &Path) -> PathBuf {
    path.with_file_name(format!("{}.{UNFINISHED}", drawn()))
}

/// True for names that [`unfinished`] gives.
fn is_unfinished(name: &str) -> bool {
    let stem = name.strip_suffix(UNFINISHED);
    stem.and_then(|stem| stem.strip_suffix('.'))
        .is_some_and(|drawn| {
            drawn.len() == 16
                && drawn
                    .bytes()
                    .all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'))
        })
}

/// Removes files that [`write`] of processes that were killed an hour ago or earlier left in a folder of this project. Other files, and
/// what cannot be read or removed, stay.
pub(crate) fn remove_abandoned(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let left: Vec<(PathBuf, SystemTime)> = entries.flatten().filter_map(left_behind).collect();
    if left.is_empty() {
        return;
    }
    let Ok(now) = time_of(folder) else {
        return;
    };
    for (path, written) in left {
        if now.duration_since(written).is_ok_and(|age| age > ABANDONED) {
            let _ = fs::remove_file(path);
        }
    }
}

/// A regular file of [`write`] under its other name, and when it was last written to.
fn left_behind(entry: DirEntry) -> Option<(PathBuf, SystemTime)> {
    let is_own = entry.file_name().to_str().is_some_and(is_unfinished);
    // The metadata are those of a link itself, not of what it names.
    let data = entry.metadata().ok().filter(|_| is_own)?;
    let written = data.modified().ok().filter(|_| data.is_file())?;
    Some((entry.path(), written))
}

/// The time by the clock that dates a folder's files. On a network file system that is the server's: the clock of this machine may be
/// ahead of it, and what others write now must not look old.
fn time_of(folder: &Path) -> io::Result<SystemTime> {
    let path = folder.join(format!("{}.{UNFINISHED}", drawn()));
    let mut file = File::create_new(&path)?;
    // Bytes, not only the name, make the server date the file.
    let written = file.write_all(b"time").and_then(|()| file.sync_all());
    let time = written
        .and_then(|()| file.metadata())
        .and_then(|data| data.modified());
    drop(file);
    let _ = fs::remove_file(path);
    time
}

/// Reads a regular file of at most `most` bytes.
///
/// # Errors
/// The system's error, or that it is a folder, pipe or device, or larger. A pipe's writer is not waited for.
pub(crate) fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let refused = |reason: String| Err(io::Error::new(ErrorKind::InvalidData, reason));
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    // Devices are not even opened; that nothing else took the place of the file is asked again of what was opened.
    if !fs::metadata(path)?.is_file() {
        return refused("it is no regular file".into());
    }
    let file = options.open(path)?;
    let data = file.metadata()?;
    if !data.is_file() {
        return refused("it is no regular file".into());
    }
    let mut bytes = Vec::new();
    if data.len() <= most {
        // It may grow meanwhile.
        file.take(most + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 <= most {
            return Ok(bytes);
        }
    }
    refused(format!("it has more than {most} bytes"))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    fn names(folder: &tempfile::TempDir) -> Vec<String> {
        let files = fs::read_dir(folder).expect("a folder");
        let name = |file: fs::DirEntry| file.file_name().to_string_lossy().into_owned();
        let mut names: Vec<String> = files.flatten().map(name).collect();
        names.sort();
        names
    }

    #[test]
    fn files_are_replaced_whole() {
        let folder = folder();
        let path = folder.path().join("a.proof");
        write(&path, b"first").expect("written");
        write(&path, b"second").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"second");
        assert_eq!(names(&folder), ["a.proof"]);
        // A folder of that name is no file.
        fs::create_dir(folder.path().join("b")).expect("a folder");
        write(&folder.path().join("b"), b"x").expect_err("a folder");
        write(&folder.path().join("none/c"), b"x").expect_err("no folder");
        assert_eq!(names(&folder), ["a.proof", "b"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_devices_stay_what_they_are() {
        let folder = folder();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        fs::write(&file, "old").expect("written");
        std::os::unix::fs::symlink(&file, &link).expect("a link");
        write(&link, b"new").expect("written");
        assert!(link.is_symlink());
        assert_eq!(fs::read(&file).expect("a file"), b"new");
        replace(&link, b"other").expect("written");
        assert!(!link.is_symlink());
        assert_eq!(fs::read(&link).expect("a file"), b"other");
        assert_eq!(fs::read(&file).expect("a file"), b"new");
        let null = folder.path().join("null");
        std::os::unix::fs::symlink("/dev/null", &null).expect("a link");
        write(&null, b"gone").expect("written");
        assert!(!Path::new("/dev/null").is_file());
        assert_eq!(names(&folder), ["file", "link", "null"]);
    }

    /// A file with a long path can be opened, but another file beside it cannot be made, as on a full disk.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_stays_if_its_other_name_cannot_be_made() {
        let folder = folder();
        let mut path = folder.path().to_path_buf();
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
        let folder = folder();
        let path = folder.path().join("n".repeat(255));
        let drawn: std::collections::BTreeSet<_> = (0..1000).map(|_| unfinished(&path)).collect();
        assert_eq!(drawn.len(), 1000);
        // The longest name that there is.
        write(&path, b"whole").expect("written");
        assert_eq!(fs::read(&path).expect("a file"), b"whole");
    }

    #[test]
    fn only_own_files_that_are_old_are_removed() {
        let folder = folder();
        let hour = Duration::from_secs(3600);
        for (name, age) in [
            ("segment-0.proof", 2 * hour),
            ("00c0ffee00c0ffee.unfinished", 2 * hour),
            (
                "00c0ffee00c0ffed.unfinished",
                hour + Duration::from_secs(60),
            ),
            ("decade0000decade.unfinished", Duration::ZERO),
            (
                "decade1111decade.unfinished",
                hour - Duration::from_secs(60),
            ),
            // Not by this module.
            ("thesis.unfinished", 2 * hour),
            ("00C0FFEE00C0FFEE.unfinished", 2 * hour),
            ("00c0ffee00c0ffee0.unfinished", 2 * hour),
            ("00c0ffee00c0ffeeunfinished", 2 * hour),
            (".unfinished", 2 * hour),
        ] {
            let file = File::create(folder.path().join(name)).expect("made");
            let time = SystemTime::now() - age;
            file.set_modified(time).expect("a time");
        }
        fs::create_dir(folder.path().join("0000000000000000.unfinished")).expect("a folder");
        remove_abandoned(folder.path());
        let left = [
            ".unfinished",
            "0000000000000000.unfinished",
            "00C0FFEE00C0FFEE.unfinished",
            "00c0ffee00c0ffee0.unfinished",
            "00c0ffee00c0ffeeunfinished",
            "decade0000decade.unfinished",
            "decade1111decade.unfinished",
            "segment-0.proof",
            "thesis.unfinished",
        ];
        assert_eq!(names(&folder), left);
        remove_abandoned(&folder.path().join("none"));
    }

    /// A file that is written now is not old, however far the clock is from that which dates the folder's files: all are compared with a file
    /// that is written now.
    #[test]
    fn files_are_dated_by_their_folder() {
        let folder = folder();
        let before = File::create(folder.path().join("a")).expect("made");
        let before = before.metadata().and_then(|data| data.modified());
        let now = time_of(folder.path()).expect("a time");
        assert!(now >= before.expect("a time"));
        assert_eq!(names(&folder), ["a"]);
        let file = File::create(folder.path().join("00c0ffee00c0ffee.unfinished")).expect("made");
        // By a clock that is ahead of the folder's.
        let ahead = now + 2 * ABANDONED;
        file.set_modified(ahead).expect("a time");
        remove_abandoned(folder.path());
        assert_eq!(names(&folder), ["00c0ffee00c0ffee.unfinished", "a"]);
        time_of(&folder.path().join("none")).expect_err("no folder");
    }

    #[test]
    fn files_are_read_up_to_a_bound() {
        let folder = folder();
        let path = folder.path().join("a");
        fs::write(&path, [7; 100]).expect("written");
        assert_eq!(read(&path, 100).expect("read"), [7; 100]);
        let error = read(&path, 99).expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        assert!(error.to_string().contains("more than 99 bytes"), "{error}");
        let error = read(folder.path(), 100).expect_err("a folder");
        assert!(error.to_string().contains("no regular file"), "{error}");
        let error = read(&folder.path().join("none"), 100).expect_err("no file");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn pipes_and_devices_are_not_read() {
        let error = read(Path::new("/dev/zero"), 100).expect_err("a device");
        assert!(error.to_string().contains("no regular file"), "{error}");
        let folder = folder();
        let path = folder.path().join("pipe");
        let name = std::ffi::CString::new(path.to_str().expect("a name")).expect("no zero");
        // SAFETY: the path ends with a zero and lives until the call returns.
        assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
        let error = read(&path, 100).expect_err("a pipe");
        assert!(error.to_string().contains("no regular file"), "{error}");
    }
}
