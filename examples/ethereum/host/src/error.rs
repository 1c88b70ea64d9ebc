//! Errors of the host.

use ethereum_core::Refusal;
use thiserror::Error;

/// Error of the host.
#[derive(Debug, Error)]
pub enum HostError {
    /// RLP of another form.
    #[error("the RLP of the {part} is malformed: {error}")]
    Rlp {
        /// Part of the block or witness.
        part: &'static str,
        /// Fault of the encoding.
        error: alloy_rlp::Error,
    },
    /// JSON of another form.
    #[error("the JSON of the {part} is malformed: {error}")]
    Json {
        /// `block` or `witness`.
        part: &'static str,
        /// Fault.
        error: serde_json::Error,
    },
    /// An error that the client answered.
    #[error("the client answered the request for the {part} with an error: {error}")]
    Client {
        /// `block` or `witness`.
        part: &'static str,
        /// The client's error.
        error: serde_json::Value,
    },
    /// An answer without a block or witness.
    #[error(
        "the client's answer has no {part}: ask for a block that the client has, with {method}"
    )]
    Absent {
        /// `block` or `witness`.
        part: &'static str,
        /// Method to call.
        method: &'static str,
    },
    /// A block of JSON whose hash is not the one that it states.
    #[error("the block's fields give the hash {computed}, and the client says {stated}: a field is unknown or altered")]
    Hash {
        /// Hash of the fields.
        computed: alloy_primitives::B256,
        /// Hash of the JSON.
        stated: alloy_primitives::B256,
    },
    /// A block with hashes in place of transactions.
    #[error("the block has only the hashes of its transactions: call eth_getBlockByHash with `true` as its second parameter")]
    TransactionHashes,
    /// A block that is refused.
    #[error("the block is refused: {0}")]
    Refused(#[from] Refusal),
}
