//! Configurations that are found beside a program: their places, and whether another user may have put them there.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::error::SdkError;

/// The file of a guest that names its extensions.
pub const CONFIG_FILE: &str = "openvm.toml";

/// Write permission for users other than the owner and the group. New files of a user may be the group's to write, too.
const OTHERS_WRITE: u32 = 0o002;

/// The bit of a folder whose files only their owners, and the folder's, may replace.
const STICKY: u32 = 0o1000;

/// The file of the configuration that `openvm-metal build` stores with an executable: `NAME.openvm.toml` beside `NAME.vmexe`.
pub fn stored_config(program: &Path) -> PathBuf {
    program.with_extension(CONFIG_FILE)
}

/// The files that may be a program's configuration, in the order in which they are looked for: that of the guest's folder; or
/// that which `build` stored with the file, that in the file's folder, and that of the cargo package which the file lies in, as
/// executables of cargo-openvm do.
pub fn config_places(program: &Path) -> Vec<PathBuf> {
    if program.is_dir() {
        return vec![program.join(CONFIG_FILE)];
    }
    let mut places = vec![stored_config(program), program.with_file_name(CONFIG_FILE)];
    let whole = program.canonicalize().ok();
    let package = whole
        .iter()
        .flat_map(|program| program.ancestors().skip(1))
        .find(|folder| folder.join("Cargo.toml").exists());
    if let Some(place) = package.map(|folder| folder.join(CONFIG_FILE)) {
        let is_there = |known: &PathBuf| {
            let folder = |path: &Path| path.parent()?.canonicalize().ok();
            known.file_name() == place.file_name() && folder(known) == folder(&place)
        };
        if !places.iter().any(is_there) {
            places.push(place);
        }
    }
    places
}

/// The first of [`config_places`] that is there, if any is. It decides extensions and parameters, and a user of the same machine could have put it
/// into a folder above the program. It is taken if it belongs to this user, to root, to the owner of the program or to that of its own folder, who can
/// replace the program; and if not everybody can write it, or everybody can write the program.
///
/// # Errors
/// [`SdkError::ForeignConfig`] with the reason; [`SdkError::File`].
pub fn found_config(program: &Path) -> Result<Option<PathBuf>, SdkError> {
    let found = config_places(program)
        .into_iter()
        .find(|place| place.exists());
    found.map(|config| check(config, program)).transpose()
}

fn check(config: PathBuf, program: &Path) -> Result<PathBuf, SdkError> {
    let data = |path: &Path| {
        fs::metadata(path).map_err(|error| SdkError::File {
            path: path.to_owned(),
            what: "a configuration",
            reason: error.to_string(),
        })
    };
    let folder = match config.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let (file, folder, program) = (data(&config)?, data(folder)?, data(program)?);
    // SAFETY: the call reads a number.
    let user = unsafe { libc::geteuid() };
    let owners = [user, 0, program.uid(), folder.uid()];
    // File systems without modes show all of them for every file.
    let is_open = program.mode() & OTHERS_WRITE != 0
        && !(program.is_dir() && program.mode() & STICKY != 0)
        && program.uid() == file.uid();
    let mode = if is_open { 0 } else { file.mode() };
    // Whoever made a link chose what it names. Its mode says nothing.
    let link = fs::symlink_metadata(&config).map_or(file.uid(), |link| link.uid());
    match refusal(link, 0, owners).or_else(|| refusal(file.uid(), mode, owners)) {
        Some(reason) => Err(SdkError::ForeignConfig {
            path: config,
            reason,
        }),
        None => Ok(config),
    }
}

/// The reason why a file of this owner and mode is not taken.
fn refusal(owner: u32, mode: u32, owners: [u32; 4]) -> Option<String> {
    if !owners.contains(&owner) {
        return Some(format!(
            "it belongs to user {owner}, to whom neither the program nor the folder belongs"
        ));
    }
    let everybody = mode & OTHERS_WRITE != 0;
    everybody.then(|| format!("everybody may write it (mode {:04o})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{chown, PermissionsExt as _};

    use tempfile::tempdir;

    use super::*;

    #[test]
    fn owners_and_modes() {
        let owners = [1000, 0, 2000, 4000];
        for owner in owners {
            for mode in [0o100_644, 0o100_664, 0o100_600] {
                assert_eq!(refusal(owner, mode, owners), None, "{owner} {mode:o}");
            }
            let reason = refusal(owner, 0o100_666, owners).expect("everybody's");
            assert!(reason.contains("mode 0666"), "{reason}");
        }
        let reason = refusal(3000, 0o100_644, owners).expect("another's");
        assert!(reason.contains("user 3000"), "{reason}");
    }

    /// Catches file systems without modes on which no configuration is found, and modes that let others choose the machine of a program.
    #[test]
    fn files_that_everybody_may_write() {
        let root = tempdir().expect("a folder");
        let [elf, config] = ["a.elf", "openvm.toml"].map(|name| root.path().join(name));
        let set = |path: &Path, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
        };
        for path in [&elf, &config] {
            fs::write(path, "").expect("written");
        }
        // The folder, the program and the configuration; and whether it is taken for the folder and for the program.
        for (modes, taken) in [
            ([0o755, 0o644, 0o644], [true, true]),
            ([0o755, 0o644, 0o666], [false, false]),
            ([0o777, 0o644, 0o666], [true, false]),
            ([0o1777, 0o777, 0o666], [false, true]),
            ([0o777, 0o777, 0o777], [true, true]),
        ] {
            for (path, mode) in [root.path(), &elf, &config].into_iter().zip(modes) {
                set(path, mode);
            }
            let found = [root.path(), &elf].map(|program| match found_config(program) {
                Ok(found) => found.as_ref() == Some(&config),
                Err(SdkError::ForeignConfig { .. }) => false,
                Err(error) => panic!("{error}"),
            });
            assert_eq!(found, taken, "{modes:?}");
        }
    }

    /// Catches files of the owner of a checkout that its user's root refuses, and files that a user planted above the programs of another one.
    #[test]
    fn owners_of_folders() {
        let root = tempdir().expect("a folder");
        let folder = root.path().canonicalize().expect("a folder");
        let at = |name: &str| folder.join(name);
        fs::create_dir(at("target")).expect("a folder");
        for name in ["Cargo.toml", "openvm.toml", "target/a.elf"] {
            fs::write(at(name), "").expect("written");
        }
        let own = |name: &str, user: u32| chown(at(name), Some(user), None);
        if own("openvm.toml", 3000).is_err() {
            eprintln!("not tried: files of other users, which root alone makes");
            return;
        }
        let found = || found_config(&at("target/a.elf"));
        // In a folder that everybody may write, as /tmp, or in another's.
        for (owner, mode) in [(0, 0o1777), (0, 0o777), (2000, 0o755)] {
            own("", owner).expect("an owner");
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).expect("permissions");
            let error = found().expect_err("it is another's");
            assert!(matches!(error, SdkError::ForeignConfig { .. }), "{error}");
        }
        own("", 3000).expect("an owner");
        assert_eq!(
            found().expect("the folder's owner"),
            Some(at("openvm.toml"))
        );
        // A link of a stranger to a file of root.
        own("", 0).expect("an owner");
        own("openvm.toml", 0).expect("an owner");
        fs::rename(at("openvm.toml"), at("others.toml")).expect("renamed");
        std::os::unix::fs::symlink("others.toml", at("openvm.toml")).expect("a link");
        std::os::unix::fs::lchown(at("openvm.toml"), Some(3000), None).expect("an owner");
        assert!(matches!(found(), Err(SdkError::ForeignConfig { .. })));
    }

    /// An executable of `build` or cargo-openvm finds the configuration that it was made with; a file outside of a package finds
    /// none.
    #[test]
    fn configuration_places() {
        let root = tempdir().expect("a folder");
        let path = |name: &str| root.path().join(name);
        let write = |name: &str| {
            let path = path(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(&path, "").expect("written");
            path
        };
        let find = |program: &Path| found_config(program).expect("the user's");
        let lone = write("lone.vmexe");
        assert_eq!(find(&lone), None);
        assert_eq!(
            config_places(&lone),
            [path("lone.openvm.toml"), path("openvm.toml")]
        );
        write("guest/Cargo.toml");
        let (ours, theirs) = (
            write("guest/target/openvm/release/a.vmexe"),
            write("guest/openvm/release/a.vmexe"),
        );
        assert_eq!(find(&ours), None);
        let package = write("guest/openvm.toml").canonicalize().expect("there");
        assert_eq!(find(&ours).as_ref(), Some(&package));
        assert_eq!(find(&theirs).as_ref(), Some(&package));
        assert_eq!(find(&path("guest")), Some(path("guest/openvm.toml")));
        let stored = write("guest/target/openvm/release/a.openvm.toml");
        assert_eq!(find(&ours), Some(stored));
        // A package within has no configuration, that of the outer one is another's.
        write("guest/inner/Cargo.toml");
        assert_eq!(find(&write("guest/inner/target/b.elf")), None);
        let elf = write("guest/c.elf");
        assert_eq!(config_places(&elf).len(), 2, "{:?}", config_places(&elf));
    }
}
