//! The command line: its parser, and hints where the parser's own message leaves a user alone.

use std::ffi::OsString;

use clap::{
    error::{ContextKind, ContextValue, ErrorKind},
    Error, Parser,
};
use openvm_metal_sdk::plain_text;

use crate::table::note;

/// Parses the command line; ends the process if it cannot be parsed, or asks for help.
pub fn parse<C: Parser>() -> C {
    C::try_parse().unwrap_or_else(|error| {
        // The message repeats arguments, and the shell may have taken some from a stranger's folder.
        let plain = |word: OsString| plain_text(&word.to_string_lossy()).into_owned();
        let words: Vec<_> = std::env::args_os().map(plain).collect();
        let error = C::try_parse_from(&words).err().unwrap_or(error);
        // A closed pipe is how `--help | head` ends.
        let _ = error.print();
        if let Some(hint) = hint(&error, &words) {
            note(format_args!("\nhint: {hint}"));
        }
        std::process::exit(error.exit_code())
    })
}

/// Guess of the intended command.
fn hint(error: &Error, words: &[impl AsRef<str>]) -> Option<String> {
    let context = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(vec![text.as_str()]),
        Some(ContextValue::Strings(texts)) => Some(texts.iter().map(String::as_str).collect()),
        _ => None,
    };
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let [name] = context(ContextKind::InvalidSubcommand)?[..] else {
                return None;
            };
            let before = words.iter().position(|word| word.as_ref() == name)?;
            let command = words.get(before.checked_sub(1)?)?.as_ref();
            match command {
                "prove" => Some(format!(
                    "`openvm-metal prove stark {name}` makes one proof of the whole execution, `openvm-metal prove app {name}` one for \
                     each segment"
                )),
                "verify" => Some(format!(
                    "`openvm-metal verify stark {name}` takes what `prove stark` makes, `openvm-metal verify app {name}` what \
                     `prove app` makes"
                )),
                _ => None,
            }
        }
        ErrorKind::ArgumentConflict => {
            let all = [ContextKind::InvalidArg, ContextKind::PriorArg];
            let mut names = all.into_iter().filter_map(context).flatten();
            names.any(|name| name.starts_with("--toy")).then(|| {
                "--toy makes keys of its own; keys that were made with --toy carry their parameters: leave --toy out, and add \
                 --allow-insecure"
                    .to_owned()
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;

    fn hint_for(line: &str) -> Option<String> {
        let words: Vec<_> = line.split(' ').collect();
        let error = Cli::try_parse_from(&words).err().expect("refused");
        hint(&error, &words)
    }

    /// Catches "unrecognized subcommand" and "cannot be used with" without a word about what can be done.
    #[test]
    fn wrong_commands_get_hints() {
        for (line, part) in [
            (
                "openvm-metal prove squares",
                "`openvm-metal prove stark squares`",
            ),
            (
                "openvm-metal prove ./a.elf --toy",
                "`openvm-metal prove stark ./a.elf`",
            ),
            (
                "openvm-metal verify a.stark.proof",
                "`openvm-metal verify stark a.stark.proof`",
            ),
            (
                "openvm-metal prove stark a --toy --app-pk app.pk",
                "leave --toy out",
            ),
            (
                "openvm-metal prove app a --app-pk app.pk --toy",
                "leave --toy out",
            ),
        ] {
            let hint = hint_for(line).unwrap_or_default();
            assert!(hint.contains(part), "{line}: {hint}");
        }
        assert_eq!(hint_for("openvm-metal squares"), None);
    }

    /// The commands in blocks of shell of a page, with the number of their line.
    fn commands(page: &str) -> Vec<(usize, String)> {
        let (mut in_shell, mut commands, mut open) = (false, Vec::new(), String::new());
        for (number, line) in page.lines().enumerate() {
            if let Some(kind) = line.trim_start().strip_prefix("```") {
                in_shell = !in_shell && matches!(kind, "sh" | "bash" | "shell");
                continue;
            }
            if !in_shell {
                continue;
            }
            // Without comments, and what the shell does with the output.
            let end = line
                .find(" #")
                .into_iter()
                .chain(line.find(['>', '|']))
                .min();
            open += &line[..end.unwrap_or(line.len())];
            if open.ends_with('\\') {
                open.pop();
                continue;
            }
            for command in std::mem::take(&mut open).split("&&") {
                commands.push((number + 1, command.to_owned()));
            }
        }
        commands
    }

    /// Catches commands of the documentation that cannot be typed as they stand: options that were renamed, arguments that are missing.
    #[test]
    fn commands_of_the_documentation_are_understood() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        /// Pages of a folder and, with `below`, of the folders in it; the notebook's commands were those of their day.
        fn pages(folder: &std::path::Path, below: bool, found: &mut Vec<std::path::PathBuf>) {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() && below && !path.ends_with("notebook") {
                    pages(&path, below, found);
                } else if path.extension().is_some_and(|end| end == "md") {
                    found.push(path);
                }
            }
        }
        let mut paths = Vec::new();
        pages(&root.join("docs"), true, &mut paths);
        for folder in [".", "docker", "tools", "crates/prover"] {
            pages(&root.join(folder), false, &mut paths);
        }
        for folder in ["openvm-metal-cli", "openvm-metal-sdk", "openvm-metal-py"] {
            pages(&root.join("crates/prover").join(folder), false, &mut paths);
        }
        let mut found = 0;
        for path in paths {
            let page = std::fs::read_to_string(&path).expect("a page");
            for (number, command) in commands(&page) {
                let words = shlex::split(&command).unwrap_or_default();
                let Some((name, words)) = words.split_first() else {
                    continue;
                };
                if name.rsplit('/').next() != Some("openvm-metal") {
                    continue;
                }
                let is_bench = words.first().is_some_and(|word| word == "bench");
                if is_bench && cfg!(not(feature = "reference")) {
                    continue;
                }
                found += 1;
                let parsed = Cli::try_parse_from(std::iter::once(name).chain(words));
                let error = parsed.err().filter(|error| error.use_stderr());
                assert!(
                    error.is_none(),
                    "{}:{number}: {command}\n{}",
                    path.display(),
                    error.map(|error| error.to_string()).unwrap_or_default()
                );
            }
        }
        assert!(found >= 20, "{found} commands");
    }
}
