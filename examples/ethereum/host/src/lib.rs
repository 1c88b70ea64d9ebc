//! Input of the guest from a block and its witness, RLP or the JSON of an Ethereum client.

// An error is made once, and ends the work.
#![allow(clippy::result_large_err)]

mod error;
mod json;
mod nodes;
mod rlp;

use std::collections::{HashMap, HashSet};

use alloy_consensus::Header;
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{keccak256, Bytes, B256};
use alloy_rlp::Decodable;
use ethereum_core::{
    validate, validate_and_trace, Code, Envelope, Forks, Input, Needs, PublicKey, Refusal,
    Software, Valid,
};
use k256::ecdsa::{RecoveryId, Signature, VerifyingKey};

pub use error::HostError;

/// A block and what a client says of the state that it reads.
#[derive(Clone, Debug, Default)]
pub struct Source {
    /// RLP of the header.
    pub header: Bytes,
    /// RLP of the list of uncles.
    pub ommers: Bytes,
    /// RLP of the list of withdrawals.
    pub withdrawals: Bytes,
    /// Transactions in EIP-2718's encoding.
    pub transactions: Vec<Bytes>,
    /// Trie nodes of accounts and storage, in any order.
    pub nodes: Vec<Bytes>,
    /// Codes of contracts.
    pub codes: Vec<Bytes>,
    /// RLP of ancestors' headers, in any order.
    pub headers: Vec<Bytes>,
}

/// Input of the guest, and the block that it proves.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Bytes of the guest's input.
    pub input: Vec<u8>,
    /// The block, as validated natively.
    pub block: Valid,
    /// The parts of the witness that the input has.
    pub needs: Needs,
}

impl Source {
    /// Reads a block with its witness: an RLP list of the block, trie nodes, codes, and ancestors' headers.
    ///
    /// # Errors
    ///
    /// [`HostError::Rlp`] for another form.
    pub fn from_rlp(bytes: &[u8]) -> Result<Self, HostError> {
        rlp::source(bytes)
    }

    /// Reads the answers to `eth_getBlockByHash` (or `eth_getBlockByNumber`), with whole transactions, and to
    /// `debug_executionWitness`; each alone or as `result` of a JSON-RPC answer.
    ///
    /// # Errors
    ///
    /// [`HostError`] for JSON of another form, for an error that the client answered, and for fields that are absent.
    pub fn from_json(block: &str, witness: &str) -> Result<Self, HostError> {
        json::source(block, witness)
    }

    /// Input with all of the witness.
    ///
    /// # Errors
    ///
    /// [`HostError::Rlp`] if the block's header or the parent's is malformed.
    pub fn input(&self) -> Result<Input, HostError> {
        let codes: HashMap<B256, &Bytes> = self
            .codes
            .iter()
            .map(|code| (keccak256(code), code))
            .collect();
        self.assemble(None, codes.into_values(), usize::MAX)
    }

    /// Validates the block natively, and makes an input of what it needs.
    ///
    /// # Errors
    ///
    /// [`HostError::Refused`] with the rule that the block breaks, or the part of the witness that is absent.
    pub fn prepare(&self, forks: &Forks) -> Result<Prepared, HostError> {
        let (block, needs) = validate_and_trace(self.input()?, forks, &Software)?;
        let nodes: HashSet<B256> = needs.nodes.iter().copied().collect();
        let codes: HashMap<B256, &Bytes> = self
            .codes
            .iter()
            .map(|code| (keccak256(code), code))
            .collect();
        let mut used = needs.codes.clone();
        used.sort();
        let codes = used.iter().filter_map(|hash| codes.get(hash).copied());
        let input = self.assemble(Some(&nodes), codes, needs.ancestors)?.write();
        // The smaller input has to be as good as the whole.
        let read = Input::read(&input.clone().into()).map_err(Refusal::from)?;
        validate(read, forks, &Software)?;
        Ok(Prepared {
            input,
            block,
            needs,
        })
    }

    fn assemble<'a>(
        &self,
        used: Option<&HashSet<B256>>,
        codes: impl Iterator<Item = &'a Bytes>,
        ancestors: usize,
    ) -> Result<Input, HostError> {
        let header: Header = decode("header", &self.header)?;
        let ancestors = self.ancestors(header.parent_hash, ancestors)?;
        let root = match ancestors.first() {
            Some(parent) => decode::<Header>("parent's header", parent)?.state_root,
            None => B256::ZERO,
        };
        let transactions = self.transactions.iter();
        Ok(Input {
            header: self.header.clone(),
            ommers: self.ommers.clone(),
            withdrawals: self.withdrawals.clone(),
            transactions: transactions
                .map(|bytes| (signer(bytes), bytes.clone()))
                .collect(),
            ancestors,
            codes: codes.map(|code| Code::new(code)).collect(),
            nodes: nodes::ordered(root, &self.nodes, used),
        })
    }

    /// Headers from the parent back, as many as follow one another. Without the parent's, the first of another block.
    fn ancestors(&self, parent: B256, most: usize) -> Result<Vec<Bytes>, HostError> {
        let headers: HashMap<B256, &Bytes> = self
            .headers
            .iter()
            .map(|header| (keccak256(header), header))
            .collect();
        let mut next = parent;
        let mut chain = Vec::new();
        while let Some(header) = headers.get(&next).filter(|_| chain.len() < most.min(256)) {
            chain.push((*header).clone());
            next = decode::<Header>("ancestor's header", header)?.parent_hash;
        }
        if chain.is_empty() {
            chain.extend(self.headers.first().cloned());
        }
        Ok(chain)
    }
}

/// Key of a transaction's signer, for the guest to verify; zeros if there is none, and the block is refused.
fn signer(transaction: &[u8]) -> PublicKey {
    recover(transaction).unwrap_or([0; 64])
}

fn recover(transaction: &[u8]) -> Option<PublicKey> {
    let transaction = Envelope::decode_2718_exact(transaction).ok()?;
    let hash = transaction.signature_hash();
    let signature = transaction.signature();
    let parity = RecoveryId::new(signature.v(), false);
    let signature = Signature::from_slice(&signature.as_rsy()[..64]).ok()?;
    let key = VerifyingKey::recover_from_prehash(&hash[..], &signature, parity).ok()?;
    key.to_encoded_point(false).as_bytes()[1..].try_into().ok()
}

pub(crate) fn decode<T: Decodable>(part: &'static str, mut rlp: &[u8]) -> Result<T, HostError> {
    let value = T::decode(&mut rlp).map_err(|error| HostError::Rlp { part, error })?;
    if !rlp.is_empty() {
        return Err(HostError::Rlp {
            part,
            error: alloy_rlp::Error::UnexpectedLength,
        });
    }
    Ok(value)
}
