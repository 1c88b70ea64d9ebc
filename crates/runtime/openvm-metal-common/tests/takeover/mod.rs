//! Ways in which another local user gets code into a place that code is loaded from: one table for all caches.

use std::fs;
use std::io;
use std::os::unix::fs::{chown, symlink, PermissionsExt};
use std::path::{Path, PathBuf};

/// A user who is neither this one nor root.
pub const OTHER: u32 = 65534;

/// A way to make a cache of this user, its folder and the files in it, one that another user could have written.
struct Takeover {
    name: &'static str,
    /// Only root can do it.
    needs_root: bool,
    act: fn(&Path) -> io::Result<()>,
}

/// The folder of the cache in all cases. Names of files may depend on it.
pub fn place(at: &Path) -> PathBuf {
    at.join("parent/cache")
}

/// A link to it.
fn link(at: &Path) -> PathBuf {
    at.join("link")
}

const TAKEOVERS: [Takeover; 11] = [
    Takeover {
        name: "a folder of another user",
        needs_root: true,
        act: |at| give(&place(at)),
    },
    Takeover {
        name: "files of this user in a folder of another user",
        needs_root: true,
        act: |at| chown(place(at), Some(OTHER), None),
    },
    Takeover {
        name: "a folder that everybody can write",
        needs_root: false,
        act: |at| set_mode(&place(at), 0o777),
    },
    Takeover {
        name: "a folder that everybody can write, with the sticky bit",
        needs_root: false,
        act: |at| set_mode(&place(at), 0o1777),
    },
    Takeover {
        name: "a folder that the group can write",
        needs_root: false,
        act: |at| set_mode(&place(at), 0o770),
    },
    Takeover {
        name: "a folder below one that everybody can write",
        needs_root: false,
        act: |at| set_mode(&at.join("parent"), 0o777),
    },
    Takeover {
        name: "a folder below one of another user",
        needs_root: true,
        act: |at| chown(at.join("parent"), Some(OTHER), None),
    },
    Takeover {
        name: "a folder of another user below one with the sticky bit",
        needs_root: true,
        act: |at| give(&place(at)).and_then(|()| set_mode(&at.join("parent"), 0o1777)),
    },
    Takeover {
        name: "a symbolic link to a folder of another user",
        needs_root: true,
        act: |at| give(&place(at)).and_then(|()| symlink(place(at), link(at))),
    },
    Takeover {
        name: "files of another user",
        needs_root: true,
        act: |at| give_files(&place(at)),
    },
    Takeover {
        name: "files that everybody can write",
        needs_root: false,
        act: |at| each_file(&place(at), &mut |file| set_mode(file, 0o666)),
    },
];

/// Asserts that code is loaded from a copy of the files at [`place`] that only this user can write, also below a folder with the
/// sticky bit, and in none of the other cases.
pub fn refuses_all(at: &Path, files: &Path, mut loads: impl FnMut(&Path) -> bool) {
    for mode in [0o755, 0o1777] {
        copy_to_place(files, at);
        set_mode(&at.join("parent"), mode).expect("ours");
        assert!(
            loads(&place(at)),
            "this user's own folder, below mode {mode:o}"
        );
    }
    let user = fs::metadata(at).expect("a folder");
    let is_root = std::os::unix::fs::MetadataExt::uid(&user) == 0;
    for takeover in TAKEOVERS {
        if takeover.needs_root && !is_root {
            eprintln!("not tried, only root can make it: {}", takeover.name);
            continue;
        }
        copy_to_place(files, at);
        (takeover.act)(at).unwrap_or_else(|error| panic!("{}: {error}", takeover.name));
        let opened = match link(at).exists() {
            true => link(at),
            false => place(at),
        };
        assert!(!loads(&opened), "code was loaded: {}", takeover.name);
    }
}

fn copy_to_place(files: &Path, at: &Path) {
    for path in [at.join("parent"), link(at)] {
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    own(files, &place(at)).expect("a copy");
    set_mode(&at.join("parent"), 0o755).expect("ours");
}

/// A copy of a folder that only this user can write.
pub fn own(files: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(files)? {
        let (from, to) = {
            let entry = entry?;
            (entry.path(), to.join(entry.file_name()))
        };
        if from.is_dir() {
            own(&from, &to)?;
        } else {
            fs::copy(&from, &to)?;
            set_mode(&to, 0o644)?;
        }
    }
    // Whatever the umask is.
    set_mode(to, 0o755)
}

/// Gives a folder and the files in it to the other user.
pub fn give(folder: &Path) -> io::Result<()> {
    chown(folder, Some(OTHER), None)?;
    give_files(folder)
}

/// Gives the files in a folder to the other user.
pub fn give_files(folder: &Path) -> io::Result<()> {
    each_file(folder, &mut |file| chown(file, Some(OTHER), None))
}

fn each_file(folder: &Path, act: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            each_file(&path, act)?;
        } else {
            act(&path)?;
        }
    }
    Ok(())
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}
