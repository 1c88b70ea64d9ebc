//! `Fault`: an instruction of a guest that OpenVM's circuits do not allow.

use openvm_circuit::arch::{instructions::PhantomDiscriminant, ExecutionError};
use openvm_rv32im_transpiler::MAX_HINT_BUFFER_WORDS;

/// Access of a guest to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Reads,
    Writes,
}

impl std::fmt::Display for Access {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Reads => "reads",
            Self::Writes => "writes",
        })
    }
}

/// Reason why an instruction of a guest cannot be executed. Addresses are those of the guest, sizes are in bytes.
///
/// The text continues the words "the guest".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Memory at an address that the circuits do not take.
    #[error("{access} {bytes} bytes at address {address:#010x}, which is no multiple of {align}")]
    Misaligned {
        access: Access,
        address: u32,
        bytes: u32,
        align: u32,
    },
    /// Memory that a guest does not have.
    #[error(
        "{access} {bytes} bytes at address {address:#010x}, outside its memory of {size:#x} bytes"
    )]
    OutsideMemory {
        access: Access,
        address: u32,
        bytes: u32,
        size: u32,
    },
    /// Bytes to reveal at a place that the circuits do not take.
    #[error("reveals {bytes} bytes at byte {offset} of the public values, which is no multiple of {align}")]
    MisalignedReveal { offset: u32, bytes: u32, align: u32 },
    /// Bytes to reveal behind the last public value.
    #[error(
        "reveals {bytes} bytes at byte {offset} of the public values, of which there are {size} \
         (num_public_values in openvm.toml)"
    )]
    OutsidePublicValues { offset: u32, bytes: u32, size: u32 },
    /// A jump to an address at which no instruction can be.
    #[error("jumps to {target:#010x}, which is no multiple of 4")]
    MisalignedJump { target: u32 },
    /// A jump out of the program.
    #[error("jumps to {target:#010x}, where it has no code")]
    OutsideCode { target: u32 },
    /// A length that an instruction does not take.
    #[error("gives an instruction {bytes} bytes, it takes multiples of 4 up to {most}")]
    Length { bytes: u32, most: u32 },
    /// A number of words that one instruction does not take from the hints.
    #[error("takes {words} words of hints by one instruction, which takes 1 to {most}")]
    HintWords { words: u32, most: u32 },
    /// A request of more random hints than one instruction makes.
    #[error("asks for {words} words of random hints at once, {most} are the most: ask for fewer at a time")]
    RandomWords { words: u32, most: u32 },
    /// A number that is not reduced.
    #[error("compares the number at address {address:#010x}, which is not below its modulus")]
    NotReduced { address: u32 },
    /// Operands that an instruction has no result for, as the inverse of zero.
    #[error("gives an instruction operands that it has no result for ({reason})")]
    Operands {
        /// Text of OpenVM's executor.
        reason: String,
    },
    /// A call of a deferral circuit with a commitment to an input whose result is not known.
    #[error("calls a deferral circuit, and the result is not given: `StdIn::deferrals` has the results of each circuit's calls")]
    NoDeferredResult,
    /// The end of the program without an exit, or a gap in it.
    #[error("ran past its last instruction without an exit")]
    NoInstruction,
}

impl Fault {
    pub(crate) fn hint_words(words: u32) -> Self {
        let most = MAX_HINT_BUFFER_WORDS as u32;
        Self::HintWords { words, most }
    }
}

/// Exit code other than 0. OpenVM's own error of it does not say where.
#[derive(Debug, thiserror::Error)]
#[error("exit code {0}")]
pub(crate) struct Exit(pub u32);

/// The error of OpenVM that carries a fault, or an exit, through its interpreters.
#[cold]
pub(crate) fn at(pc: u32, why: impl Into<eyre::Report>) -> ExecutionError {
    ExecutionError::Phantom {
        pc,
        discriminant: PhantomDiscriminant(0),
        inner: why.into(),
    }
}
