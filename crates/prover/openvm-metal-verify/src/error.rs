//! `VerifyError`: everything for which a proof is refused.

use openvm_stark_backend::verifier::VerifierError;

use crate::{
    commitment::Commitment,
    panics::{catch_panic, is_lack_of_memory},
    prelude::EF,
};

/// The reason why a proof was refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// Bytes that do not hold what their use expects.
    #[error("{what} cannot be taken from bytes: {reason}")]
    Bytes { what: &'static str, reason: String },
    /// A verifying key that is not the key it is taken for.
    #[error(
        "{what} is refused: {reason}; make the key and the baseline yourself \
         (`openvm-metal keygen`, `setup`, `commit`), or take them from someone you trust"
    )]
    Key { what: &'static str, reason: String },
    /// A key that was compared with nothing.
    #[error("a key of unknown origin can be the key of any circuit: {remedy}")]
    UntrustedKey { remedy: &'static str },
    /// Parameters with which proofs can be forged.
    #[error(
        "{what} gives {bits:.1} bits of security, at least {min:.0} are required: proofs with \
         such parameters can be forged; --allow-insecure (allow_insecure, min_security_bits) takes them all the \
         same, to try things out"
    )]
    Insecure {
        what: &'static str,
        bits: f64,
        /// The least that is accepted.
        min: f64,
    },
    /// A proof of another program, or of another virtual machine.
    #[error("the {what} is {found}, expected is {expected}: another one, or the same under other parameters")]
    OtherProgram {
        what: &'static str,
        found: Commitment,
        expected: Commitment,
    },
    /// A proof that does not verify, or is of something else.
    #[error("the proof is not accepted: {0}")]
    Rejected(#[from] Rejection),
    /// OpenVM's verifier panicked on a proof or a key.
    #[error("the proof is not accepted: OpenVM's verifier cannot work with it or its key: one of them is damaged or forged")]
    Unverifiable {
        /// The text of the panic, for logs.
        message: String,
    },
    /// The system refused memory.
    #[error("verifying: out of memory: the system refuses memory or a thread")]
    OutOfMemory,
}

/// The first check that a proof failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// OpenVM's STARK verifier refused it.
    #[error("Stark verifier failed with error: {0}")]
    Stark(#[from] VerifierError<EF>),
    /// A proof of a circuit with other public values than the last circuit's.
    #[error("it lacks public values of its circuit")]
    Shape,
    /// A baseline with a memory that no virtual machine has.
    #[error("no virtual machine has the memory that the baseline names")]
    Memory,
    /// Another number of public values than the baseline's.
    #[error("it reveals {found} bytes of public values, the baseline names {expected}")]
    PublicValueCount { found: usize, expected: usize },
    /// Public values that are not in the memory at the end of the execution.
    #[error("its public values are not those of the memory at the end of the execution")]
    PublicValues,
    /// Another program than the baseline's.
    #[error(
        "its program is {found}, the baseline names {expected}: another program, or the same under other parameters of the application's \
         circuit or another layout of the memory"
    )]
    Program {
        found: Commitment,
        expected: Commitment,
    },
    /// An execution that did not end, or with another exit code than 0.
    #[error("the execution did not end with exit code 0 (ended: {ended}, exit code {code})")]
    Exit { ended: bool, code: u32 },
    /// A proof of another circuit than the last one.
    #[error(
        "it is the proof of an inner circuit, not of the last one (number {0}, expected is 2)"
    )]
    InnerCircuit(u32),
    /// Another circuit than the baseline's.
    #[error("the {part} of its {circuit} circuit is {found}, the baseline names {expected}")]
    Circuit {
        circuit: &'static str,
        part: &'static str,
        found: Commitment,
        expected: Commitment,
    },
    /// A number of internal layers that no proof has.
    #[error("it has {0} layers of its last circuit, 1 to 256 are possible")]
    Depth(u32),
    /// A wrong use of deferred computations.
    #[error("its deferred computations are not the baseline's: {0}")]
    Deferral(&'static str),
}

/// Runs a function of OpenVM's libraries, some of which panic on bad input, and makes an error of a panic.
///
/// # Errors
/// [`VerifyError::Unverifiable`] or [`VerifyError::OutOfMemory`].
pub(crate) fn guard<T>(f: impl FnOnce() -> T) -> Result<T, VerifyError> {
    catch_panic(f).map_err(|message| match is_lack_of_memory(&message) {
        true => VerifyError::OutOfMemory,
        false => VerifyError::Unverifiable { message },
    })
}
