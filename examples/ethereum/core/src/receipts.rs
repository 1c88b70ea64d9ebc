//! Receipts, their root and bloom filter, and requests to the consensus layer.

use alloc::vec::Vec;
use alloy_eips::eip6110::MAINNET_DEPOSIT_CONTRACT_ADDRESS;
use alloy_primitives::{b256, Bloom, Bytes, Log, B256};
use alloy_rlp::{BufMut, Encodable};
use alloy_trie::root::ordered_trie_root_encoded;
use revm::precompile::crypto;

use crate::error::Refusal;

/// Receipt of one transaction.
pub(crate) struct Receipt {
    pub(crate) kind: u8,
    pub(crate) success: bool,
    pub(crate) gas: u64,
    pub(crate) logs: Vec<Log>,
}

/// Root and bloom filter of receipts.
pub(crate) fn root_and_bloom(receipts: &[Receipt]) -> (B256, Bloom) {
    let mut all = Bloom::ZERO;
    let encoded: Vec<Vec<u8>> = receipts
        .iter()
        .map(|receipt| {
            let mut bloom = Bloom::ZERO;
            receipt.logs.iter().for_each(|log| bloom.accrue_log(log));
            if !receipt.logs.is_empty() {
                all.accrue_bloom(&bloom);
            }
            receipt.encode(&bloom)
        })
        .collect();
    (ordered_trie_root_encoded(&encoded), all)
}

impl Receipt {
    fn encode(&self, bloom: &Bloom) -> Vec<u8> {
        let payload_length =
            self.success.length() + self.gas.length() + bloom.length() + self.logs.length();
        let mut out = Vec::with_capacity(payload_length + 6);
        if self.kind != 0 {
            out.put_u8(self.kind);
        }
        alloy_rlp::Header {
            list: true,
            payload_length,
        }
        .encode(&mut out);
        self.success.encode(&mut out);
        self.gas.encode(&mut out);
        bloom.encode(&mut out);
        self.logs.encode(&mut out);
        out
    }
}

/// Hash of the requests, EIP-7685: of each kind that has any, the kind and its bytes.
pub(crate) fn requests_hash(requests: &[(u8, Bytes)]) -> B256 {
    let mut hashes = Vec::with_capacity(32 * requests.len());
    for (kind, bytes) in requests {
        if !bytes.is_empty() {
            let mut request = Vec::with_capacity(1 + bytes.len());
            request.push(*kind);
            request.extend_from_slice(bytes);
            hashes.extend_from_slice(&crypto().sha256(&request));
        }
    }
    crypto().sha256(&hashes).into()
}

/// `DepositEvent(bytes,bytes,bytes,bytes,bytes)`.
const DEPOSIT: B256 = b256!("649bbc62d0e31342afea4e5cd82d4049e7e1ee912fc0889aa790803be39038c5");

/// Offsets and lengths of a deposit's five fields in the log's data.
const DEPOSIT_FIELDS: [(usize, usize); 5] = [(160, 48), (256, 32), (320, 8), (384, 96), (512, 8)];

/// Deposits of all receipts, EIP-6110.
pub(crate) fn deposits(receipts: &[Receipt]) -> Result<Bytes, Refusal> {
    let mut out = Vec::new();
    for (index, receipt) in receipts.iter().enumerate() {
        for log in &receipt.logs {
            if log.address == MAINNET_DEPOSIT_CONTRACT_ADDRESS
                && log.topics().first() == Some(&DEPOSIT)
            {
                deposit(&log.data.data, &mut out).ok_or(Refusal::Deposit(index))?;
            }
        }
    }
    Ok(out.into())
}

/// Appends the fields of one deposit, whose layout is fixed.
fn deposit(data: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if data.len() != 576 {
        return None;
    }
    let word = |at: usize| {
        let (high, low) = data[at..at + 32].split_at(28);
        let low = u32::from_be_bytes([low[0], low[1], low[2], low[3]]);
        high.iter().all(|byte| *byte == 0).then_some(low as usize)
    };
    for (index, (offset, length)) in DEPOSIT_FIELDS.into_iter().enumerate() {
        if word(32 * index) != Some(offset) || word(offset) != Some(length) {
            return None;
        }
        out.extend_from_slice(&data[offset + 32..offset + 32 + length]);
    }
    Some(())
}
