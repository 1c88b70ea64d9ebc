//! A switch for compilers that break large functions: everything that kernels mark as large stays a function of its own.
//! Nothing here needs Metal, so it is tested on every system.

use std::borrow::Cow;

use crate::error::{MetalError, Result};

/// Environment variable: `1` compiles every unit from its source with large functions apart.
pub(crate) const NOINLINE_VARIABLE: &str = "OPENVM_METAL_NOINLINE";

/// Expansion of `MSL_LARGE` of `lanes.h`, and its replacement.
const INLINED: &str = "__attribute__((always_inline))";
const APART: &str = "__attribute__((noinline))";

/// Meaning of a value of [`NOINLINE_VARIABLE`].
pub(crate) fn large_apart(value: Option<&str>) -> Result<bool> {
    match value.unwrap_or_default() {
        "" | "0" => Ok(false),
        "1" => Ok(true),
        value => Err(MetalError::InvalidSetting {
            variable: NOINLINE_VARIABLE,
            value: value.to_owned(),
            expected: "0 or 1",
        }),
    }
}

/// The text of a unit with its large functions inlined or apart.
pub(crate) fn text(msl: &str, apart: bool) -> Cow<'_, str> {
    match apart {
        true => Cow::Owned(msl.replace(INLINED, APART)),
        false => Cow::Borrowed(msl),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_functions_can_be_kept_apart() {
        let msl =
            "template <typename U> __attribute__((always_inline)) inline U f(U x) { return x; }";
        assert_eq!(text(msl, false), msl);
        assert!(text(msl, true).contains("> __attribute__((noinline)) inline U f("));
        assert_eq!(large_apart(None).ok(), Some(false));
        assert_eq!(large_apart(Some("1")).ok(), Some(true));
        assert!(matches!(
            large_apart(Some("yes")),
            Err(MetalError::InvalidSetting {
                variable: NOINLINE_VARIABLE,
                ..
            })
        ));
    }
}
