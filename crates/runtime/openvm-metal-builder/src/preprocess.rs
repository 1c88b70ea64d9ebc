//! Expands the macros of a flattened file with the C++ compiler's preprocessor.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cache,
    codegen_cpp::Flavour,
    compiler::Compiler,
    directive,
    error::{BuildError, Finding},
    flatten::{self, Flat, SYSTEM_INCLUDE},
    lexer::Tokens,
    macros::Values,
    shim::write_if_changed,
};

/// Version of the language that `__METAL_VERSION__` announces where nothing else is said: Metal 3.0, as Apple's compiler
/// is told.
pub const METAL_VERSION: u32 = 300;

/// A preprocessed file.
pub struct Preprocessed {
    /// The tokens; comments are in the text and belong to the tokens behind them.
    pub tokens: Tokens,
    /// Every file that went into it, the main file first.
    pub files: Vec<PathBuf>,
    /// Findings for forbidden conditions of the file.
    pub findings: Vec<Finding>,
}

/// A source to preprocess.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whose preprocessor.
    pub compiler: &'a Compiler,
    /// Folder for includes, besides the folder of the including file.
    pub root: &'a Path,
    /// The file.
    pub file: &'a Path,
    /// `__METAL_VERSION__`
    pub metal_version: u32,
    /// Folder for results, which later calls use again.
    pub folder: &'a Path,
}

impl Flavour {
    /// Values of the macros that targets differ by.
    pub fn values(self) -> Values {
        Values {
            lane_width: if let Self::Lanes(w) = self { w } else { 1 },
            host: !matches!(self, Self::Ptx | Self::Lint),
            ptx: self == Self::Ptx,
        }
    }
}

/// The text of a flavour: Apple's, unless the flavour is of vectors of threads or the file names a macro whose value
/// differs.
///
/// # Errors
/// [`BuildError::Io`]; [`BuildError::Compile`] with the preprocessor's messages.
pub fn preprocess(request: Request<'_>, flavour: Flavour) -> Result<Preprocessed, BuildError> {
    let flat = flatten::flatten(request.root, request.file)?;
    let differs = flavour.values().lane_width > 1
        || directive::mentions(&flat.text, &["MSL_HOST", "MSL_PTX"]);
    let values = if differs {
        flavour.values()
    } else {
        Values::APPLE
    };
    expand(request, flat, values)
}

/// The text that Apple's compiler gets, still with comments.
///
/// # Errors
/// As [`preprocess`].
pub fn apple(request: Request<'_>) -> Result<Preprocessed, BuildError> {
    let flat = flatten::flatten(request.root, request.file)?;
    expand(request, flat, Values::APPLE)
}

fn expand(request: Request<'_>, flat: Flat, values: Values) -> Result<Preprocessed, BuildError> {
    let mut args: Vec<String> = [
        "-E",
        "-C",
        "-x",
        "c++",
        "-std=c++17",
        "-nostdinc",
        "-undef",
        "-Wundef",
    ]
    .map(String::from)
    .to_vec();
    args.extend(values.defines(request.metal_version));
    let path = request.folder.join(values.tag());
    let (source, output) = (path.with_extension("flat"), path.with_extension("ii"));
    args.push(source.display().to_string());
    let key = cache::hash(&[&request.compiler.version, &args.join("\n"), &flat.text]);
    let warnings = path.with_extension("warnings");
    cache::cached(&output, &key, || {
        write_if_changed(&source, &flat.text)?;
        let out = request
            .compiler
            .run(&args, request.file, "the preprocessor")?;
        let text = finished(&String::from_utf8_lossy(&out.stdout));
        write_if_changed(&warnings, &String::from_utf8_lossy(&out.stderr))?;
        write_if_changed(&output, &text)
    })?;
    let read = |path: &Path| fs::read_to_string(path).map_err(|e| BuildError::io(path, e));
    let mut findings = flat.findings;
    for found in undefined(&read(&warnings)?) {
        let known = |f: &Finding| (&f.file, f.line) == (&found.file, found.line);
        if !findings.iter().any(known) {
            findings.push(found);
        }
    }
    Ok(Preprocessed {
        tokens: Tokens::new(read(&output)?),
        files: flat.files,
        findings,
    })
}

/// The preprocessor's text with `#line` for its line markers, and Apple's headers included again.
fn finished(raw: &str) -> String {
    let mut out = String::with_capacity(raw.len());
    for line in raw.lines() {
        if let Some((number, name)) = marker(line) {
            // The flattened file itself, and what compilers define, have no lines.
            if number > 0 && !name.starts_with('<') && !name.ends_with(".flat") {
                out.push_str(&format!("#line {number} \"{name}\"\n"));
            }
            continue;
        }
        match line.trim_start().strip_prefix(SYSTEM_INCLUDE) {
            Some(header) => out.push_str(&format!("#include {header}\n")),
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

/// Line and file of `# 12 "file" 2`.
fn marker(line: &str) -> Option<(u32, &str)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    let name = rest.strip_prefix('"')?;
    Some((number.parse().ok()?, &name[..name.find('"')?]))
}

/// Conditions on macros that have no value where they are asked for.
fn undefined(messages: &str) -> Vec<Finding> {
    let mut out = Vec::new();
    for line in messages.lines() {
        let (Some((place, message)), true) =
            (line.split_once(": warning: "), line.contains("[-Wundef]"))
        else {
            continue;
        };
        let mut parts = place.rsplitn(3, ':');
        let (_, number, file) = (parts.next(), parts.next(), parts.next());
        let name = message.split(['\'', '"']).nth(1).unwrap_or("?");
        out.push(Finding {
            file: file.unwrap_or(place).to_string(),
            line: number.and_then(|l| l.parse().ok()).unwrap_or(0),
            rule: "target-macro",
            message: format!("`{name}` is not defined where a condition asks for it"),
            remedy: "define it above, or ask `defined(NAME)`",
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markers_become_lines() {
        let raw = "# 1 \"/x/apple.flat\"\n# 1 \"<built-in>\" 1\n# 0 \"a.h\"\n# 1 \"a.h\" 2\n#pragma msl_include <metal_stdlib>\nint a;\n# b\n";
        assert_eq!(
            finished(raw),
            "#line 1 \"a.h\"\n#include <metal_stdlib>\nint a;\n# b\n"
        );
    }

    #[test]
    fn warnings_of_both_compilers_are_read() {
        for message in [
            "a/b.h:3:5: warning: 'FOO' is not defined, evaluates to 0 [-Wundef]",
            "a/b.h:3:5: warning: \"FOO\" is not defined, evaluates to 0 [-Wundef]",
        ] {
            let found = undefined(message);
            assert_eq!(found.len(), 1);
            assert_eq!((found[0].file.as_str(), found[0].line), ("a/b.h", 3));
            assert!(found[0].message.contains("`FOO`"), "{}", found[0].message);
        }
        assert!(undefined("a.h:1:1: warning: extra tokens [-Wextra]").is_empty());
    }
}
