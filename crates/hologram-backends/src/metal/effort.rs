//! How much work compilers put into kernels.

/// How much work compilers put into kernels for CPU and CUDA devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Effort {
    /// For programs that run once: compiled several times sooner.
    Least,
    /// For programs that run often.
    #[default]
    Usual,
}
