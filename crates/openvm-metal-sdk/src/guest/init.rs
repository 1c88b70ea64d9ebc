//! A new guest that builds at once.

use std::{fs, path::Path};

use super::error::GuestError;

/// The files of a new guest and their contents; `NAME` stands for its name.
const FILES: [(&str, &str); 5] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("openvm.toml", include_str!("template/openvm.toml")),
    ("src/main.rs", include_str!("template/main.rs")),
    ("input.json", include_str!("template/input.json")),
    (".gitignore", "/target\n"),
];

/// Makes a guest's package in `folder`, which must not exist or be empty, named as its last component.
///
/// # Errors
/// If the name is none for a package, or the folder has something in it.
pub fn init(folder: &Path) -> Result<(), GuestError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(letters) {
        return Err(GuestError::Name(name.into_owned()));
    }
    let occupied =
        folder.exists() && fs::read_dir(folder).map_or(true, |mut files| files.next().is_some());
    if occupied {
        return Err(GuestError::Exists(folder.to_owned()));
    }
    for (file, contents) in FILES {
        let path = folder.join(file);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(GuestError::io(parent))?;
        }
        fs::write(&path, contents.replace("NAME", &name)).map_err(GuestError::io(&path))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        for name in ["/", "9lives", "a b", "é", "-x", "a.b"] {
            let path = std::env::temp_dir().join("openvm-metal-none").join(name);
            let result = init(&path);
            assert!(
                matches!(result, Err(GuestError::Name(_))),
                "{name}: {result:?}"
            );
        }
    }
}
