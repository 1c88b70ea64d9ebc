//! Parameter struct of the kernels that measure peaks.

/// The kernels that measure peaks.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct BenchParams {
    pub threads: u32,
    pub rounds: u32,
}
