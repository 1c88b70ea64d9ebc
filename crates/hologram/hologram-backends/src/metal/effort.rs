//! Optimisation level of compilers for kernels.

/// Optimisation level of compilers for kernels for CPU and CUDA devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// For programs that run once: compiled several times sooner.
    Least,
    /// For programs that run often.
    #[default]
    Usual,
}
