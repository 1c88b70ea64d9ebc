//! Answers of an Ethereum client.

#![allow(clippy::result_large_err)]

mod common;

use alloy_consensus::{transaction::Recovered, Header, TxEnvelope};
use alloy_eips::{eip2718::Decodable2718, eip4895::Withdrawals};
use alloy_primitives::{keccak256, Address};
use alloy_rlp::Decodable;
use alloy_rpc_types_eth::{Block, BlockTransactions, Transaction};
use common::mainnet;
use ethereum_core::Forks;
use ethereum_host::{HostError, Source};
use serde_json::{json, Value};

/// The block and the witness of the main chain's block as a client answers.
fn answers() -> (Value, Value) {
    let source = mainnet();
    let header = Header::decode(&mut &source.header[..]).unwrap();
    let transactions = source.transactions.iter().map(|bytes| Transaction {
        inner: Recovered::new_unchecked(
            TxEnvelope::decode_2718_exact(bytes).unwrap(),
            Address::ZERO,
        ),
        block_hash: Some(header.hash_slow()),
        block_number: Some(header.number),
        transaction_index: Some(0),
        effective_gas_price: None,
        block_timestamp: None,
    });
    let block = Block {
        transactions: BlockTransactions::Full(transactions.collect()),
        withdrawals: Some(Withdrawals::decode(&mut &source.withdrawals[..]).unwrap()),
        header: alloy_rpc_types_eth::Header::new(header),
        uncles: Vec::new(),
    };
    let witness = json!({"state": source.nodes, "codes": source.codes, "headers": source.headers, "keys": []});
    (serde_json::to_value(block).unwrap(), witness)
}

#[test]
fn answers_are_the_block_of_the_rlp() {
    let (block, mut witness) = answers();
    let wrapped = json!({"jsonrpc": "2.0", "id": 1, "result": block}).to_string();
    let source = Source::from_json(&wrapped, &witness.to_string()).unwrap();
    let expected = mainnet().prepare(&Forks::MAINNET).unwrap();
    let found = source.prepare(&Forks::MAINNET).unwrap();
    assert_eq!(keccak256(&found.input), keccak256(&expected.input));
    // Headers as fields, as geth has them.
    let parent = Header::decode(&mut &mainnet().headers[0][..]).unwrap();
    witness["headers"] = json!([parent]);
    let source = Source::from_json(&block.to_string(), &witness.to_string()).unwrap();
    assert_eq!(
        source.prepare(&Forks::MAINNET).unwrap().input,
        expected.input
    );
}

#[test]
fn answers_without_a_block_are_refused() {
    let (block, witness) = answers();
    let read = |block: &Value, witness: &Value| {
        Source::from_json(&block.to_string(), &witness.to_string())
            .map(|_| ())
            .unwrap_err()
    };
    let error = json!({"jsonrpc": "2.0", "error": {"code": -32601, "message": "no such method"}});
    assert!(matches!(
        read(&block, &error),
        HostError::Client {
            part: "witness",
            ..
        }
    ));
    let null = json!({"jsonrpc": "2.0", "result": null});
    assert!(matches!(
        read(&null, &witness),
        HostError::Absent { part: "block", .. }
    ));
    assert!(matches!(
        read(&block, &json!({"codes": []})),
        HostError::Json {
            part: "witness",
            ..
        }
    ));
    let mut altered = block.clone();
    altered["gasUsed"] = json!("0x1");
    assert!(matches!(read(&altered, &witness), HostError::Hash { .. }));
    let mut hashes = block;
    hashes["transactions"] = json!([format!("0x{}", "ab".repeat(32))]);
    assert!(matches!(
        read(&hashes, &witness),
        HostError::TransactionHashes
    ));
}
