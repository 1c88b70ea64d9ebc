//! Stateless validation of Ethereum blocks of Cancun, Prague and Osaka: from a block, its parent's header and the parts of the
//! state that it reads, to the block's hash or to the reason for which it is refused.
#![cfg_attr(not(test), no_std)]
// A refusal is made once, and ends the validation.
#![allow(clippy::result_large_err)]

extern crate alloc;

mod code;
mod error;
mod execution;
mod forks;
mod header;
pub mod input;
mod instructions;
mod node;
mod receipts;
mod state;
mod transactions;
pub mod trie;
mod words;

use alloc::vec::Vec;
use alloy_consensus::Header;
use alloy_eips::{eip4844::DATA_GAS_PER_BLOB, eip4895::Withdrawal};
use alloy_primitives::{keccak256, Bytes, B256, U256};
use alloy_rlp::{Decodable, EMPTY_LIST_CODE};
use alloy_trie::root::{ordered_trie_root, ordered_trie_root_encoded};

pub use error::Refusal;
pub use forks::{Forks, Rules};
pub use input::{Code, Input, InputError, Nodes, PublicKey};
use receipts::{requests_hash, root_and_bloom};
use state::State;
pub use state::StateError;
pub use transactions::{address_of, Accelerator, Envelope, Software};
pub use trie::{Trie, TrieError};
pub use words::Words;

use alloy_consensus::Transaction;

/// Largest block from Osaka on, EIP-7934.
const MAX_BLOCK_BYTES: usize = 8 << 20;

/// A valid block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Valid {
    /// Hash of the block.
    pub hash: B256,
    /// Number of the block.
    pub number: u64,
    /// Gas that its transactions use.
    pub gas: u64,
}

/// The parts of a witness that validation reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needs {
    /// Digests of trie nodes.
    pub nodes: Vec<B256>,
    /// Hashes of codes.
    pub codes: Vec<B256>,
    /// Ancestors' headers, the parent's among them.
    pub ancestors: usize,
}

/// Validates the block of an input.
///
/// The block is valid if its parent is, whose header the block's hash commits to.
///
/// # Errors
///
/// [`Refusal`]: the first rule that the block breaks, or the part of the input that is malformed or absent.
pub fn validate<N: Nodes, M: Accelerator>(
    input: Input<N>,
    forks: &Forks,
    accelerator: &M,
) -> Result<Valid, Refusal> {
    validate_with_state(input, forks, accelerator).map(|(valid, _)| valid)
}

/// Validates the block of an input as [`validate`] does, and says what it needs of the witness.
///
/// # Errors
///
/// [`Refusal`], as [`validate`].
pub fn validate_and_trace<N: Nodes, M: Accelerator>(
    input: Input<N>,
    forks: &Forks,
    accelerator: &M,
) -> Result<(Valid, Needs), Refusal> {
    let (valid, state) = validate_with_state(input, forks, accelerator)?;
    let needs = Needs {
        nodes: state.trie().used(),
        codes: state.used_codes(),
        ancestors: (valid.number.saturating_sub(1) - state.oldest) as usize + 1,
    };
    Ok((valid, needs))
}

fn validate_with_state<N: Nodes, M: Accelerator>(
    input: Input<N>,
    forks: &Forks,
    accelerator: &M,
) -> Result<(Valid, State<N>), Refusal> {
    let hash = keccak256(&input.header);
    let header: Header = decode("header", &input.header)?;
    let rules = forks
        .at(header.timestamp)
        .ok_or(Refusal::Fork(header.timestamp))?;
    let parent_number = header.number.saturating_sub(1);
    let no_parent = Refusal::NoParent {
        number: parent_number,
        hash: header.parent_hash,
    };
    let parent_rlp = input.ancestors.first().ok_or(no_parent)?;
    let found = keccak256(parent_rlp);
    if found != header.parent_hash {
        return Err(Refusal::UnknownParent {
            named: header.parent_hash,
            found,
        });
    }
    let parent: Header = decode("parent's header", parent_rlp)?;
    header::check(&header, &parent, &rules)?;
    let withdrawals = check_body(&header, &rules, &input)?;

    let mut transactions = Vec::with_capacity(input.transactions.len());
    let mut blobs = 0;
    for (index, (key, bytes)) in input.transactions.iter().enumerate() {
        let transaction = transactions::decode(index, bytes)?;
        let sender = transactions::sender(&transaction, key, accelerator);
        blobs += transaction.blob_count().unwrap_or_default();
        transactions.push((transaction, sender.ok_or(Refusal::Signature(index))?));
    }
    let ancestors = ancestors(&input.ancestors, header.parent_hash, &parent)?;
    let (trie, root) = Trie::read(input.nodes)?;
    let witness = trie.root(root);
    if witness != parent.state_root {
        return Err(Refusal::OtherState {
            witness,
            parent: parent.state_root,
        });
    }
    let state = State::new((trie, root), &input.codes, ancestors, parent.number);
    let (outcome, state) = execution::execute::<M, N>(
        &header,
        &rules,
        forks.chain,
        &transactions,
        &withdrawals,
        state,
    )?;

    // After execution, so that a transaction that is not allowed is the reason and not its effect on a sum.
    let bytes: Vec<&Bytes> = input.transactions.iter().map(|(_, bytes)| bytes).collect();
    same(
        "transactions root",
        header.transactions_root,
        ordered_trie_root_encoded(&bytes),
    )?;
    equal(
        "blob gas used",
        header.blob_gas_used.unwrap_or_default(),
        blobs * DATA_GAS_PER_BLOB,
    )?;
    equal("gas used", header.gas_used, outcome.gas)?;
    let (receipts_root, bloom) = root_and_bloom(&outcome.receipts);
    same("receipts root", header.receipts_root, receipts_root)?;
    if bloom != header.logs_bloom {
        return Err(Refusal::Bloom);
    }
    if let Some(expected) = header.requests_hash {
        same("requests hash", expected, requests_hash(&outcome.requests))?;
    }
    same("state root", header.state_root, outcome.state_root)?;
    let valid = Valid {
        hash,
        number: header.number,
        gas: outcome.gas,
    };
    Ok((valid, state))
}

/// Compares the body with the header, and returns the withdrawals.
fn check_body<N>(
    header: &Header,
    rules: &Rules,
    input: &Input<N>,
) -> Result<Vec<Withdrawal>, Refusal> {
    if input.ommers[..] != [EMPTY_LIST_CODE] {
        return Err(Refusal::Ommers);
    }
    if rules.osaka {
        // A transaction of a type is a string in the list, one of type 0 a list.
        let transactions = input.transactions.iter().map(|(_, bytes)| {
            let typed = bytes.first().is_some_and(|first| *first < EMPTY_LIST_CODE);
            if typed {
                list_length(bytes.len())
            } else {
                bytes.len()
            }
        });
        let payload = input.header.len()
            + list_length(transactions.sum())
            + input.ommers.len()
            + input.withdrawals.len();
        let length = list_length(payload);
        if length > MAX_BLOCK_BYTES {
            return Err(Refusal::Size(length));
        }
    }
    let withdrawals: Vec<Withdrawal> = decode("withdrawals", &input.withdrawals)?;
    let root = header.withdrawals_root.unwrap_or_default();
    same("withdrawals root", root, ordered_trie_root(&withdrawals))?;
    Ok(withdrawals)
}

/// Hashes of the ancestors, each of which has to be the parent of the one before.
fn ancestors(headers: &[Bytes], parent_hash: B256, parent: &Header) -> Result<Vec<B256>, Refusal> {
    let mut hashes = Vec::with_capacity(headers.len());
    hashes.push(parent_hash);
    let mut named = parent.parent_hash;
    for rlp in headers.iter().skip(1) {
        let found = keccak256(rlp);
        if found != named {
            return Err(Refusal::UnknownParent { named, found });
        }
        named = decode::<Header>("ancestor's header", rlp)?.parent_hash;
        hashes.push(found);
    }
    Ok(hashes)
}

/// Length of an RLP list or long string with its header.
fn list_length(payload: usize) -> usize {
    payload + alloy_rlp::length_of_length(payload)
}

fn decode<T: Decodable>(part: &'static str, mut rlp: &[u8]) -> Result<T, Refusal> {
    let value = T::decode(&mut rlp).map_err(|error| Refusal::Rlp { part, error })?;
    if !rlp.is_empty() {
        return Err(Refusal::Rlp {
            part,
            error: alloy_rlp::Error::UnexpectedLength,
        });
    }
    Ok(value)
}

fn equal(field: &'static str, header: u64, computed: u64) -> Result<(), Refusal> {
    let (header, computed) = (U256::from(header), U256::from(computed));
    if header != computed {
        return Err(Refusal::Mismatch {
            field,
            header,
            computed,
        });
    }
    Ok(())
}

fn same(field: &'static str, header: B256, computed: B256) -> Result<(), Refusal> {
    if header != computed {
        return Err(Refusal::Root {
            field,
            header,
            computed,
        });
    }
    Ok(())
}
