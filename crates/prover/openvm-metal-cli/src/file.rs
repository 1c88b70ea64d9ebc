//! Files that a command will write.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

use crate::error::{CliError, Result};

/// Finds out whether a file can be written, and leaves everything as it was. Files are written under another name and renamed, so
/// one of such a name is made for the moment: what stands at the path is not touched, whoever puts it there meanwhile.
///
/// # Errors
/// [`CliError::Write`] if not.
pub fn probe(path: &Path) -> Result<()> {
    try_write(path).map_err(|source| CliError::Write {
        path: path.display().to_string(),
        source,
    })
}

fn try_write(path: &Path) -> io::Result<()> {
    let folder = folder_of(path);
    if !folder.is_dir() {
        let reason = format!("there is no folder {}", folder.display());
        return Err(io::Error::new(io::ErrorKind::NotFound, reason));
    }
    // What a link names is replaced, not the link.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let exists = match fs::metadata(&target) {
        Ok(data) if data.is_dir() => return Err(io::ErrorKind::IsADirectory.into()),
        Ok(data) if data.is_file() => match File::options().append(true).open(&target) {
            Ok(_) => true,
            // Another process has taken it away meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            Err(error) => return Err(error),
        },
        // A pipe is not opened: its reader would see its end.
        Ok(_) => return may_write(&target),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    // It is not the folder of the path if that is a link.
    match NamedTempFile::new_in(folder_of(&target)) {
        Ok(file) => file.close(),
        // The folder takes no new file; this one is written directly.
        Err(error) if exists && error.kind() != io::ErrorKind::StorageFull => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes a file that would get larger than `ulimit -f` allows an error of its writer. It would end the process.
pub fn report_size_limit() {
    // SAFETY: the signal is ignored; no handler runs.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The folder of a file, `.` if the path names none.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    folder.unwrap_or(Path::new("."))
}

/// Asks whether this user may write to a path that is no file.
fn may_write(path: &Path) -> io::Result<()> {
    use std::os::unix::ffi::OsStrExt as _;

    let path = std::ffi::CString::new(path.as_os_str().as_bytes())?;
    // SAFETY: the path ends with a null byte; the call only asks.
    match unsafe { libc::access(path.as_ptr(), libc::W_OK) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A file of a command, and the option that names it.
pub type Named<'a> = (&'static str, &'a Path);

/// A file that a command reads, and the option that names it, or the words for one that is found.
pub type Read = (&'static str, PathBuf);

/// Finds out before work whether a command can write its files, and would write over no program and over no file that it writes or
/// reads itself.
///
/// # Errors
/// [`CliError::SameFile`], [`CliError::OverProgram`], or those of [`probe`].
pub fn check(written: &[Named<'_>], read: &[Read]) -> Result<()> {
    distinct(written, read)?;
    if let Some(&(name, path)) = written.iter().find(|(_, path)| is_program(path)) {
        return Err(CliError::OverProgram {
            name,
            path: path.to_owned(),
        });
    }
    written.iter().try_for_each(|(_, path)| probe(path))
}

/// Compares files by what they are and not by their names. Devices and pipes may be named twice.
///
/// # Errors
/// [`CliError::SameFile`].
pub fn distinct(written: &[Named<'_>], read: &[Read]) -> Result<()> {
    let read = || read.iter().map(|(name, path)| (*name, path.as_path()));
    for (place, &(name, path)) in written.iter().enumerate() {
        let others = written[..place].iter().copied().chain(read());
        for (other, other_path) in others {
            if is_same(path, other_path) {
                return Err(CliError::SameFile {
                    names: [other, name],
                    path: path.to_owned(),
                });
            }
        }
    }
    Ok(())
}

/// True for an ELF and for an executable of the virtual machine.
fn is_program(path: &Path) -> bool {
    let is_elf = || -> io::Result<bool> {
        let mut start = [0; 4];
        File::open(path)?.read_exact(&mut start)?;
        Ok(start == *b"\x7fELF")
    };
    let is_exe = path.extension() == Some(OsStr::new("vmexe"));
    path.is_file() && (is_exe || is_elf().unwrap_or(false))
}

fn is_same(one: &Path, other: &Path) -> bool {
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => one.is_file() && identity(&one) == identity(&other),
        (Err(_), Err(_)) => resolved(one) == resolved(other),
        _ => false,
    }
}

/// The number of a file in its system: links to it have the same.
fn identity(data: &fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;

    (data.dev(), data.ino())
}

/// The path of a file that is not there yet, without links and dots.
fn resolved(path: &Path) -> PathBuf {
    let folder = folder_of(path).canonicalize();
    match (folder, path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn programs_are_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str, contents: &[u8]| {
            let path = folder.path().join(name);
            fs::write(&path, contents).expect("written");
            path
        };
        for path in [at("guest", b"\x7fELF and so on"), at("guest.vmexe", b"any")] {
            let error = check(&[("--profile", &path)], &[]).expect_err("a program");
            let text = error.to_string();
            assert!(text.starts_with("--profile would write over "), "{text}");
        }
        for path in [at("costs", b"\x7fE"), at("old", b"text of a profile")] {
            check(&[("--profile", &path)], &[]).expect("no program");
        }
        check(&[("--profile", &folder.path().join("guest.txt"))], &[]).expect("a new file");
    }

    /// Another process makes the file again and again; the probe never takes it away. The old probe did within some hundred turns.
    #[test]
    fn existing_files_survive_the_probe() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.proof");
        let probes = std::thread::scope(|scope| {
            let other = scope.spawn(|| {
                for turn in 0..2000 {
                    fs::write(&path, "whole").expect("written");
                    let text = fs::read(&path);
                    assert!(text.is_ok_and(|text| text == b"whole"), "turn {turn}");
                    fs::remove_file(&path).expect("still there");
                }
            });
            let mut probes = 0;
            while !other.is_finished() {
                probe(&path).expect("can be written");
                probes += 1;
            }
            other.join().expect("nothing was taken away");
            probes
        });
        assert!(probes > 100, "{probes}");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn unwritable_files_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("file");
        for (path, kind) in [
            (folder.path().to_path_buf(), io::ErrorKind::IsADirectory),
            (folder.path().join("none/file"), io::ErrorKind::NotFound),
            (
                folder.path().join("n".repeat(256)),
                io::ErrorKind::InvalidFilename,
            ),
        ] {
            assert_eq!(
                try_write(&path).expect_err("refused").kind(),
                kind,
                "{path:?}"
            );
        }
        try_write(Path::new("/dev/null")).expect("a device");
        try_write(&file).expect("a new file");
        assert!(!file.exists());
        fs::write(&file, "old").expect("written");
        try_write(&file).expect("a file that is there");
        assert_eq!(fs::read(&file).expect("a file"), b"old");
    }

    #[test]
    fn one_file_of_two_names_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        fs::write(path("a"), "").expect("written");
        fs::hard_link(path("a"), path("hard")).expect("a link");
        symlink(path("a"), path("soft")).expect("a link");
        symlink(folder.path(), path("here")).expect("a link");
        let same = |one: &str, other: &str| is_same(&path(one), &path(other));
        for (one, other) in [
            ("a", "./a"),
            ("a", "hard"),
            ("a", "soft"),
            ("b", "./b"),
            ("b", "here/b"),
        ] {
            assert!(same(one, other) && same(other, one), "{one} {other}");
        }
        for (one, other) in [("a", "b"), ("b", "c")] {
            assert!(!same(one, other) && !same(other, one), "{one} {other}");
        }
        let null = Path::new("/dev/null");
        distinct(&[("--proof", null), ("--vk", null)], &[]).expect("a device");
        let [a, hard, b] = ["a", "hard", "b"].map(path);
        let refused = distinct(&[("--proof", &b), ("--vk", &a)], &[("--input", hard)]);
        let refused = refused.expect_err("an input").to_string();
        assert!(
            refused.contains("--input") && refused.contains("--vk"),
            "{refused}"
        );
    }
}
