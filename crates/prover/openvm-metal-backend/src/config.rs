//! `MetalProverConfig`: size gates and limits of the prover.

use std::path::PathBuf;

use openvm_metal_common::MetalError;

/// Environment variable that decides where the configuration does not: `auto`, `interpreted`, `generated`.
pub const CONSTRAINT_KERNELS_VARIABLE: &str = "OPENVM_METAL_CONSTRAINT_KERNELS";

/// Evaluation of constraints and interactions. The proof is the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConstraintKernels {
    /// The setting of the environment, else: precompiled kernels from the cache on CUDA devices and CPUs, if they are ready and there is
    /// enough to evaluate; the rest is interpreted. Nothing is compiled.
    #[default]
    Auto,
    /// Programs are interpreted, nothing is compiled.
    Interpreted,
    /// By kernels written for each AIR wherever they can be compiled, and proofs wait for them.
    Generated,
}

impl ConstraintKernels {
    /// With what the environment says in place of [`Auto`](Self::Auto).
    ///
    /// # Errors
    /// For a word that it does not know.
    pub fn resolved(self) -> Result<Self, MetalError> {
        let value = std::env::var(CONSTRAINT_KERNELS_VARIABLE).unwrap_or_default();
        Ok(match (self, value.as_str()) {
            (Self::Auto, "interpreted") => Self::Interpreted,
            (Self::Auto, "generated") => Self::Generated,
            (Self::Auto, value) if !matches!(value, "" | "auto") => {
                return Err(MetalError::InvalidSetting {
                    variable: CONSTRAINT_KERNELS_VARIABLE,
                    value: value.to_owned(),
                    expected: "auto, interpreted or generated",
                })
            }
            (chosen, _) => chosen,
        })
    }
}

/// Decisions that change how a proof is made, never the proof.
///
/// A *host gate* is a size below which work is finished on the host, because the round trip to the
/// device would cost more than the work; every such decision is counted (`StreamCounters`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MetalProverConfig {
    /// GKR layers of at most `2^n` fractions are proved on the host.
    pub gkr_host_log_layer: usize,
    /// Sumcheck rounds over at most `2^n` rows in all are finished on the host, unless their challenges are sampled on the device.
    pub mle_host_log_rows: usize,
    /// Scratch memory for evaluating constraints in round 0, in bytes; where the folded traces of the
    /// later rounds take more, as much as those.
    pub constraint_scratch_bytes: u64,
    /// Bytes of codewords of the common main traces up to which all are kept from the commitment to the queries. Above it, as
    /// many columns as the constraint phase needs memory for are dropped once they are hashed and transformed again for the queries.
    /// `None`: all on a CPU, a quarter of the memory budget on a GPU.
    /// A proof over the budget, or whose codeword matrix is over the device's largest buffer, keeps as many columns as fit beside the buffers
    /// in use, and the other columns never exist together ([`KeptCodewords`](crate::KeptCodewords)); with `Some(u64::MAX)` it is refused.
    pub max_kept_codewords: Option<u64>,
    /// Use of kernels that are compiled for each AIR.
    pub constraint_kernels: ConstraintKernels,
    /// Folder that keeps such kernels, also ones compiled elsewhere; `None`: below the folder that
    /// `OPENVM_METAL_CACHE` names, else in the user's cache. Code is loaded from it only if no other user can write it
    /// ([`TrustedFolder`](openvm_metal_common::TrustedFolder)).
    pub kernel_folder: Option<PathBuf>,
    /// Sample the challenges of sumchecks on the device, so that a phase is waited for once. `None`: on GPUs. Only transcripts that are a
    /// [`DuplexSpongeMetal`](crate::DuplexSpongeMetal) or the SDK's `DuplexSponge` can; the others stay on the host.
    pub transcript_on_device: Option<bool>,
    /// Refuse proofs whose estimated peak exceeds this many bytes; `None`: the device's own budget. Memory that only makes a proof quicker is
    /// taken up to this, too.
    pub memory_budget: Option<u64>,
}

impl Default for MetalProverConfig {
    fn default() -> Self {
        Self {
            gkr_host_log_layer: 8,
            mle_host_log_rows: 6,
            constraint_scratch_bytes: 128 << 20,
            max_kept_codewords: None,
            constraint_kernels: ConstraintKernels::Auto,
            kernel_folder: None,
            transcript_on_device: None,
            memory_budget: None,
        }
    }
}
