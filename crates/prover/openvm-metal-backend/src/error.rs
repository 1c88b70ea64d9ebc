//! `MetalProverError`: everything that can stop a proof.

use std::sync::Arc;

use openvm_metal_common::MetalError;
use openvm_stark_backend::prover::error::StackedPcsError;

use crate::{
    constraint_check::BrokenConstraint,
    memory::{BufferLimit, MemoryEstimate},
    programs::ProgramError,
};

/// Errors of a proof. Heights are rows, widths columns, memory bytes.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MetalProverError {
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] MetalError),
    /// The device could not be opened, or bringing an input to it failed earlier.
    #[error("input could not be brought to the device: {0}")]
    Transport(#[source] Arc<MetalProverError>),
    /// Traces that the device was to make.
    #[error("traces on the device: {0}")]
    Traces(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The traces do not fit the stacked matrix.
    #[error(transparent)]
    Stacking(#[from] StackedPcsError),

    /// No AIR has a trace.
    #[error("no AIR has a trace: a proof needs at least one")]
    NoTraces,
    /// An AIR index that the key does not have.
    #[error("AIR {air_id} does not exist: the proving key has {num_airs} AIRs")]
    UnknownAir { air_id: usize, num_airs: usize },
    /// Two traces for one AIR.
    #[error("AIR {air_id} ({air}): more than one trace")]
    DuplicateAir { air_id: usize, air: String },
    /// A required AIR without a trace.
    #[error("AIR {air_id} ({air}) is required, but has no trace")]
    MissingAir { air_id: usize, air: String },
    /// A height that is not a power of two (0 included).
    #[error("{what}: height {height} is not a power of two")]
    HeightNotPowerOfTwo { what: String, height: usize },
    /// A trace taller than the stacked matrix.
    #[error("{what}: height {height} exceeds the stacked height 2^{log_stacked_height}")]
    HeightTooLarge {
        what: String,
        height: usize,
        log_stacked_height: usize,
    },
    /// A trace part whose height differs from the AIR's common main trace.
    #[error("AIR {air_id} ({air}): {part} has {height} rows, the common main trace {expected}")]
    HeightMismatch {
        air_id: usize,
        air: String,
        part: String,
        height: usize,
        expected: usize,
    },
    /// A trace part whose width differs from the key.
    #[error("AIR {air_id} ({air}): {part} has {width} columns, the key expects {expected}")]
    WidthMismatch {
        air_id: usize,
        air: String,
        part: String,
        width: usize,
        expected: usize,
    },
    /// The wrong number of cached traces.
    #[error("AIR {air_id} ({air}): {cached} cached traces, the key expects {expected}")]
    CachedMismatch {
        air_id: usize,
        air: String,
        cached: usize,
        expected: usize,
    },
    /// The wrong number of public values.
    #[error("AIR {air_id} ({air}): {values} public values, the key expects {expected}")]
    PublicValuesMismatch {
        air_id: usize,
        air: String,
        values: usize,
        expected: usize,
    },
    /// A linear bound on trace heights (such as the count of interactions) is broken.
    #[error(
        "trace heights break linear constraint {index}: {sum} is not below {threshold}; \
         largest contribution {contribution} from AIR {air_id} ({air})"
    )]
    TooManyInteractions {
        index: usize,
        sum: u64,
        threshold: u64,
        air_id: usize,
        air: String,
        contribution: u64,
    },
    /// More stacked columns than the parameters allow.
    #[error(
        "stacked width {width} over all commitments exceeds w_stack = {w_stack}; \
         largest contribution {contribution} from {what}"
    )]
    StackedWidthExceeded {
        width: usize,
        w_stack: usize,
        what: String,
        contribution: usize,
    },
    /// A key made for other parameters, or parameters that contradict each other.
    #[error("parameters do not fit: {0}")]
    Parameters(String),
    /// A commitment that does not belong to its data.
    #[error("{what}: the commitment does not match the committed trace")]
    CommitmentMismatch { what: String },
    /// The proof would not fit into memory: into the budget of the prover's configuration, or together with
    /// [`MemoryEstimate::POOL_OVERHEAD`] into the device's.
    #[error("a proof of this size needs about {} bytes at its peak ({}), the budget is {budget}: \
         prove shorter traces (smaller segments), or allow more by OPENVM_METAL_MEMORY_BUDGET",
        estimate.peak(), estimate.peak_phase())]
    MemoryBudget {
        estimate: Box<MemoryEstimate>,
        budget: u64,
    },

    /// A buffer of the proof is larger than any that the device has.
    #[error(transparent)]
    BufferLimit(#[from] BufferLimit),

    /// The sum of all interactions is not zero: some message was sent and not received.
    #[error(
        "interactions do not balance: the fractional sum of all buses is not zero \
         (check_traces of the engine finds the message)"
    )]
    InteractionsUnbalanced,
    /// Traces that break a constraint, found by [`check_traces`](crate::MetalEngine::check_traces).
    #[error(transparent)]
    BrokenConstraint(#[from] Box<BrokenConstraint>),
    /// GKR leaves of a length that no tree has.
    #[error(
        "fractional sumcheck: {numerators} numerators and {denominators} denominators, \
         where the same power of two from 2 to 2^32 of both is needed"
    )]
    GkrLeaves {
        numerators: usize,
        denominators: usize,
    },
    /// An AIR whose symbolic constraints cannot be evaluated.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// An opening that cannot be made.
    #[error(transparent)]
    Opening(#[from] openvm_stark_backend::prover::error::WhirProverError),
    /// The device's transcript sampled another challenge than the host's, which was shown the same: a kernel or the
    /// device computed wrongly.
    #[error(
        "internal error in {phase}: the device's transcript differs from the host's \
         (compare with `openvm-metal selftest --filter transcript`)"
    )]
    TranscriptsDiffer { phase: &'static str },
    /// A broken invariant of the prover itself.
    #[error("internal error in {phase}: {detail}")]
    Internal { phase: &'static str, detail: String },
}

impl MetalProverError {
    /// The error of the runtime, if this is one.
    pub fn device_error(&self) -> Option<&MetalError> {
        match self {
            Self::Device(error) => Some(error),
            Self::Transport(inner) => inner.device_error(),
            _ => None,
        }
    }

    pub(crate) fn internal(phase: &'static str, detail: impl Into<String>) -> Self {
        Self::Internal {
            phase,
            detail: detail.into(),
        }
    }
}
