//! Finding and running the C++ compiler.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use crate::error::BuildError;

/// Which family of options a compiler understands.
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
    /// True if it is Apple's clang, which has no NVPTX target.
    pub apple: bool,
    /// Asked for once: a process of its own for every object would be felt.
    resource: OnceLock<Option<PathBuf>>,
}

impl Compiler {
    /// `OPENVM_METAL_CXX` if set, else `clang++-19` to `clang++-14`, `clang++`, `g++`, `c++`.
    pub fn find() -> Result<Self, BuildError> {
        if let Some(p) = env::var("OPENVM_METAL_CXX").ok().filter(|p| !p.is_empty()) {
            return Self::probe(&p).ok_or(BuildError::NoCompiler { tried: vec![p] });
        }
        let mut tried: Vec<String> = (14..=21).rev().map(|v| format!("clang++-{v}")).collect();
        tried.extend(["clang++", "g++", "c++"].map(String::from));
        // Homebrew's clang can emit PTX, Apple's cannot.
        if cfg!(target_os = "macos") {
            tried.insert(0, "/opt/homebrew/opt/llvm/bin/clang++".into());
        }
        match tried.iter().find_map(|p| Self::probe(p)) {
            Some(c) => Ok(c),
            None => Err(BuildError::NoCompiler { tried }),
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
            version,
            resource: OnceLock::new(),
        })
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
        let out = Command::new(&self.program)
            .args(args)
            .output()
            .map_err(|e| BuildError::Tool {
                tool: self.program.clone(),
                message: e.to_string(),
            })?;
        if out.status.success() {
            return Ok(out);
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
