//! When the interpreter runs a program on a device's memory.

use std::fmt;
use std::str::FromStr;

use crate::error::BackendError;

/// When a [`MetalBackend`](super::MetalBackend) lets the interpreter run a program, on the processor but on the
/// backend's own buffers and pools. Each time is counted in [`MetalStats::interpreted`](super::MetalStats::interpreted).
///
/// The interpreter begins when everything submitted before is finished, and ends before `submit` returns. On devices
/// that share the host's memory it works in place; else all buffers and pools are copied to the host and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fallback {
    /// Never: what the device cannot run is an error.
    #[default]
    Never,
    /// When the device cannot run the program: instructions, sizes and types that kernels do not have, no compiler on
    /// this machine, no folder to keep kernels in, a compiler that takes too long (`MetalBackend::set_compile_limit`). A kernel
    /// that the compiler rejects is still an error.
    WhenUnsupported,
    /// Then, and for small programs whose kernel is not compiled yet: without jumps back or calls, of at most `work`
    /// instructions times lanes, on devices that share the host's memory.
    Adaptive {
        /// Most instructions times lanes.
        work: u64,
    },
}

impl Fallback {
    /// Names of the policies.
    pub const NAMES: [&'static str; 3] = ["never", "when-unsupported", "adaptive"];

    /// [`Fallback::Adaptive`] up to 65,536 instructions times lanes: well under a millisecond of the processor, where
    /// compiling takes a hundred.
    pub const ADAPTIVE: Self = Self::Adaptive { work: 1 << 16 };

    /// Name of the policy.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::WhenUnsupported => "when-unsupported",
            Self::Adaptive { .. } => "adaptive",
        }
    }

    /// Most seconds of processor time for compiling a kernel, unless that is set: few where the interpreter takes over.
    pub(super) const fn compile_limit(self) -> u32 {
        match self {
            Self::Never => 60,
            Self::WhenUnsupported | Self::Adaptive { .. } => 5,
        }
    }

    /// True if the interpreter runs a program that the device refused with this error.
    pub(crate) fn takes(self, error: &BackendError) -> bool {
        self.allows() && is_unsupported(error)
    }

    /// True if the interpreter runs programs that the device cannot run.
    pub(super) fn allows(self) -> bool {
        self != Self::Never
    }
}

impl fmt::Display for Fallback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of no policy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is none of never, when-unsupported, adaptive")]
pub struct UnknownFallback(pub String);

impl FromStr for Fallback {
    type Err = UnknownFallback;

    fn from_str(name: &str) -> Result<Self, UnknownFallback> {
        [Self::Never, Self::WhenUnsupported, Self::ADAPTIVE]
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| UnknownFallback(name.into()))
    }
}

/// True if an error says that the device cannot run a program which the interpreter may.
pub(super) fn is_unsupported(error: &BackendError) -> bool {
    use BackendError as B;
    matches!(
        error,
        B::UnsupportedInstruction { .. }
            | B::UnsupportedOperation(_)
            | B::SharedMemoryAllocationFailed { .. }
            | B::NoCompiler(_)
            | B::KernelFolder(_)
            | B::CompilationLimit(_)
    )
}

/// The error with the policy that would help.
pub(super) fn with_remedy(mut error: BackendError) -> BackendError {
    use BackendError as B;
    if let B::UnsupportedInstruction { reason: text, .. }
    | B::UnsupportedOperation(text)
    | B::NoCompiler(text)
    | B::KernelFolder(text)
    | B::CompilationLimit(text) = &mut error
    {
        text.push_str("; with the fallback policy `when-unsupported` the interpreter runs it");
    }
    error
}
