//! Files that a scratch folder keeps: written so that no other user can change them, whatever the umask is, and read
//! only if no other user has put them there.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::Path,
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime},
};

/// Makes a folder and those above it.
pub fn make_folder(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o755);
    builder.create(path)
}

/// Opens a file to be written, or makes it; its content stays.
pub fn open(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options.open(path)
}

/// Writes a file under a temporary name and renames it, so that nobody reads half of it.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    // Other processes, and other threads of this one, may write the same file.
    static PARTS: AtomicU64 = AtomicU64::new(0);
    let number = PARTS.fetch_add(1, Ordering::Relaxed);
    let mut part = path.as_os_str().to_owned();
    part.push(format!(".{}-{number}.part", std::process::id()));
    let written = open(part.as_ref()).and_then(|mut file| {
        file.set_len(0)?;
        file.write_all(content)?;
        fs::rename(&part, path)
    });
    if written.is_err() {
        // Without it, a part of a file that nobody reads stays.
        let _ = fs::remove_file(&part);
    }
    written
}

/// Takes the right to write a file, which another program has made, from group and others.
pub fn protect(path: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mut permissions = fs::metadata(path)?.permissions();
        if permissions.mode() & 0o022 != 0 {
            permissions.set_mode(permissions.mode() & !0o022);
            fs::set_permissions(path, permissions)?;
        }
    }
    Ok(())
}

/// True if a file belongs to the user to whom its folder belongs, or to root. Another user may have put it there
/// while the folder was open to all.
pub fn is_own(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let (Ok(file), Some(folder)) = (fs::symlink_metadata(path), path.parent()) else {
            return false;
        };
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        let owner = |owner| file.uid() == 0 || file.uid() == owner;
        file.is_file() && fs::metadata(folder).is_ok_and(|folder| owner(folder.uid()))
    }
    #[cfg(not(unix))]
    path.is_file()
}

/// Removes a file of another user; its folder is this user's.
pub fn remove_foreign(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() && !is_own(path) {
        return fs::remove_file(path);
    }
    Ok(())
}

/// Notes that a file is used now; a file system that keeps no times forgets it.
pub fn note_use(path: &Path) {
    let file = OpenOptions::new().write(true).open(path);
    let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Removes the files of a folder that were neither written nor noted as used for some time. Whatever cannot be removed stays.
pub fn remove_unused(folder: &Path, unused: Duration) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|found| found.modified());
        if age.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > unused)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Threads that write one file, as two kernels of one text do, never read half of it.
    #[test]
    fn a_file_is_written_whole() {
        let name = format!("files-{}.metal", std::process::id());
        let path = std::env::temp_dir().join(name);
        let content = vec![b'x'; 100_000];
        thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    for _ in 0..100 {
                        write(&path, &content).expect("written");
                        assert_eq!(fs::read(&path).expect("a file").len(), content.len());
                    }
                });
            }
        });
        let _ = fs::remove_file(path);
    }

    #[test]
    fn files_that_nobody_uses_are_removed() {
        let folder = std::env::temp_dir().join(format!("unused-{}", std::process::id()));
        make_folder(&folder).expect("a folder");
        let [old, used] = ["old", "used"].map(|name| folder.join(name));
        let hour = Duration::from_secs(3600);
        for path in [&old, &used] {
            write(path, b"").expect("a file");
            let file = OpenOptions::new().write(true).open(path).expect("a file");
            file.set_modified(SystemTime::now() - 2 * hour)
                .expect("a time");
        }
        note_use(&used);
        remove_unused(&folder, hour);
        assert!(!old.exists() && used.exists());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
