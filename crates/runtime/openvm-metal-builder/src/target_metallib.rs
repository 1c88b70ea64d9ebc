//! Metal libraries made while building, with Apple's command-line tools where the build machine has them.
//!
//! A program that embeds them starts without the run-time compiler. They are optional: the flattened source
//! is embedded too, and what is compiled here is that very text, one library per unit.

use std::{
    env,
    path::Path,
    process::{Command, Output},
};

use crate::{cache, error::BuildError};

/// Environment variable: `0` never, `1` always (an error without the tools), else on a Mac that has them.
pub const VARIABLE: &str = "OPENVM_METAL_BUILD_METALLIB";

/// Metal 3.0 came with this version of macOS.
const OLDEST_MACOS: &str = "13.0";

/// Choice of making libraries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetallibChoice {
    /// If this is a Mac that has the tools and builds for Macs.
    IfPossible,
    /// No.
    Never,
    /// Yes; without the tools, or if they refuse a unit, the build fails.
    Always,
}

impl MetallibChoice {
    /// The choice in [`VARIABLE`].
    ///
    /// # Errors
    /// [`BuildError::Environment`] for another value.
    pub fn from_env() -> Result<Self, BuildError> {
        let value = env::var(VARIABLE).unwrap_or_default();
        match value.as_str() {
            "" => Ok(Self::IfPossible),
            "0" => Ok(Self::Never),
            "1" => Ok(Self::Always),
            _ => Err(BuildError::Environment {
                variable: VARIABLE,
                value,
                expected: "0 or 1",
            }),
        }
    }
}

/// Apple's Metal compiler, reached through `xcrun`.
#[derive(Clone, Debug)]
pub struct AppleTools {
    /// First line of `metal --version`.
    pub version: String,
    required: bool,
}

impl AppleTools {
    /// Looks for the tools. `mac`: this machine is a Mac and the program will run on one.
    ///
    /// # Errors
    /// [`BuildError::Tool`] if they are wanted in any case and missing. Xcode 26 has `xcrun metal`, but no
    /// compiler behind it until that is downloaded, so it is run, not only looked for.
    pub fn find(choice: MetallibChoice, mac: bool) -> Result<Option<Self>, BuildError> {
        if choice == MetallibChoice::Never || (choice == MetallibChoice::IfPossible && !mac) {
            return Ok(None);
        }
        let required = choice == MetallibChoice::Always;
        let found = xcrun(&["metal", "--version"]).and_then(|out| {
            let text = String::from_utf8_lossy(&out.stdout).into_owned();
            checked(out).map(|()| text.lines().next().unwrap_or_default().to_owned())
        });
        match found {
            Ok(version) => Ok(Some(Self { version, required })),
            Err(message) if required => Err(BuildError::Tool {
                tool: "xcrun metal".into(),
                message: format!("{message} ({VARIABLE}=1 asks for it)"),
            }),
            Err(_) => Ok(None),
        }
    }

    /// Compiles the flattened source `msl` of `unit` to the library `output`, unless nothing changed.
    /// False, with a warning to cargo, if the tools refuse it and are not required.
    ///
    /// # Errors
    /// [`BuildError::Compile`] with the messages if they are required.
    pub fn library(&self, unit: &str, msl: &Path, output: &Path) -> Result<bool, BuildError> {
        let text = std::fs::read_to_string(msl).map_err(|e| BuildError::io(msl, e))?;
        let air = output.with_extension("air");
        let (msl_name, air_name) = (msl.display().to_string(), air.display().to_string());
        let minimum = format!("-mmacosx-version-min={OLDEST_MACOS}");
        let compile = [
            "metal",
            "-std=metal3.0",
            &minimum,
            "-O2",
            // As the run-time compiler is told.
            "-fno-fast-math",
            "-c",
            &msl_name,
            "-o",
            &air_name,
        ];
        let key = cache::hash(&[&self.version, &compile.join("\n"), &text]);
        let name = output.display().to_string();
        let made = cache::cached(output, &key, || {
            let run = |args: &[&str]| {
                let messages = xcrun(args).and_then(checked);
                messages.map_err(|messages| BuildError::Compile {
                    file: unit.into(),
                    target: "a Metal library".into(),
                    messages,
                })
            };
            run(&compile)?;
            run(&["metallib", &air_name, "-o", &name])
        });
        match made {
            Ok(()) => Ok(true),
            Err(error @ BuildError::Compile { .. }) if !self.required => {
                for line in error.to_string().lines().take(8) {
                    println!("cargo:warning={line}");
                }
                println!("cargo:warning=unit {unit} will be compiled when a program starts");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

fn xcrun(args: &[&str]) -> Result<Output, String> {
    let mut command = Command::new("xcrun");
    command.args(["-sdk", "macosx"]).args(args);
    command.output().map_err(|error| error.to_string())
}

/// The printed text as an error, if the command failed.
fn checked(out: Output) -> Result<(), String> {
    if out.status.success() {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&out.stderr).trim().to_owned();
    Err(match text.is_empty() {
        true => format!("ended with {}", out.status),
        false => text,
    })
}
