//! Hints for guests that do not compile: the reasons that a guest has and a program for an operating system has not.

use std::fmt;

/// The reason for which a guest does not compile, as far as the output of cargo shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Hint {
    /// The program has no entry point.
    NoEntry,
    /// The program has no function `main` that the entry point could call.
    NoMain,
    /// The crate `openvm` lacks its feature `std`.
    NoStd,
    /// The build script of this crate failed.
    BuildScript(String),
    /// This crate of the dependencies does not compile for the virtual machine.
    Dependency(String),
    /// Nothing has this symbol: it is C code, most often.
    Symbol(String),
}

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoEntry => f.write_str(
                "It has no entry point, which is in the crate openvm: add openvm = { version = \"=2.0.2\", features = [\"std\"] } to \
                 the [dependencies] of its Cargo.toml",
            ),
            Self::NoMain => f.write_str(
                "It has no `main` for the entry point to call: a program with #![no_main] needs openvm::entry!(main)",
            ),
            Self::NoStd => f.write_str(
                "It uses the standard library, so the crate openvm needs features = [\"std\"] in its Cargo.toml",
            ),
            Self::BuildScript(name) => write!(
                f,
                "The build script of {name} failed. If it compiles C or C++: there is no C compiler and no C library for guests. Take a \
                 crate in Rust alone, or leave out the feature that needs it; `cargo tree -i {name}` says what does"
            ),
            Self::Dependency(name) => write!(
                f,
                "{name} does not compile for the virtual machine, which has no operating system: no files, sockets, processes, signals, \
                 time or threads. `cargo tree -i {name}` says what needs it, and often a feature can be left out. Of tokio, `sync` and \
                 `macros` work on an executor of one thread, as pollster has"
            ),
            Self::Symbol(name) => write!(
                f,
                "Nothing has the symbol {name}: if it is a function in C, there is no C library for guests"
            ),
        }
    }
}

impl Hint {
    /// The hint that belongs to an output of cargo, if there is one. `own` are the packages of the guest's workspace: their errors
    /// are in the output.
    pub(super) fn of(output: &str, own: &[&str]) -> Option<Self> {
        if output.contains("cannot find entry symbol _start") {
            return Some(Self::NoEntry);
        }
        if let Some(symbol) = word_after(output, "undefined symbol: ") {
            return Some(match symbol {
                "main" => Self::NoMain,
                symbol if symbol.starts_with("sys_") => Self::NoStd,
                symbol => Self::Symbol(symbol.to_owned()),
            });
        }
        let of_others = |text| word_after(output, text).filter(|name| !own.contains(name));
        if let Some(name) = of_others("failed to run custom build command for `") {
            return Some(Self::BuildScript(name.to_owned()));
        }
        of_others("could not compile `").map(|name| Self::Dependency(name.to_owned()))
    }
}

/// The word that follows `text` first.
fn word_after<'a>(output: &'a str, text: &str) -> Option<&'a str> {
    let rest = &output[output.find(text)? + text.len()..];
    let end = rest.find(|c: char| c.is_whitespace() || c == '`');
    let word = &rest[..end.unwrap_or(rest.len())];
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_follow_from_the_output() {
        let of = |output: &str| Hint::of(output, &["guest", "shared"]);
        for (output, hint) in [
            ("rust-lld: error: cannot find entry symbol _start; not setting start address", Some(Hint::NoEntry)),
            ("rust-lld: error: undefined symbol: main\n>>> referenced by", Some(Hint::NoMain)),
            ("rust-lld: error: undefined symbol: sys_write\n", Some(Hint::NoStd)),
            ("rust-lld: error: undefined symbol: ZSTD_compress", Some(Hint::Symbol("ZSTD_compress".into()))),
            ("error: failed to run custom build command for `zstd-sys v2.0.16+zstd.1.5.7`", Some(Hint::BuildScript("zstd-sys".into()))),
            ("\u{1b}[1merror\u{1b}[0m: could not compile `socket2` (lib) due to 9 previous errors", Some(Hint::Dependency("socket2".into()))),
            ("error: could not compile `guest` (bin \"guest\") due to 1 previous error", None),
            ("error: failed to run custom build command for `shared v0.1.0`", None),
            ("error: no space left on device", None),
            ("could not compile `", None),
        ] {
            assert_eq!(of(output), hint, "{output}");
        }
    }
}
