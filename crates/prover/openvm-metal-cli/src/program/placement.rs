//! Places of results in a guest's folder. The folder may be a stranger's, who made links in it to files of the user's.

use std::{
    fs,
    path::{Component, Path, PathBuf},
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

/// The results of a program in a folder that [`refuse_links`] refuses: files of its name that are links.
pub fn linked_results(folder: &Path, program: &str) -> Vec<PathBuf> {
    let is_result = |file: &fs::DirEntry| {
        let name = file.file_name().to_string_lossy().into_owned();
        let end = name.strip_prefix(program);
        end.is_some_and(|end| end.starts_with('.')) && file.path().is_symlink()
    };
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    files.filter(is_result).map(|file| file.path()).collect()
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
        let linked = linked_results(&at("openvm/release"), "a");
        assert_eq!(linked, [at("openvm/release/a.commit.json")]);
        assert!(linked_results(&at("none"), "a").is_empty());
    }
}
