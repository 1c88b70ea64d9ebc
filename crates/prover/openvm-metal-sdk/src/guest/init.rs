//! A new guest that builds at once, with a host program that runs and proves it.

use std::{fs, path::Path};

use super::error::GuestError;

/// The files of a new guest and their contents; `{NAME}` stands for its name, `{CRATE}` for that of its library.
const FILES: [(&str, &str); 6] = [
    ("Cargo.toml", include_str!("template/Cargo.toml.in")),
    ("openvm.toml", include_str!("template/openvm.toml")),
    ("src/lib.rs", include_str!("template/lib.rs")),
    ("src/main.rs", include_str!("template/main.rs")),
    ("input.json", include_str!("template/input.json")),
    (".gitignore", "target\n"),
];

/// The files of the host program; `{SDK}` stands for the folder of the crate `openvm-metal-sdk`.
const HOST_FILES: [(&str, &str); 2] = [
    (
        "host/Cargo.toml",
        include_str!("template/host/Cargo.toml.in"),
    ),
    ("host/src/main.rs", include_str!("template/host/main.rs")),
];

/// Rust's keywords of all editions, and those that are reserved.
const KEYWORDS: [&str; 53] = [
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield", "_",
];

/// Crates that every guest is compiled with.
const LIBRARIES: [&str; 10] = [
    "alloc",
    "compiler_builtins",
    "core",
    "openvm",
    "openvm_metal_sdk",
    "panic_abort",
    "panic_unwind",
    "proc_macro",
    "std",
    "test",
];

/// Folders of cargo's, in which programs lie.
const CARGO_FOLDERS: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Makes a guest's package in `folder`, which must not exist or be empty, named as its last component. With the folder of the
/// crate `openvm-metal-sdk`, a host program is made with it.
///
/// # Errors
/// Fails if the name is none for a package, the folder has something in it, or `sdk` is not that crate.
pub fn init(folder: &Path, sdk: Option<&Path>) -> Result<(), GuestError> {
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    check_name(&name).map_err(|reason| GuestError::Name {
        name: name.to_string(),
        reason,
    })?;
    let occupied =
        folder.exists() && fs::read_dir(folder).map_or(true, |mut files| files.next().is_some());
    if occupied {
        return Err(GuestError::Exists(folder.to_owned()));
    }
    let sdk = sdk.map(|sdk| sdk.canonicalize().map_err(GuestError::io(sdk)));
    let sdk = sdk.transpose()?;
    let path = sdk.as_ref().map(|sdk| sdk.display().to_string());
    // TOML's basic strings take a backslash for an escape.
    let path = path
        .unwrap_or_default()
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    let host = HOST_FILES.iter().filter(|_| sdk.is_some());
    for (file, contents) in FILES.iter().chain(host) {
        let contents = contents
            .replace("{NAME}", &name)
            .replace("{CRATE}", &name.replace('-', "_"))
            .replace("{SDK}", &path);
        write(&folder.join(file), contents.as_bytes())?;
    }
    // Versions of dependencies that the SDK was tested with.
    let lock = sdk.and_then(|sdk| fs::read(sdk.join("../../../Cargo.lock")).ok());
    match lock {
        Some(lock) => write(&folder.join("host/Cargo.lock"), &lock),
        None => Ok(()),
    }
}

fn write(path: &Path, contents: &[u8]) -> Result<(), GuestError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(GuestError::io(parent))?;
    }
    fs::write(path, contents).map_err(GuestError::io(path))
}

/// Says why a name is none for a package with a library and a program.
fn check_name(name: &str) -> Result<(), &'static str> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(letters) {
        return Err("it takes letters (a to z), digits, `-` and `_`, a letter first");
    }
    if KEYWORDS.contains(&name) {
        return Err("it is a keyword of Rust");
    }
    if LIBRARIES.contains(&&*name.replace('-', "_")) {
        return Err("a crate of this name belongs to every guest");
    }
    if CARGO_FOLDERS.contains(&name) {
        return Err("cargo has a folder of this name where programs lie");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let bad = [
            "/",
            "9lives",
            "a b",
            "é",
            "-x",
            "a.b",
            "_",
            "build",
            "deps",
            "test",
            "core",
            "std",
            "fn",
            "self",
            "gen",
            "openvm",
            "proc-macro",
            "proc_macro",
            "panic-abort",
        ];
        for name in bad {
            let path = std::env::temp_dir().join("openvm-metal-none").join(name);
            let result = init(&path, None);
            assert!(
                matches!(result, Err(GuestError::Name { .. })),
                "{name}: {result:?}"
            );
        }
        for name in [
            "squares", "a", "A-1", "x_y", "builder", "tests", "openvm-2", "serde", "main",
        ] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
    }

    /// A name that holds the words of the template stays as it is.
    #[test]
    fn names_are_not_templates() {
        let parent = tempfile::tempdir().expect("a folder");
        let folder = parent.path().join("SDK-NAME-CRATE");
        init(&folder, None).expect("a guest");
        let package = fs::read_to_string(folder.join("Cargo.toml")).expect("a package");
        assert!(package.contains("name = \"SDK-NAME-CRATE\""), "{package}");
    }
}
