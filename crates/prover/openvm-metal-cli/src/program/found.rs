//! Configurations that are found beside a program: whether another user may have put them there.

use std::{
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use crate::error::{CliError, Result};

/// Write permission for users other than the owner and the group. New files of a user may be the group's to write, too.
const OTHERS_WRITE: u32 = 0o002;

/// Takes a configuration that was found if it is this user's, root's, or of the program's own owner, and not everybody can write it.
/// Another one decides extensions and parameters: a user of the same machine could have put it into a folder above the program.
///
/// # Errors
/// [`CliError::ForeignConfig`] with the reason; the system's error.
pub fn check(config: PathBuf, program: &Path) -> Result<PathBuf> {
    let data = |path: &Path| {
        fs::metadata(path).map_err(|source| CliError::Read {
            path: path.display().to_string(),
            source,
        })
    };
    let file = data(&config)?;
    // SAFETY: the call reads a number.
    let user = unsafe { libc::geteuid() };
    let owners = [user, 0, data(program)?.uid()];
    // Whoever made a link chose what it names. Its mode says nothing.
    let link = fs::symlink_metadata(&config).map_or(file.uid(), |link| link.uid());
    let reason = refusal(link, 0, owners).or_else(|| refusal(file.uid(), file.mode(), owners));
    match reason {
        Some(reason) => Err(CliError::ForeignConfig {
            path: config,
            reason,
        }),
        None => Ok(config),
    }
}

/// The reason why a file of this owner and mode is not taken.
fn refusal(owner: u32, mode: u32, owners: [u32; 3]) -> Option<String> {
    if !owners.contains(&owner) {
        return Some(format!(
            "it belongs to user {owner}, to whom the program does not belong"
        ));
    }
    let everybody = mode & OTHERS_WRITE != 0;
    everybody.then(|| format!("everybody may write it (mode {:04o})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_and_modes() {
        let owners = [1000, 0, 2000];
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
}
