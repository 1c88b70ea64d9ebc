//! Origin of kernels: from the Metal libraries in the program or from their source. Nothing here needs Metal,
//! so it is tested on every system.

use std::fmt;

use crate::error::{MetalError, Result};
use crate::kernel::KernelUnit;

/// Environment variable: `0` compiles every unit from its source although the program holds compiled ones.
pub(crate) const METALLIB_VARIABLE: &str = "OPENVM_METAL_METALLIB";

/// Meaning of a value of [`METALLIB_VARIABLE`].
pub(crate) fn metallibs_wanted(value: Option<&str>) -> Result<bool> {
    match value.unwrap_or_default() {
        "" | "1" => Ok(true),
        "0" => Ok(false),
        value => Err(MetalError::InvalidSetting {
            variable: METALLIB_VARIABLE,
            value: value.to_owned(),
            expected: "0 or 1",
        }),
    }
}

/// Origin of the kernels' code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Units from the libraries in the program.
    compiled: usize,
    /// Units compiled from source now.
    source: usize,
    /// The first library that was refused, and why.
    refused: Option<String>,
}

/// Result of a unit's compiled library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// It is in use.
    Compiled,
    /// There is none, or it is not wanted.
    Text,
    /// The system refused it, for this reason.
    Refused(String),
}

impl Origin {
    /// Counts a unit.
    pub fn count(&mut self, source: Source) {
        match source {
            Source::Compiled => self.compiled += 1,
            Source::Text => self.source += 1,
            Source::Refused(reason) => {
                self.source += 1;
                self.refused.get_or_insert(reason);
            }
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.compiled, self.source) {
            (0, 0) => f.write_str("no kernels"),
            (n, 0) => write!(f, "kernels: metallib ({n} units)"),
            (0, n) => write!(f, "kernels: compiled from source ({n} units)"),
            (a, b) => write!(f, "kernels: metallib ({a} units), from source ({b})"),
        }?;
        match &self.refused {
            Some(reason) => write!(f, ", {reason}"),
            None => Ok(()),
        }
    }
}

/// Result of a unit's library, else of `otherwise`. A library that is refused is reported, but no error: it may
/// be of a newer compiler than the system.
pub(crate) fn choose<T, E: fmt::Display>(
    unit: &'static KernelUnit,
    metallibs: bool,
    from_library: impl FnOnce(&'static [u8]) -> std::result::Result<T, E>,
    otherwise: impl FnOnce() -> std::result::Result<T, E>,
) -> (std::result::Result<T, E>, Source) {
    let source = match unit.metallib.filter(|_| metallibs).map(from_library) {
        Some(Ok(made)) => return (Ok(made), Source::Compiled),
        Some(Err(error)) => {
            let reason = error.to_string();
            tracing::warn!(unit = unit.name, %reason, "metallib refused, its source is used");
            Source::Refused(reason)
        }
        None => Source::Text,
    };
    (otherwise(), source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Prepare;

    fn unit(metallib: Option<&'static [u8]>) -> &'static KernelUnit {
        Box::leak(Box::new(KernelUnit {
            name: "hash/poseidon2",
            msl: "source",
            metallib,
            ptx: None,
            kernels: &[],
            prepared: Prepare::AtStart,
        }))
    }

    /// The choice where the system takes libraries that begin with 7.
    fn chosen(metallib: Option<&'static [u8]>, wanted: bool) -> (&'static str, Source) {
        let load = |bytes: &[u8]| match bytes {
            [7, ..] => Ok("library"),
            _ => Err("too new"),
        };
        let (made, source) = choose(unit(metallib), wanted, load, || Ok("text"));
        (made.expect("the source compiles"), source)
    }

    #[test]
    fn the_library_comes_first() {
        assert_eq!(chosen(Some(&[7]), true), ("library", Source::Compiled));
        assert_eq!(chosen(Some(&[7]), false), ("text", Source::Text));
        assert_eq!(chosen(None, true), ("text", Source::Text));
        let (made, source) = chosen(Some(&[8]), true);
        assert_eq!(made, "text");
        assert!(matches!(&source, Source::Refused(reason) if reason.contains("too new")));
    }

    #[test]
    fn a_bad_source_is_told_beside_the_library() {
        let failed = |_: &[u8]| Err::<(), _>("too new");
        let (made, source) = choose(unit(Some(&[8])), true, failed, || Err("syntax"));
        assert_eq!(made, Err("syntax"));
        assert_eq!(source, Source::Refused("too new".into()));
    }

    #[test]
    fn the_report_says_what_was_used() {
        let text = |sources: &[Source]| {
            let mut origin = Origin::default();
            sources.iter().cloned().for_each(|s| origin.count(s));
            origin.to_string()
        };
        let refused = Source::Refused("a is too new".into());
        assert_eq!(text(&[]), "no kernels");
        assert_eq!(text(&[Source::Compiled]), "kernels: metallib (1 units)");
        assert_eq!(
            text(&[Source::Text]),
            "kernels: compiled from source (1 units)"
        );
        assert_eq!(
            text(&[refused, Source::Compiled, Source::Refused("b".into())]),
            "kernels: metallib (1 units), from source (2), a is too new"
        );
    }

    #[test]
    fn the_environment_can_refuse_libraries() {
        assert!(metallibs_wanted(None).expect("default"));
        assert!(metallibs_wanted(Some("1")).expect("wanted"));
        assert!(!metallibs_wanted(Some("0")).expect("not wanted"));
        let error = metallibs_wanted(Some("no")).expect_err("a wrong value");
        assert!(error.to_string().contains(METALLIB_VARIABLE));
    }
}
