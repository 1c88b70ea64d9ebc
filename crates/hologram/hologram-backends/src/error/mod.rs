//! Errors of memory, programs and launches.

pub(crate) mod validation;

pub use validation::{ValidationError, ValidationErrorKind};

use std::fmt;
use std::time::Duration;

use crate::handle::{BufferHandle, PoolHandle};
use crate::isa::Ty;
use crate::program_error::ProgramError;

/// Result of a backend's methods.
pub type Result<T> = std::result::Result<T, BackendError>;

/// An error of a backend.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum BackendError {
    /// A buffer that does not exist, was freed, or cannot be freed.
    #[error("{0} does not exist, was freed, or cannot be freed")]
    InvalidBufferHandle(BufferHandle),
    /// A pool that does not exist or was freed.
    #[error("{0} does not exist or was freed")]
    InvalidPoolHandle(PoolHandle),
    /// A copy past the end of a buffer.
    #[error("{handle}: bytes {offset} to {offset} + {size} of {buffer_size}")]
    BufferOutOfBounds {
        /// The buffer.
        handle: BufferHandle,
        /// First byte.
        offset: usize,
        /// Bytes of the copy.
        size: usize,
        /// Bytes of the buffer.
        buffer_size: usize,
    },
    /// A copy past the end of a pool.
    #[error("{handle}: bytes {offset} to {offset} + {size} of {pool_size}")]
    PoolOutOfBounds {
        /// The pool.
        handle: PoolHandle,
        /// First byte.
        offset: usize,
        /// Bytes of the copy.
        size: usize,
        /// Bytes of the pool.
        pool_size: usize,
    },
    /// A copy, or a sort, between ranges of one buffer that overlap.
    #[error("{handle}: {len} bytes from {src_offset} to {dst_offset} overlap")]
    OverlappingCopy {
        /// The buffer that is written.
        handle: BufferHandle,
        /// First byte read.
        src_offset: usize,
        /// First byte written.
        dst_offset: usize,
        /// Bytes of the copy.
        len: usize,
    },
    /// Memory that the machine or the backend's limit does not give.
    #[error("no memory for {requested} bytes")]
    OutOfMemory {
        /// Bytes asked for.
        requested: usize,
    },
    /// A program whose form is wrong.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// A program that the validator rejects.
    #[error(transparent)]
    Validation(#[from] ValidationError),
    /// A fault of a lane.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// A launch over the limits.
    #[error("launch: {what} is {value}, must be 1 to {limit}")]
    InvalidLaunchConfig {
        /// Name of the number.
        what: &'static str,
        /// The value.
        value: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// More shared memory than a block may have.
    #[error("launch: {requested} bytes of shared memory, at most {available}")]
    SharedMemoryAllocationFailed {
        /// Bytes asked for.
        requested: usize,
        /// Bytes there are.
        available: usize,
    },
    /// An instruction that this backend cannot run.
    #[error("pc {pc}: `{instruction}` is not supported here: {reason}")]
    UnsupportedInstruction {
        /// Index of the instruction.
        pc: usize,
        /// The text.
        instruction: String,
        /// Reason.
        reason: String,
    },
    /// A whole-buffer operation with a type or constant it does not allow.
    #[error("`{call}`: {reason}")]
    InvalidIntrinsic {
        /// The operation and its operands.
        call: String,
        /// Description of the fault.
        reason: String,
    },
    /// Something this backend cannot do.
    #[error("not supported here: {0}")]
    UnsupportedOperation(String),
    /// A ticket that this backend did not give.
    #[error("ticket {0} is not of this backend")]
    InvalidTicket(u64),
    /// The result of a submission was dropped before it was waited for.
    #[error("the result of ticket {ticket} was dropped: only the last {kept} failures that were not waited for are kept; wait earlier")]
    ResultForgotten {
        /// The ticket's number.
        ticket: u64,
        /// Failures that are kept.
        kept: usize,
    },
    /// Run-time compilation is not possible: a tool is missing.
    #[error("no compiler: {0}")]
    NoCompiler(String),
    /// Run-time compilation failed, with the compiler's message.
    #[error("compilation: {0}")]
    Compilation(String),
    /// The folder of compiled kernels cannot be written, or nothing be loaded from it.
    #[error("kernel folder: {0}")]
    KernelFolder(String),
    /// Run-time compilation was ended because it took too long.
    #[error("compilation: {0}")]
    CompilationLimit(String),
    /// The device or its driver failed.
    #[error("device: {0}")]
    Device(String),
}

/// A lane's fault: where and what.
///
/// Of the faults of a launch the one of the smallest global lane is reported (with barriers: of the
/// first block, and in it of the earliest barrier interval). What other lanes stored is unspecified.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("lane {lane}, pc {pc} (`{instruction}`): {kind}")]
pub struct Fault {
    /// Global linear lane id.
    pub lane: u64,
    /// Index of the instruction.
    pub pc: usize,
    /// Text of the instruction.
    pub instruction: String,
    /// Kind of the fault.
    pub kind: FaultKind,
}

/// Faults of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// A buffer that does not exist.
    InvalidBufferHandle {
        /// Raw handle.
        handle: u64,
    },
    /// An access past the end of a buffer.
    BufferOutOfBounds {
        /// Raw handle.
        handle: u64,
        /// First byte.
        offset: u64,
        /// Bytes of the access.
        size: u64,
        /// Bytes of the buffer.
        buffer_size: u64,
    },
    /// A negative offset from a register's buffer.
    NegativeOffset {
        /// The offset.
        offset: i32,
    },
    /// An access past the end of the block's shared memory.
    SharedOutOfBounds {
        /// First byte.
        offset: u64,
        /// Bytes of the access.
        size: u64,
        /// Bytes of shared memory.
        shared_size: u64,
    },
    /// A pool that does not exist.
    InvalidPoolHandle {
        /// Raw handle.
        handle: u64,
    },
    /// An access past the end of a pool.
    PoolOutOfBounds {
        /// Raw handle.
        handle: u64,
        /// First byte.
        offset: u64,
        /// Bytes of the access.
        size: u64,
        /// Bytes of the pool.
        pool_size: u64,
    },
    /// `pool_alloc` beyond the memory that programs may take.
    PoolMemoryExhausted {
        /// Bytes asked for.
        requested: u64,
    },
    /// Integer division by zero.
    DivisionByZero,
    /// A call with `MAX_CALL_DEPTH` return addresses held.
    CallStackOverflow,
    /// A return with none held.
    CallStackUnderflow,
    /// A class from 96 on.
    InvalidClassIndex {
        /// The class.
        class: u8,
    },
    /// A page from 48 on.
    InvalidBoundaryCoordinates {
        /// The page.
        page: u8,
        /// The byte.
        byte: u8,
    },
    /// A barrier that not all lanes of the block reach.
    BarrierDivergence,
    /// An operand of a whole-buffer operation that does not begin at a multiple of its element.
    MisalignedOperand {
        /// Raw handle.
        handle: u64,
        /// First byte.
        offset: u64,
        /// Bytes of an element.
        size: u64,
    },
    /// Operands of a whole-buffer operation that share bytes and must not.
    OverlappingOperands {
        /// Raw handle of what is written.
        written: u64,
        /// Raw handle of what is read.
        read: u64,
    },
    /// A whole-buffer operation of a type that it does not have.
    UnsupportedType {
        /// The type.
        ty: Ty,
    },
    /// More steps than the budget.
    StepBudgetExceeded {
        /// The budget.
        budget: u64,
    },
    /// The program ran for longer than its time limit. Which lane was where then is not defined.
    TimeLimitExceeded {
        /// The limit.
        limit: Duration,
    },
    /// [`Stop`](crate::Stop) was asked for. Which lane was where then is not defined.
    Stopped,
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::InvalidBufferHandle { handle } => write!(f, "buffer {handle} does not exist"),
            Self::BufferOutOfBounds {
                handle,
                offset,
                size,
                buffer_size,
            } => write!(
                f,
                "{size} bytes at {offset} of buffer {handle}, which has {buffer_size}"
            ),
            Self::NegativeOffset { offset } => write!(f, "offset {offset} is negative"),
            Self::SharedOutOfBounds {
                offset,
                size,
                shared_size,
            } => write!(
                f,
                "{size} bytes at {offset} of shared memory, which has {shared_size}"
            ),
            Self::InvalidPoolHandle { handle } => write!(f, "pool {handle} does not exist"),
            Self::PoolOutOfBounds {
                handle,
                offset,
                size,
                pool_size,
            } => write!(
                f,
                "{size} bytes at {offset} of pool {handle}, which has {pool_size}"
            ),
            Self::PoolMemoryExhausted { requested } => {
                write!(f, "no memory left for a pool of {requested} bytes")
            }
            Self::DivisionByZero => f.write_str("division by zero"),
            Self::CallStackOverflow => f.write_str("more than 256 nested calls"),
            Self::CallStackUnderflow => f.write_str("return without a call"),
            Self::InvalidClassIndex { class } => write!(f, "class {class}: there are 96"),
            Self::InvalidBoundaryCoordinates { page, byte } => {
                write!(f, "page {page}, byte {byte}: there are 48 pages")
            }
            Self::BarrierDivergence => f.write_str("not all lanes of the block reach this barrier"),
            Self::MisalignedOperand {
                handle,
                offset,
                size,
            } => write!(
                f,
                "operand at byte {offset} of buffer {handle}: no multiple of {size}"
            ),
            Self::OverlappingOperands { written, read } => write!(
                f,
                "buffer {written} is written and shares bytes with operand {read}"
            ),
            Self::UnsupportedType { ty } => write!(f, "type {ty} is not allowed"),
            Self::StepBudgetExceeded { budget } => write!(f, "more than {budget} steps"),
            Self::TimeLimitExceeded { limit } => {
                write!(
                    f,
                    "the program was still running at its time limit of {} s",
                    limit.as_secs_f64()
                )
            }
            Self::Stopped => f.write_str("the program was stopped on request"),
        }
    }
}
