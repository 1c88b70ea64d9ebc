//! Reasons for which a block is refused.

use alloc::string::String;
use alloy_primitives::{Address, B256, U256};
use revm::context_interface::result::InvalidTransaction;
use thiserror::Error;

use crate::{input::InputError, state::StateError, trie::TrieError};

/// Reason for which a block is refused.
#[derive(Debug, Error)]
pub enum Refusal {
    /// Input of another form.
    #[error("input: {0}")]
    Input(#[from] InputError),
    /// Fault of the trie's nodes.
    #[error("witness: {0}")]
    Trie(#[from] TrieError),
    /// Part of the state that the witness lacks.
    #[error("witness: {0}")]
    State(#[from] StateError),
    /// A witness without headers.
    #[error("the witness lacks the parent's header, block {number} with hash {hash}")]
    NoParent {
        /// Number of the parent.
        number: u64,
        /// Hash of the parent.
        hash: B256,
    },
    /// A state root that is not the parent's.
    #[error("the witness is of the state {witness}, and the parent's is {parent}")]
    OtherState {
        /// Root of the witness.
        witness: B256,
        /// Root in the parent's header.
        parent: B256,
    },
    /// RLP of the header, an ancestor, the uncles or the withdrawals.
    #[error("the RLP of the {part} is malformed: {error}")]
    Rlp {
        /// Part of the block.
        part: &'static str,
        /// Fault of the encoding.
        error: alloy_rlp::Error,
    },
    /// A time before the first fork that is known.
    #[error("the block's time {0} is before Cancun: no rules are known for it")]
    Fork(u64),
    /// A field of the header that the fork does not have.
    #[error("the header has the field {0}, which its fork does not have")]
    FieldTooMuch(&'static str),
    /// A field of the header that the fork requires.
    #[error("the header lacks the field {0}")]
    FieldMissing(&'static str),
    /// A hash of the parent that the parent's header does not have.
    #[error("the parent's hash is {named} in the header, and the witness's header has {found}")]
    UnknownParent {
        /// Hash in the header.
        named: B256,
        /// Hash of the header in the witness.
        found: B256,
    },
    /// A number that does not follow the parent's.
    #[error("the block's number is {block}, and the parent's {parent}")]
    Number {
        /// Number of the block.
        block: u64,
        /// Number of the parent.
        parent: u64,
    },
    /// A time that is not after the parent's.
    #[error("the block's time is {block}, and the parent's {parent}")]
    Timestamp {
        /// Time of the block.
        block: u64,
        /// Time of the parent.
        parent: u64,
    },
    /// Extra data of more than 32 bytes.
    #[error("the extra data has {0} bytes; at most 32 are allowed")]
    ExtraData(usize),
    /// A gas limit too far from the parent's, below 5,000, or above 2^63 - 1.
    #[error("the gas limit {limit} may not follow the parent's {parent}")]
    GasLimit {
        /// Gas limit of the block.
        limit: u64,
        /// Gas limit of the parent.
        parent: u64,
    },
    /// Gas used above the limit.
    #[error("the header's gas used, {used}, exceeds its limit {limit}")]
    GasUsedAboveLimit {
        /// Gas used.
        used: u64,
        /// Gas limit.
        limit: u64,
    },
    /// A base fee other than the one that follows from the parent.
    #[error("the base fee is {found}; {expected} follows from the parent")]
    BaseFee {
        /// Fee that follows from the parent.
        expected: u64,
        /// Fee in the header.
        found: u64,
    },
    /// A difficulty or nonce of proof of work.
    #[error("the {0} is not zero, as proof of stake requires")]
    ProofOfWork(&'static str),
    /// Uncles.
    #[error("the block has uncles, or its header says so")]
    Ommers,
    /// Excess blob gas other than the one that follows from the parent.
    #[error("the excess blob gas is {found}; {expected} follows from the parent")]
    ExcessBlobGas {
        /// Gas that follows from the parent.
        expected: u64,
        /// Gas in the header.
        found: u64,
    },
    /// Blob gas above the fork's limit.
    #[error("the blobs use {used} gas; at most {limit} is allowed")]
    BlobGasAboveLimit {
        /// Gas used.
        used: u64,
        /// Limit of the fork.
        limit: u64,
    },
    /// A block longer than EIP-7934 allows.
    #[error("the block has {0} bytes; at most 8388608 are allowed")]
    Size(usize),
    /// A transaction whose encoding is malformed or of an unknown type.
    #[error("transaction {index}: the encoding is malformed: {error}")]
    TransactionEncoding {
        /// Index in the block.
        index: usize,
        /// Fault of the encoding.
        error: alloy_rlp::Error,
    },
    /// A signature that no key of the curve makes, or a hint that is not the signer's key.
    #[error(
        "transaction {0}: the signature is invalid, or the key in the input is not its signer's"
    )]
    Signature(usize),
    /// A transaction with more gas than is left in the block.
    #[error("transaction {index}: its gas limit is {limit}, and {left} is left in the block")]
    TransactionGas {
        /// Index in the block.
        index: usize,
        /// Gas limit of the transaction.
        limit: u64,
        /// Gas left in the block.
        left: u64,
    },
    /// A transaction that the rules do not allow.
    #[error("transaction {index}: {reason}")]
    Transaction {
        /// Index in the block.
        index: usize,
        /// Rule that is broken.
        reason: InvalidTransaction,
    },
    /// A call of the system that fails or whose contract is absent.
    #[error("the call of the system contract {address} fails: {reason}")]
    SystemCall {
        /// Contract.
        address: Address,
        /// Reason.
        reason: String,
    },
    /// A log of the deposit contract that is no deposit.
    #[error("transaction {0}: a log of the deposit contract is no deposit")]
    Deposit(usize),
    /// A value of the header that differs from the computed one.
    #[error("the {field} is {header} in the header, and {computed} by execution")]
    Mismatch {
        /// Field of the header.
        field: &'static str,
        /// Value in the header.
        header: U256,
        /// Computed value.
        computed: U256,
    },
    /// A root or hash of the header that differs from the computed one.
    #[error("the {field} is {header} in the header, and {computed} is computed")]
    Root {
        /// Field of the header.
        field: &'static str,
        /// Value in the header.
        header: B256,
        /// Computed value.
        computed: B256,
    },
    /// A bloom filter that differs from the computed one.
    #[error("the bloom filter of the header differs from the one of the logs")]
    Bloom,
    /// A failure of the EVM that is no rule's.
    #[error("transaction {index}: {reason}")]
    Machine {
        /// Index in the block.
        index: usize,
        /// Reason.
        reason: String,
    },
}
