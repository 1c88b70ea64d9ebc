//! One file of a unit: the crate's own headers inlined, and what its conditions ask for.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    directive::{
        ends_in_comment, identifiers, include_guard, included, split_word, without_comments,
    },
    error::{BuildError, Finding},
    macros, shim,
};

/// A file with its own headers inlined and `#line` before each part; nothing is expanded yet.
pub struct Flat {
    /// The text; includes of Apple's headers are `#pragma msl_include`, which preprocessors leave alone.
    pub text: String,
    /// Every file that went into it, the main file first.
    pub files: Vec<PathBuf>,
    /// Conditions that not every target answers alike, and headers that are included under a condition.
    pub findings: Vec<Finding>,
}

/// Before an include of one of Apple's headers until the text is preprocessed.
pub(crate) const SYSTEM_INCLUDE: &str = "#pragma msl_include ";

/// Inlines the headers of `file`; quoted and angled includes are looked up beside the including file and in `root`.
/// Files are named relative to `root`, also outside of it: the text holds no path of the machine that built it.
///
/// # Errors
/// [`BuildError::Io`]; [`BuildError::Tool`] for a header that includes itself.
pub fn flatten(root: &Path, file: &Path) -> Result<Flat, BuildError> {
    let mut f = Flattener {
        root,
        canonical_root: fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf()),
        once: HashSet::new(),
        guards: 0,
        conditions: 0,
        defined: HashSet::new(),
        asked: Vec::new(),
        out: Flat {
            text: String::new(),
            files: Vec::new(),
            findings: Vec::new(),
        },
    };
    let text = read(file)?;
    f.text(file, &text, 0)?;
    f.judge();
    Ok(f.out)
}

/// A macro in a condition.
struct Asked {
    name: String,
    file: String,
    line: u32,
    /// By `#ifdef` or `defined`: whether there is a definition, not its value.
    existence: bool,
}

struct Flattener<'a> {
    root: &'a Path,
    canonical_root: PathBuf,
    once: HashSet<PathBuf>,
    guards: usize,
    /// Conditions that are open here, include guards not counted.
    conditions: usize,
    defined: HashSet<String>,
    asked: Vec<Asked>,
    out: Flat,
}

/// Deeper nesting than this is a header that includes itself.
const MAX_DEPTH: usize = 64;

fn read(path: &Path) -> Result<String, BuildError> {
    fs::read_to_string(path).map_err(|e| BuildError::io(path, e))
}

impl Flattener<'_> {
    /// The path from the root, with `/`; the file's name alone if they share no folder.
    fn name(&self, path: &Path) -> String {
        let whole = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        let mut shared = self.canonical_root.as_path();
        let mut up = 0;
        let below = loop {
            match (whole.strip_prefix(shared), shared.parent()) {
                (Ok(below), _) => break below,
                (Err(_), Some(parent)) if parent.parent().is_some() => {
                    (shared, up) = (parent, up + 1);
                }
                (Err(_), _) => {
                    up = 0;
                    break Path::new(path.file_name().unwrap_or(path.as_os_str()));
                }
            }
        };
        let name = "../".repeat(up) + &below.display().to_string();
        name.replace('\\', "/")
    }

    fn text(&mut self, path: &Path, text: &str, depth: usize) -> Result<(), BuildError> {
        let name = self.name(path);
        if !self.out.files.iter().any(|f| f == path) {
            self.out.files.push(path.to_path_buf());
        }
        let conditions = self.conditions;
        self.lines(path, &name, text, depth)?;
        self.conditions = conditions;
        Ok(())
    }

    fn lines(
        &mut self,
        path: &Path,
        name: &str,
        text: &str,
        depth: usize,
    ) -> Result<(), BuildError> {
        self.out.text.push_str(&format!("#line 1 \"{name}\"\n"));
        let mut open: Vec<bool> = Vec::new();
        let guard = include_guard(text);
        let mut comment = false;
        let mut lines = text.lines().enumerate();
        while let Some((n, line)) = lines.next() {
            let outside = !comment;
            comment = ends_in_comment(line, comment);
            let directive = line.trim_start().strip_prefix('#').map(str::trim_start);
            let (Some(directive), true) = (directive, outside) else {
                self.push(line);
                continue;
            };
            if directive.starts_with("pragma once") {
                self.push("");
                continue;
            }
            let (word, rest) = split_word(directive);
            if let ("include" | "import", Some(target)) = (word, included(rest)) {
                self.include(path, name, n, line, target, word == "import", depth)?;
                continue;
            }
            let mut whole = rest.to_string();
            self.push(line);
            while whole.ends_with('\\') {
                whole.pop();
                let Some((_, next)) = lines.next() else { break };
                comment = ends_in_comment(next, comment);
                whole.push_str(next);
                self.push(next);
            }
            let place = (name, n as u32 + 1);
            match word {
                "if" | "ifdef" | "ifndef" => {
                    let guards = open.is_empty() && guard == Some(split_word(&whole).0);
                    let counted = !(word == "ifndef" && guards);
                    open.push(counted);
                    self.conditions += usize::from(counted);
                    self.condition(word, &whole, place);
                }
                "elif" | "elifdef" | "elifndef" => self.condition(word, &whole, place),
                "endif" => self.conditions -= usize::from(open.pop().unwrap_or(false)),
                "define" => self.define(split_word(&whole).0, place),
                "undef" => self.redefined(split_word(&whole).0, place),
                _ => {}
            }
        }
        Ok(())
    }

    fn push(&mut self, line: &str) {
        self.out.text.push_str(line);
        self.out.text.push('\n');
    }

    #[allow(clippy::too_many_arguments)]
    fn include(
        &mut self,
        path: &Path,
        name: &str,
        n: usize,
        line: &str,
        target: &str,
        import: bool,
        depth: usize,
    ) -> Result<(), BuildError> {
        let back = format!("#line {} \"{name}\"\n", n + 2);
        if target == shim::LANES_HEADER {
            if self.first(PathBuf::from(target), true, name, n, target) {
                self.guarded(target, |f| {
                    // On vectors of threads the shim gives the lane types.
                    f.out
                        .text
                        .push_str("#if LANE_WIDTH == 1\n#line 1 \"lanes.h\"\n");
                    f.push(shim::text("lanes_scalar.h"));
                    f.out.text.push_str("#endif\n");
                    f.out.text.push_str(&back);
                    Ok(())
                })?;
            }
            self.out.text.push_str(&back);
            return Ok(());
        }
        if shim::SYSTEM_HEADERS.contains(&target) {
            self.push(&format!("{SYSTEM_INCLUDE}<{target}>"));
            return Ok(());
        }
        let near = path.parent().map(|d| d.join(target));
        let found = near
            .into_iter()
            .chain([self.root.join(target)])
            .find(|p| p.is_file());
        let Some(found) = found else {
            // The preprocessor says that it is missing, if the place is reached.
            self.push(line);
            return Ok(());
        };
        if depth > MAX_DEPTH {
            return Err(BuildError::Tool {
                tool: "include".into(),
                message: format!("{} includes itself", found.display()),
            });
        }
        let body = read(&found)?;
        let once = import || body.lines().any(|l| l.trim().starts_with("#pragma once"));
        let key = fs::canonicalize(&found).unwrap_or_else(|_| found.clone());
        if self.first(key, once, name, n, target) {
            if once {
                self.guarded(target, |f| f.text(&found, &body, depth + 1))?;
            } else {
                self.text(&found, &body, depth + 1)?;
            }
        }
        self.out.text.push_str(&back);
        Ok(())
    }

    /// True if the text of a header must stand here. A header that is included under a condition may be missing: it
    /// will be put in again, within a guard.
    fn first(&mut self, key: PathBuf, once: bool, name: &str, n: usize, target: &str) -> bool {
        if !once {
            return true;
        }
        if self.once.contains(&key) {
            return false;
        }
        if self.conditions == 0 {
            self.once.insert(key);
        } else {
            self.out.findings.push(Finding {
                file: name.into(),
                line: n as u32 + 1,
                rule: "conditional-include",
                message: format!("`{target}` is included for the first time under a condition"),
                remedy: "include it above the condition, or put the condition into the header",
            });
        }
        true
    }

    fn guarded(
        &mut self,
        target: &str,
        body: impl FnOnce(&mut Self) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        if self.conditions == 0 {
            return body(self);
        }
        let word = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let guard: String = target.chars().map(word).collect();
        self.guards += 1;
        let text = format!("#ifndef msl_once_{guard}\n#define msl_once_{guard}\n");
        self.out.text.push_str(&text);
        body(self)?;
        self.out.text.push_str("#endif\n");
        Ok(())
    }

    fn define(&mut self, name: &str, place: (&str, u32)) {
        self.redefined(name, place);
        self.defined.insert(name.to_string());
    }

    /// A `#define` or `#undef` of a macro that is not the file's own.
    fn redefined(&mut self, name: &str, (file, line): (&str, u32)) {
        if macros::target_macro(name).is_none() && !macros::is_predefined(name) {
            return;
        }
        self.out.findings.push(Finding {
            file: file.into(),
            line,
            rule: "target-macro",
            message: format!("`{name}` has its value from the target"),
            remedy: "use a name of your own",
        });
    }

    fn condition(&mut self, word: &str, text: &str, (file, line): (&str, u32)) {
        let code = without_comments(text);
        let mut words = identifiers(&code);
        let mut defined = matches!(word, "ifdef" | "ifndef" | "elifdef" | "elifndef");
        if defined {
            words.truncate(1);
        }
        for name in words {
            match name.as_str() {
                "defined" => defined = true,
                "true" | "false" => {}
                _ => {
                    let file = file.to_string();
                    let existence = std::mem::take(&mut defined);
                    self.asked.push(Asked {
                        name,
                        file,
                        line,
                        existence,
                    });
                }
            }
        }
    }

    /// Findings about all conditions, now that all definitions are known.
    fn judge(&mut self) {
        for a in &self.asked {
            let target = macros::target_macro(&a.name);
            let (message, remedy) = match target {
                Some(m) if m.condition && !a.existence => continue,
                Some(m) if m.condition => (
                    format!("`{}` is defined on every target", a.name),
                    "ask for its value: `#if NAME`",
                ),
                Some(_) => (
                    format!("`{}` is not a value", a.name),
                    "ask for LANE_WIDTH, MSL_HOST or MSL_PTX",
                ),
                None if macros::is_predefined(&a.name) || self.defined.contains(&a.name) => continue,
                None => (
                    format!("`{}` is not a macro that every target defines", a.name),
                    "ask for LANE_WIDTH, MSL_HOST, MSL_PTX, a macro that Apple's compiler predefines, or one of the file's own",
                ),
            };
            self.out.findings.push(Finding {
                file: a.file.clone(),
                line: a.line,
                rule: "target-macro",
                message,
                remedy,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Catches texts that differ between machines, and that tell where they were built.
    #[test]
    fn headers_outside_of_the_root_are_named_from_it() {
        let temporary = tempfile::tempdir().expect("a folder");
        let place = temporary.path();
        let root = place.join("this/metal");
        for folder in [&root, &place.join("other/metal/deep")] {
            fs::create_dir_all(folder).expect("a folder");
        }
        let unit = root.join("unit.metal");
        let include = "#include \"../../other/metal/deep/header.h\"\n#include \"near.h\"\n";
        fs::write(&unit, include).expect("a file");
        fs::write(root.join("near.h"), "int near;\n").expect("a file");
        let header = place.join("other/metal/deep/header.h");
        fs::write(header, "int header;\n").expect("a file");

        let text = flatten(&root, &unit).expect("one text").text;
        assert_eq!(
            text,
            "#line 1 \"unit.metal\"\n\
             #line 1 \"../../other/metal/deep/header.h\"\nint header;\n#line 2 \"unit.metal\"\n\
             #line 1 \"near.h\"\nint near;\n#line 3 \"unit.metal\"\n"
        );
    }
}
