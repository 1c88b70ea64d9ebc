#![doc = include_str!("../README.md")]

mod baseline;
mod commitment;
mod encoding;
mod error;
mod hash;
mod key;
mod panics;
mod prelude;
mod proof;
mod statement;
mod verify;

pub use baseline::{
    Baseline, CircuitCommit, MemoryDimensions, OpenvmCircuit, DEFAULT_SHAPE, OPENVM_CIRCUIT,
};
pub use commitment::{Commitment, NoCommitment};
pub use encoding::{check_lengths, decode_proof};
pub use error::{Rejection, VerifyError};
pub use key::{
    check_against_baseline, check_key, check_key_of, is_plausible, key_contents, key_hash, require,
    security_bits, VerifyingKey, MIN_SECURITY_BITS,
};
pub use panics::{catch_panic, is_guarded, is_lack_of_memory, is_thread_guarded, panic_message};
pub use proof::{DeferralPaths, PublicValuesProof, StarkProof, VERSION};
pub use statement::check_statement;
pub use verify::{
    bytes, check_proof, verify, verify_files, ComparedWith, Trust, Verified, MAX_EXPECTED, MAX_KEY,
    MAX_PROOF,
};
