//! Errors of a build.

use std::{
    fmt,
    path::{Path, PathBuf},
};

/// One thing that is wrong with a kernel file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Original file.
    pub file: String,
    /// Original line, from 1; 0 if the finding is about the whole file.
    pub line: u32,
    /// Stable name of the rule, listed in `docs/reference/lint-rules.md`.
    pub rule: &'static str,
    /// Description of the fault.
    pub message: String,
    /// Remedy.
    pub remedy: &'static str,
}

impl Finding {
    /// With the file named from here instead of relative to `root`.
    pub(crate) fn below(mut self, root: &Path) -> Self {
        let file = root.join(&self.file);
        if file.is_file() {
            self.file = file.display().to_string();
        }
        self
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{}: {} [{}]; {}",
            self.file, self.line, self.message, self.rule, self.remedy
        )
    }
}

/// Errors of [`crate::Builder::build`] and of the run-time compilation functions.
#[derive(Debug)]
#[non_exhaustive]
pub enum BuildError {
    /// A file could not be read or written.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        source: std::io::Error,
    },
    /// No C++ compiler was found.
    NoCompiler {
        /// The programs that were tried.
        tried: Vec<String>,
    },
    /// The C++ compilers that are there are too old.
    OldCompiler {
        /// The first of them.
        program: String,
        /// First line of its `--version`.
        version: String,
        /// The major version that would do.
        oldest: u32,
    },
    /// A kernel breaks the rules of `docs/reference/lint-rules.md`.
    Rules(Vec<Finding>),
    /// Function constants without a value.
    FunctionConstants {
        /// The kernel file.
        file: PathBuf,
        /// Type, name and index of each.
        missing: Vec<String>,
    },
    /// The preprocessor or compiler rejected a kernel file; its messages name the original lines.
    Compile {
        /// The kernel file.
        file: PathBuf,
        /// Target that was compiled, for example `cpu x86-64-v4 lanes`.
        target: String,
        /// The compiler's messages.
        messages: String,
    },
    /// The compiler took more processor time than it was given.
    TooLong {
        /// The kernel file.
        file: PathBuf,
        /// Target that was compiled.
        target: String,
        /// Seconds that it was given.
        seconds: u32,
    },
    /// No unit has the name that the build script gives.
    UnknownUnit {
        /// The name.
        name: String,
        /// The folder of the kernels.
        folder: PathBuf,
    },
    /// A compiler or archiver could not be started or failed without messages.
    Tool {
        /// The program.
        tool: String,
        /// Description of the failure.
        message: String,
    },
    /// A wrong value of an environment variable of the builder.
    Environment {
        /// The name.
        variable: &'static str,
        /// The value.
        value: String,
        /// The values it can have.
        expected: &'static str,
    },
}

impl BuildError {
    /// With findings that name their files from here instead of relative to `root`.
    pub(crate) fn below(self, root: &Path) -> Self {
        match self {
            Self::Rules(findings) => {
                Self::Rules(findings.into_iter().map(|f| f.below(root)).collect())
            }
            other => other,
        }
    }

    pub(crate) fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::Io {
            path: path.into(),
            source,
        }
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => write!(f, "{}: {source}", path.display()),
            Self::NoCompiler { tried } => write!(
                f,
                "no C++ compiler found (tried {}); install clang (Debian/Ubuntu: `apt install clang`, macOS: \
                 `xcode-select --install`) or g++, or set OPENVM_METAL_CXX",
                tried.join(", ")
            ),
            Self::OldCompiler {
                program,
                version,
                oldest,
            } => write!(
                f,
                "{program} is too old ({version}): version {oldest} or newer of it is needed; install a newer one, or name one \
                 with OPENVM_METAL_CXX (clang 16 and g++ 12 are the oldest that work)"
            ),
            Self::Rules(findings) => {
                writeln!(f, "{} rule(s) for kernels broken:", findings.len())?;
                findings.iter().try_for_each(|x| writeln!(f, "{x}"))
            }
            Self::FunctionConstants { file, missing } => write!(
                f,
                "{}: function constants have no value: {}; give them with Toolchain::with_function_constant",
                file.display(),
                missing.join(", ")
            ),
            Self::Compile {
                file,
                target,
                messages,
            } => write!(f, "{} does not compile for {target}:\n{messages}", file.display()),
            Self::TooLong {
                file,
                target,
                seconds,
            } => write!(
                f,
                "{}: compiling for {target} took more than {seconds} s of processor time, the limit; raise it, or make the kernel smaller",
                file.display()
            ),
            Self::UnknownUnit { name, folder } => write!(
                f,
                "the build script names the unit '{name}', and there is no {}",
                folder.join(name).with_extension("metal").display()
            ),
            Self::Tool { tool, message } => write!(f, "{tool}: {message}"),
            Self::Environment {
                variable,
                value,
                expected,
            } => write!(f, "{variable}={value} is not understood; expected {expected}"),
        }
    }
}

impl std::error::Error for BuildError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
