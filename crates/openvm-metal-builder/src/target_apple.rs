//! Flattened source for Apple's run-time compiler.
//!
//! Includes of the crate's own headers are replaced by their text, everything else, macros and comments
//! included, stays as written. `#line` directives keep Apple's messages pointing at the original lines.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{error::BuildError, shim};

/// Flattens `file`; quoted and angled includes are looked up beside the including file and in `root`.
pub fn flatten(root: &Path, file: &Path) -> Result<String, BuildError> {
    let mut f = Flattener {
        root,
        once: HashSet::new(),
        out: String::new(),
    };
    f.out.push_str("#include <metal_stdlib>\n");
    f.file(file, 0)?;
    Ok(f.out)
}

struct Flattener<'a> {
    root: &'a Path,
    once: HashSet<PathBuf>,
    out: String,
}

/// Deeper nesting than this is a header that includes itself.
const MAX_DEPTH: usize = 64;

impl Flattener<'_> {
    fn file(&mut self, path: &Path, depth: usize) -> Result<(), BuildError> {
        let text = fs::read_to_string(path).map_err(|e| BuildError::io(path, e))?;
        self.text(path, &text, depth)
    }

    fn text(&mut self, path: &Path, text: &str, depth: usize) -> Result<(), BuildError> {
        let name = path
            .strip_prefix(self.root)
            .unwrap_or(path)
            .display()
            .to_string();
        self.out.push_str(&format!("#line 1 \"{name}\"\n"));
        for (n, line) in text.lines().enumerate() {
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            if directive.is_some_and(|d| d.starts_with("pragma once")) {
                self.out.push('\n');
                continue;
            }
            let target = directive
                .and_then(|d| d.strip_prefix("include"))
                .and_then(|d| included(d.trim()));
            let Some(target) = target else {
                self.out.push_str(line);
                self.out.push('\n');
                continue;
            };
            if target == shim::LANES_HEADER {
                if self.once.insert(PathBuf::from(target)) {
                    self.out.push_str("#line 1 \"lanes.h\"\n");
                    self.out.push_str(shim::text("lanes_scalar.h"));
                }
            } else {
                let near = path.parent().map(|d| d.join(target));
                let found = near
                    .into_iter()
                    .chain([self.root.join(target)])
                    .find(|p| p.is_file());
                let Some(found) = found else {
                    // Apple's own headers.
                    self.out.push_str(line);
                    self.out.push('\n');
                    continue;
                };
                let key = fs::canonicalize(&found).unwrap_or_else(|_| found.clone());
                let body = fs::read_to_string(&found).map_err(|e| BuildError::io(&found, e))?;
                let once = body.lines().any(|l| l.trim().starts_with("#pragma once"));
                if depth > MAX_DEPTH {
                    return Err(BuildError::Tool {
                        tool: "include".into(),
                        message: format!("{} includes itself", found.display()),
                    });
                }
                if !once || self.once.insert(key) {
                    self.text(&found, &body, depth + 1)?;
                }
            }
            self.out.push_str(&format!("#line {} \"{name}\"\n", n + 2));
        }
        Ok(())
    }
}

fn included(rest: &str) -> Option<&str> {
    let close = match rest.chars().next()? {
        '"' => '"',
        '<' => '>',
        _ => return None,
    };
    let body = &rest[1..];
    body.find(close).map(|end| &body[..end])
}
