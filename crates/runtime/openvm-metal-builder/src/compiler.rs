//! Finding and running the C++ compiler.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
    time::{Duration, Instant},
};

use crate::error::BuildError;

/// Family of options that a compiler understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompilerKind {
    /// clang++: CPU objects, PTX and lint.
    Clang,
    /// g++: CPU objects.
    Gcc,
}

/// A C++ compiler that was found.
#[derive(Clone, Debug)]
pub struct Compiler {
    /// Program name or path.
    pub program: String,
    /// Family.
    pub kind: CompilerKind,
    /// First line of `--version`.
    pub version: String,
    /// The major version; 0 if the line names none.
    pub major: u32,
    /// True if it is Apple's clang, which has no NVPTX target.
    pub apple: bool,
    /// Most seconds of processor time of one run.
    limit: Option<u32>,
    /// Asked for once: a process of its own for every object would be felt.
    resource: OnceLock<Option<PathBuf>>,
}

/// The first clang with vectors of `bool`, and with `_Float16` and `__bf16` on every x86-64.
pub const OLDEST_CLANG: u32 = 16;
/// Apple counts its releases apart: 15 is LLVM 16.
pub const OLDEST_APPLE_CLANG: u32 = 15;
/// The first g++ with `_Float16` and all of C++20 that the kernels use.
pub const OLDEST_GCC: u32 = 12;

impl Compiler {
    /// `OPENVM_METAL_CXX` if set, else `clang++-21` to `clang++-16`, `clang++`, `g++`, `c++`, `g++-15` to `g++-12`: the first that is new enough.
    ///
    /// # Errors
    /// [`BuildError::NoCompiler`] if there is none, [`BuildError::OldCompiler`] if those that are there are too old.
    pub fn find() -> Result<Self, BuildError> {
        let named = env::var("OPENVM_METAL_CXX").ok().filter(|p| !p.is_empty());
        Self::first(named.map_or_else(Self::usual, |p| vec![p]))
    }

    fn usual() -> Vec<String> {
        let clang = (OLDEST_CLANG..=21).rev().map(|v| format!("clang++-{v}"));
        let mut tried: Vec<String> = clang.collect();
        tried.extend(["clang++", "g++", "c++"].map(String::from));
        tried.extend((OLDEST_GCC..=15).rev().map(|v| format!("g++-{v}")));
        // Homebrew's clang can emit PTX, Apple's cannot.
        if cfg!(target_os = "macos") {
            tried.insert(0, "/opt/homebrew/opt/llvm/bin/clang++".into());
        }
        tried
    }

    fn first(tried: Vec<String>) -> Result<Self, BuildError> {
        let mut old = None;
        for c in tried.iter().filter_map(|p| Self::probe(p)) {
            // A version line without a number is taken on trust.
            if c.major == 0 || c.major >= c.oldest() {
                return Ok(c);
            }
            old.get_or_insert(BuildError::OldCompiler {
                oldest: c.oldest(),
                program: c.program,
                version: c.version,
            });
        }
        Err(old.unwrap_or(BuildError::NoCompiler { tried }))
    }

    fn oldest(&self) -> u32 {
        match self.kind {
            CompilerKind::Clang if self.apple => OLDEST_APPLE_CLANG,
            CompilerKind::Clang => OLDEST_CLANG,
            CompilerKind::Gcc => OLDEST_GCC,
        }
    }

    fn probe(program: &str) -> Option<Self> {
        let out = Command::new(program).arg("--version").output().ok()?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        let version = text.lines().next().unwrap_or_default().to_string();
        let clang = text.contains("clang");
        let gcc = text.contains("g++") || text.contains("GCC") || text.contains("Free Software");
        let kind = match (clang, gcc) {
            (true, _) => CompilerKind::Clang,
            (false, true) => CompilerKind::Gcc,
            _ => return None,
        };
        out.status.success().then(|| Self {
            program: program.into(),
            kind,
            apple: version.contains("Apple"),
            major: major(&version, kind),
            version,
            limit: None,
            resource: OnceLock::new(),
        })
    }

    /// Ends runs that take more than so many seconds (at least 1) of processor time with [`BuildError::TooLong`]. Systems that
    /// are not Unix have no such limit.
    pub fn limited(mut self, seconds: u32) -> Self {
        self.limit = Some(seconds.max(1));
        self
    }

    /// The compiler, under its limit.
    fn command(&self) -> Command {
        let Some(seconds) = self.limit.filter(|_| cfg!(unix)) else {
            return Command::new(&self.program);
        };
        // What the compiler starts has the limit too. Its messages are read, so they must be in English.
        let mut command = Command::new("/bin/sh");
        let script = "ulimit -S -t \"$0\"; exec \"$@\"";
        command.args(["-c", script, &seconds.to_string(), &self.program]);
        command.env("LC_ALL", "C");
        if self.is_clang() {
            command.arg("-fno-crash-diagnostics");
        }
        command
    }

    /// True for clang.
    pub fn is_clang(&self) -> bool {
        self.kind == CompilerKind::Clang
    }

    /// Folder of the compiler's own headers (`stdint.h` for freestanding targets); clang only.
    pub fn resource_include(&self) -> Option<PathBuf> {
        let ask = || {
            let mut command = Command::new(&self.program);
            let out = command.arg("-print-resource-dir").output().ok()?;
            let dir = String::from_utf8_lossy(&out.stdout).trim().to_string();
            (out.status.success() && !dir.is_empty()).then(|| Path::new(&dir).join("include"))
        };
        self.resource.get_or_init(ask).clone()
    }

    /// Runs the compiler and gives its output, or its messages as an error about `file`.
    pub fn run(&self, args: &[String], file: &Path, target: &str) -> Result<Output, BuildError> {
        let mut command = self.command();
        let start = Instant::now();
        let out = command.args(args).output().map_err(|e| BuildError::Tool {
            tool: self.program.clone(),
            message: e.to_string(),
        })?;
        if out.status.success() {
            return Ok(out);
        }
        let took = start.elapsed();
        if let Some(seconds) = self.limit.filter(|&seconds| ran_out(&out, took, seconds)) {
            return Err(BuildError::TooLong {
                file: file.to_path_buf(),
                target: target.to_string(),
                seconds,
            });
        }
        let messages = String::from_utf8_lossy(&out.stderr).into_owned();
        Err(BuildError::Compile {
            file: file.to_path_buf(),
            target: target.to_string(),
            messages: if messages.is_empty() {
                format!("{} ended with {}", self.program, out.status)
            } else {
                messages
            },
        })
    }
}

/// True if a run was ended for its processor time, itself or a process that it started. A compiler that handles the signal may crash
/// in that: clang writes a stack trace first, and now and then that fails. Signals that others send to stop it are none of these.
fn ran_out(out: &Output, took: Duration, seconds: u32) -> bool {
    #[cfg(unix)]
    match std::os::unix::process::ExitStatusExt::signal(&out.status) {
        // SIGXCPU on Linux and macOS.
        Some(24) => return true,
        // SIGILL, SIGTRAP, SIGABRT, SIGBUS (7 on Linux, 10 on macOS), SIGSEGV.
        Some(4 | 5 | 6 | 7 | 10 | 11) if took >= Duration::from_secs(seconds.into()) => {
            return true;
        }
        _ => {}
    }
    String::from_utf8_lossy(&out.stderr).contains("ime limit exceeded")
}

/// `19` of `Debian clang version 19.1.7 (3)`, `12` of `g++ (Debian 12.2.0-14) 12.2.0`; 0 if there is none.
fn major(version: &str, kind: CompilerKind) -> u32 {
    let number = match kind {
        CompilerKind::Clang => version.split("version ").nth(1),
        CompilerKind::Gcc => version.rsplit(") ").next(),
    };
    let digits = number
        .unwrap_or_default()
        .split(|c: char| !c.is_ascii_digit());
    digits
        .into_iter()
        .next()
        .and_then(|d| d.parse().ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn major_versions() {
        use CompilerKind::{Clang, Gcc};
        for (line, kind, want) in [
            ("Debian clang version 19.1.7 (3~deb12u1)", Clang, 19),
            ("Ubuntu clang version 14.0.0-1ubuntu1.1", Clang, 14),
            ("Apple clang version 15.0.0 (clang-1500.3.9.4)", Clang, 15),
            (
                "clang version 20.1.0 (https://github.com/llvm/llvm-project 24a30da)",
                Clang,
                20,
            ),
            ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", Gcc, 12),
            ("g++-9 (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0", Gcc, 9),
            ("c++ (GCC) 14.2.1 20250110 (Red Hat 14.2.1-7)", Gcc, 14),
            ("clang of our own", Clang, 0),
        ] {
            assert_eq!(major(line, kind), want, "{line}");
        }
    }

    /// A program that says what a compiler of that version says.
    #[cfg(unix)]
    fn imitation(folder: &Path, name: &str, line: &str) -> String {
        use std::os::unix::fs::PermissionsExt;
        let path = folder.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho '{line}'\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.display().to_string()
    }

    #[test]
    #[cfg(unix)]
    fn a_run_over_its_limit_is_ended() {
        let compiler = Compiler::find().unwrap().limited(1);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("long.cpp");
        // Evaluated by the compiler, for as long as it is let.
        let text = "constexpr unsigned long f(unsigned long n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n\
                    static_assert(f(60) != 1, \"\");\n";
        std::fs::write(&file, text).unwrap();
        let more = match compiler.kind {
            CompilerKind::Clang => "-fconstexpr-steps=2147483647",
            CompilerKind::Gcc => "-fconstexpr-ops-limit=2147483647",
        };
        let source = file.display().to_string();
        let args = [more, "-fsyntax-only", &source].map(String::from);
        let result = compiler.run(&args, &file, "a test");
        assert!(
            matches!(&result, Err(BuildError::TooLong { seconds: 1, .. })),
            "{result:?}"
        );
        std::fs::write(&file, "int x;").unwrap();
        assert!(compiler.run(&args, &file, "a test").is_ok());
    }

    #[test]
    #[cfg(unix)]
    fn old_compilers_are_passed_over_and_named() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = temporary.path();
        let old = imitation(folder, "old", "Ubuntu clang version 14.0.0-1ubuntu1.1");
        let gcc = imitation(folder, "gcc", "g++ (Debian 12.2.0-14) 12.2.0");
        let found = Compiler::first(vec![old.clone(), gcc.clone()]).unwrap();
        assert_eq!((found.program, found.major), (gcc, 12));
        let error = Compiler::first(vec![old.clone()]).unwrap_err().to_string();
        assert!(
            error.contains("version 14.0.0") && error.contains("16 or newer"),
            "{error}"
        );
        let missing = folder.join("missing").display().to_string();
        assert!(matches!(
            Compiler::first(vec![missing]),
            Err(BuildError::NoCompiler { .. })
        ));
    }
}
