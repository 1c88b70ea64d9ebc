//! Flags for rustc and cargo: openvm-build's settings, maps of paths, so that none of this machine's enters the
//! executable, and the flags of the user.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::{Path, PathBuf},
    process::Stdio,
};

use cargo_platform::{Cfg, Platform};
use openvm_build::RUSTC_TARGET;
use openvm_transpiler::openvm_platform::memory::TEXT_START;
use serde::Deserialize;

use super::{error::GuestError, toolchain::Toolchain};

/// Separates rustc's arguments in `CARGO_ENCODED_RUSTFLAGS`.
const SEPARATOR: char = '\x1f';

/// The variable in which cargo takes the flags of one target.
const TARGET_VARIABLE: &str = "CARGO_TARGET_RISCV32IM_RISC0_ZKVM_ELF_RUSTFLAGS";

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

/// The value of `CARGO_ENCODED_RUSTFLAGS`: maps of paths, openvm-build's settings, and more.
pub fn encoded_rust_flags(renamed: &[(PathBuf, &str)], more: &[String]) -> String {
    let rename =
        |(path, name): &(PathBuf, &str)| format!("--remap-path-prefix={}={name}", path.display());
    let mut flags: Vec<String> = renamed.iter().map(rename).collect();
    flags.extend(compiler_flags());
    flags.extend_from_slice(more);
    flags.join(&SEPARATOR.to_string())
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

/// Symbols, line tables and whole names of inlined functions for profiles and messages. They are flags and not settings of the profile because cargo hashes a profile
/// into the names of symbols, and so into the order of functions.
pub fn symbol_flags() -> [String; 4] {
    ["-C", "debuginfo=1", "-C", "strip=none"].map(String::from)
}

/// Names of this machine's paths in executables: cargo's downloads, the standard library, generated sources. The
/// wrapper of rustc adds the guest's workspace, which the standard library does not know: it is compiled once for all guests of
/// a target folder.
pub fn renamed_paths(
    cargo_home: &Path,
    sysroot: &Path,
    target_dir: &Path,
) -> Vec<(PathBuf, &'static str)> {
    let mut renamed = vec![(sysroot.to_owned(), "/rust")];
    // One folder for each registry, whose name depends on the registry's address.
    let mut registries: Vec<PathBuf> = std::fs::read_dir(cargo_home.join("registry/src"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    registries.sort();
    renamed.extend(registries.into_iter().map(|folder| (folder, "/registry")));
    renamed.push((cargo_home.join("git/checkouts"), "/git"));
    // rustc takes the last map that fits, and target folders may lie below the others.
    renamed.push((target_dir.to_owned(), "/target"));
    renamed
}

/// Flags of the user for the guest's compiler.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserFlags {
    /// The variables or the keys of the configuration that they are from.
    pub from: String,
    pub flags: Vec<String>,
}

/// The flags that cargo would take in `folder`, by its own order of precedence: `CARGO_ENCODED_RUSTFLAGS`, `RUSTFLAGS`, tables of
/// the target, `build.rustflags`.
///
/// # Errors
/// A configuration that cargo cannot read.
pub fn user_flags(
    toolchain: &Toolchain,
    folder: &Path,
    cargo_args: &[String],
) -> Result<UserFlags, GuestError> {
    let variable = |name: &str| std::env::var_os(name).map(OsString::into_string);
    let not_text = |name: &str| GuestError::Flags(format!("{name} is not UTF-8"));
    for (name, separator) in [("CARGO_ENCODED_RUSTFLAGS", SEPARATOR), ("RUSTFLAGS", ' ')] {
        if let Some(value) = variable(name) {
            let value = value.map_err(|_| not_text(name))?;
            return Ok(UserFlags {
                from: name.into(),
                flags: split(&value, separator),
            });
        }
    }
    let mut config = Config::read(toolchain, folder, cargo_args)?;
    let table = |name: &str, table: &mut Rustflags| match variable(name) {
        Some(value) => {
            let value = value.map_err(|_| not_text(name))?;
            table.0.extend(split(&value, ' '));
            Ok(())
        }
        None => Ok(()),
    };
    table(
        TARGET_VARIABLE,
        &mut config
            .target
            .entry(RUSTC_TARGET.into())
            .or_default()
            .rustflags,
    )?;
    table("CARGO_BUILD_RUSTFLAGS", &mut config.build.rustflags)?;
    config.flags(|| target_cfgs(toolchain))
}

fn split(value: &str, separator: char) -> Vec<String> {
    let parts = value.split(separator).map(str::trim);
    parts
        .filter(|part| !part.is_empty())
        .map(String::from)
        .collect()
}

/// The parts of cargo's configuration that have flags.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    build: Flags,
    target: BTreeMap<String, Flags>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Flags {
    rustflags: Rustflags,
}

/// A list, or one text with spaces between the flags.
#[derive(Default)]
struct Rustflags(Vec<String>);

impl<'de> Deserialize<'de> for Rustflags {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Either {
            List(Vec<String>),
            Text(String),
        }
        Ok(Self(match Either::deserialize(deserializer)? {
            Either::List(flags) => flags,
            Either::Text(text) => split(&text, ' '),
        }))
    }
}

impl Config {
    /// All files that cargo reads in `folder`, merged by cargo.
    fn read(
        toolchain: &Toolchain,
        folder: &Path,
        cargo_args: &[String],
    ) -> Result<Self, GuestError> {
        let output = toolchain
            .cargo()
            .args(config_arguments(cargo_args))
            .args(["-Z", "unstable-options", "config", "get"])
            .args(["--format", "json"])
            .env("RUSTC_BOOTSTRAP", "1")
            .current_dir(folder)
            .stderr(Stdio::piped())
            .output()
            .map_err(GuestError::NoRustup)?;
        if !output.status.success() {
            let reason = String::from_utf8_lossy(&output.stderr);
            return Err(GuestError::Flags(reason.trim().to_owned()));
        }
        serde_json::from_slice(&output.stdout)
            .map_err(|error| GuestError::Flags(format!("cargo's configuration: {error}")))
    }

    fn flags(
        self,
        cfgs: impl FnOnce() -> Result<Vec<Cfg>, GuestError>,
    ) -> Result<UserFlags, GuestError> {
        let mut found = UserFlags::default();
        let mut add = |key: String, flags: Vec<String>| {
            if !flags.is_empty() {
                let separator = if found.from.is_empty() { "" } else { ", " };
                found.from += &format!("{separator}{key}");
                found.flags.extend(flags);
            }
        };
        let (own, others): (Vec<_>, Vec<_>) = self
            .target
            .into_iter()
            .filter(|(_, table)| !table.rustflags.0.is_empty())
            .partition(|(name, _)| name == RUSTC_TARGET);
        let conditional: Vec<_> = others
            .into_iter()
            .filter(|(name, _)| name.starts_with("cfg("))
            .collect();
        for (name, table) in own {
            add(format!("target.{name}.rustflags"), table.rustflags.0);
        }
        if !conditional.is_empty() {
            let cfgs = cfgs()?;
            for (name, table) in conditional {
                let platform: Platform = name
                    .parse()
                    .map_err(|error| GuestError::Flags(format!("target.'{name}': {error}")))?;
                if platform.matches(RUSTC_TARGET, &cfgs) {
                    add(format!("target.'{name}'.rustflags"), table.rustflags.0);
                }
            }
        }
        if found.flags.is_empty() {
            found = UserFlags {
                flags: self.build.rustflags.0,
                from: "build.rustflags".into(),
            };
        }
        if found.flags.is_empty() {
            found.from.clear();
        }
        Ok(found)
    }
}

/// The `--config` arguments among arguments of cargo.
fn config_arguments(cargo_args: &[String]) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = cargo_args.iter().map(String::as_str);
    while let Some(argument) = rest.next() {
        if argument == "--config" {
            found.push(argument);
            found.extend(rest.next());
        } else if argument.starts_with("--config=") {
            found.push(argument);
        }
    }
    found
}

/// The configuration values of the guest's target.
fn target_cfgs(toolchain: &Toolchain) -> Result<Vec<Cfg>, GuestError> {
    let output = toolchain
        .rustc()
        .args(["--print", "cfg", "--target", RUSTC_TARGET])
        .output()
        .map_err(GuestError::NoRustup)?;
    let text = String::from_utf8_lossy(&output.stdout);
    // cargo leaves this one out, too: it depends on the profile.
    let lines = text.lines().filter(|line| *line != "debug_assertions");
    lines
        .map(|line| {
            line.parse()
                .map_err(|error| GuestError::Flags(format!("{line}: {error}")))
        })
        .collect()
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
        assert_eq!(flags, Some(OsStr::new(&encoded_rust_flags(&[], &[]))));
    }

    /// cargo's own order: tables of the target together, or else `build.rustflags`.
    #[test]
    fn flags_of_the_configuration() {
        let found = |json: &str| {
            let config: Config = serde_json::from_str(json).expect("JSON");
            let cfgs = || {
                let lines = ["target_os=\"zkvm\"", "panic=\"abort\""];
                Ok(lines.map(|line| line.parse().expect("a cfg")).to_vec())
            };
            let found = config.flags(cfgs).expect("flags");
            (found.from, found.flags.join(" "))
        };
        let nothing = (String::new(), String::new());
        assert_eq!(found("{}"), nothing);
        assert_eq!(
            found(
                r#"{"target": {"x86_64-unknown-linux-gnu": {"rustflags": ["-C", "x"], "linker": "ld"}}, "net": {"retry": 3}}"#
            ),
            nothing
        );
        let build = r#""build": {"rustflags": ["--cfg", "a"], "jobs": 3}"#;
        let a = ("build.rustflags".to_owned(), "--cfg a".to_owned());
        assert_eq!(found(&format!("{{{build}}}")), a);
        let other = r#""target": {"cfg(unix)": {"rustflags": "--cfg b"}}"#;
        assert_eq!(found(&format!("{{{build}, {other}}}")), a);
        let own = r#""target": {"cfg(target_os = \"zkvm\")": {"rustflags": "--cfg  b"},
            "riscv32im-risc0-zkvm-elf": {"rustflags": ["--cfg", "c d"]}}"#;
        assert_eq!(
            found(&format!("{{{build}, {own}}}")),
            (
                "target.riscv32im-risc0-zkvm-elf.rustflags, target.'cfg(target_os = \"zkvm\")'.rustflags".into(),
                "--cfg c d --cfg b".into()
            )
        );
    }

    #[test]
    fn configuration_arguments() {
        let args = ["-v", "--config", "a=1", "--offline", "--config=b=2"].map(String::from);
        assert_eq!(config_arguments(&args), ["--config", "a=1", "--config=b=2"]);
    }
}
