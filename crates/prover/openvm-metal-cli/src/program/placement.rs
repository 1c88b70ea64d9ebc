//! Places of results in a guest's folder. The folder may be a stranger's, who made links in it to files of the user's.

use std::{
    fs,
    io::ErrorKind,
    path::{Component, Path},
};

use crate::error::{CliError, Result};

/// Refuses a link below `root`, which the user named, on the way to a result and in its place. What is not there yet is no link.
///
/// # Errors
/// [`CliError::Link`] with the first one, and `remedy`: the options that name another folder.
pub fn refuse_links(root: &Path, result: &Path, remedy: &'static str) -> Result<()> {
    let Ok(below) = result.strip_prefix(root) else {
        return Ok(());
    };
    let mut path = root.to_owned();
    for part in below.components() {
        path.push(part);
        let is_down = matches!(part, Component::Normal(_));
        if !is_down || path.is_symlink() {
            return Err(CliError::Link {
                path: result.to_owned(),
                link: path,
                remedy,
            });
        }
    }
    Ok(())
}

/// Refuses links in a folder of results and in the folders in it. Names are not compared: two of them may be one file.
///
/// # Errors
/// [`CliError::Link`] with the first one, as [`refuse_links`]; [`CliError::Read`] for a folder that cannot be read.
pub fn refuse_links_in(folder: &Path, remedy: &'static str) -> Result<()> {
    let unread = |source| CliError::Read {
        path: folder.display().to_string(),
        source,
    };
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        files => files.map_err(unread)?,
    };
    for file in files {
        let file = file.map_err(unread)?;
        let (path, kind) = (file.path(), file.file_type().map_err(unread)?);
        if kind.is_symlink() {
            return Err(CliError::Link {
                path: folder.to_owned(),
                link: path,
                remedy,
            });
        }
        if kind.is_dir() {
            refuse_links_in(&path, remedy)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_on_the_way_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().join("target");
        let at = |name: &str| root.join(name);
        fs::create_dir_all(at("openvm/release")).expect("folders");
        fs::write(at("openvm/release/a.vmexe"), "").expect("written");
        fs::write(at("openvm/release/b"), "").expect("written");
        symlink(at("openvm/release/b"), at("openvm/release/a.commit.json")).expect("a link");
        symlink(at("openvm/release"), at("openvm/debug")).expect("a link");
        symlink("/nowhere", at("openvm/app.vk")).expect("a link");
        for name in [
            "openvm/app.pk",
            "openvm/release/a.vmexe",
            "openvm/new/a.vmexe",
        ] {
            refuse_links(&root, &at(name), "--out").expect(name);
        }
        for (name, link) in [
            ("openvm/app.vk", "openvm/app.vk"),
            ("openvm/debug/a.vmexe", "openvm/debug"),
            (
                "openvm/release/a.commit.json",
                "openvm/release/a.commit.json",
            ),
            ("../a", ".."),
        ] {
            let error = refuse_links(&root, &at(name), "--out").expect_err(name);
            let link = format!("{} is a link", at(link).display());
            assert!(error.to_string().contains(&link), "{error}");
        }
        // Links above the folder that the user named are the user's.
        symlink(&root, folder.path().join("own")).expect("a link");
        let own = folder.path().join("own");
        refuse_links(&own, &own.join("openvm/app.pk"), "--out").expect("the user's");
        let refused = |folder: &str, link: &str| {
            let error = refuse_links_in(&at(folder), "--out").expect_err(folder);
            let link = format!("{} is a link", at(link).display());
            assert!(error.to_string().contains(&link), "{error}");
        };
        refused("openvm/release", "openvm/release/a.commit.json");
        fs::create_dir_all(at("halo2/src/v2.0")).expect("folders");
        for folder in ["none", "halo2"] {
            refuse_links_in(&at(folder), "--out").expect(folder);
        }
        symlink("/nowhere", at("halo2/src/v2.0/Halo2Verifier.sol")).expect("a link");
        refused("halo2", "halo2/src/v2.0/Halo2Verifier.sol");
    }
}
