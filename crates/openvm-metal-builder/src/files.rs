//! Files that a scratch folder keeps: written so that no other user can change them, whatever the umask is, and read
//! only if no other user has put them there.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Write},
    path::Path,
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

/// Writes a whole file.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = open(path)?;
    file.set_len(0)?;
    file.write_all(content)
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
