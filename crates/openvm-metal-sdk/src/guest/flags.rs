//! Flags for rustc and cargo: openvm-build's settings, and maps of paths, so that none of this machine's enters the
//! executable.

use std::path::{Path, PathBuf};

use openvm_build::RUSTC_TARGET;
use openvm_transpiler::openvm_platform::memory::TEXT_START;

/// Separates rustc's arguments in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: &str = "\x1f";

/// Arguments of cargo after `cargo`, the same as openvm-build's.
pub fn cargo_arguments() -> [&'static str; 7] {
    [
        "build",
        "--target",
        RUSTC_TARGET,
        "-Z",
        "build-std=alloc,core,proc_macro,panic_abort,std",
        "-Z",
        "build-std-features=compiler-builtins-mem",
    ]
}

/// The value of `CARGO_ENCODED_RUSTFLAGS`.
pub fn encoded_rust_flags(renamed: &[(PathBuf, &str)]) -> String {
    let rename =
        |(path, name): &(PathBuf, &str)| format!("--remap-path-prefix={}={name}", path.display());
    let mut flags: Vec<String> = renamed.iter().map(rename).collect();
    flags.extend(compiler_flags());
    flags.join(SEPARATOR)
}

/// Atomics become plain memory accesses, code starts where the virtual machine expects it, panics end the program.
fn compiler_flags() -> Vec<String> {
    let text = format!("link-arg=-Ttext=0x{TEXT_START:08X}");
    [
        "-C",
        "passes=lower-atomic",
        "-C",
        &text,
        "-C",
        "link-arg=--fatal-warnings",
        "-C",
        "panic=abort",
        "--cfg",
        "getrandom_backend=\"custom\"",
    ]
    .map(String::from)
    .to_vec()
}

/// What the paths of this machine are called in executables: the guest's workspace, cargo's downloads, the standard
/// library.
pub fn renamed_paths(
    workspace: &Path,
    cargo_home: &Path,
    sysroot: &Path,
) -> Vec<(PathBuf, &'static str)> {
    let mut renamed = vec![(sysroot.to_owned(), "/rust")];
    // One folder for each registry, whose name depends on the registry's address.
    let mut registries: Vec<PathBuf> = std::fs::read_dir(cargo_home.join("registry/src"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    registries.sort();
    renamed.extend(registries.into_iter().map(|folder| (folder, "/registry")));
    renamed.push((cargo_home.join("git/checkouts"), "/git"));
    // rustc takes the last map that fits, and the workspace may lie below any of the other folders.
    renamed.push((workspace.to_owned(), "/guest"));
    renamed
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    /// openvm-build 2.0.2 is where the settings come from.
    #[test]
    fn settings_are_those_of_openvm_build() {
        // The first two arguments are its toolchain and `build`.
        let theirs = openvm_build::cargo_command("build", &[]);
        let arguments: Vec<&OsStr> = theirs.get_args().skip(1).collect();
        assert_eq!(arguments, cargo_arguments());
        let flags = theirs
            .get_envs()
            .find(|(name, _)| *name == "CARGO_ENCODED_RUSTFLAGS")
            .and_then(|(_, value)| value);
        assert_eq!(flags, Some(OsStr::new(&encoded_rust_flags(&[]))));
    }
}
