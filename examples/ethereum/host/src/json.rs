//! A block and its witness as an Ethereum client's JSON.

use alloy_consensus::{EthereumTxEnvelope, Header, TxEip4844};
use alloy_eips::{eip2718::Encodable2718, eip4895::Withdrawals};
use alloy_primitives::Bytes;
use alloy_rlp::Encodable;
use alloy_rpc_types_eth::{Block, BlockTransactions};
use serde::Deserialize;
use serde_json::Value;

use crate::{error::HostError, Source};

#[derive(Deserialize)]
struct Witness {
    state: Vec<Bytes>,
    codes: Vec<Bytes>,
    #[serde(default)]
    headers: Vec<WitnessHeader>,
}

/// Header of a witness: RLP, as reth writes it, or fields, as geth does.
#[derive(Deserialize)]
#[serde(untagged)]
enum WitnessHeader {
    Rlp(Bytes),
    Fields(Box<Header>),
}

/// The answer's `result`, or the JSON itself if it is no answer of JSON-RPC.
fn result(part: &'static str, method: &'static str, text: &str) -> Result<Value, HostError> {
    let mut json: Value =
        serde_json::from_str(text).map_err(|error| HostError::Json { part, error })?;
    if let Some(error) = json.get("error").filter(|error| !error.is_null()) {
        return Err(HostError::Client {
            part,
            error: error.clone(),
        });
    }
    if json.get("jsonrpc").is_some() || json.get("result").is_some() {
        json = json.get_mut("result").map(Value::take).unwrap_or_default();
    }
    if json.is_null() {
        return Err(HostError::Absent { part, method });
    }
    Ok(json)
}

pub(crate) fn source(block: &str, witness: &str) -> Result<Source, HostError> {
    let block = result("block", "eth_getBlockByHash", block)?;
    let witness = result("witness", "debug_executionWitness", witness)?;
    // An empty block's transactions may be read as either.
    let hashes = block.get("transactions").and_then(Value::as_array);
    if hashes.is_some_and(|list| list.iter().any(Value::is_string)) {
        return Err(HostError::TransactionHashes);
    }
    let block: Block = serde_json::from_value(block).map_err(|error| HostError::Json {
        part: "block",
        error,
    })?;
    let witness: Witness = serde_json::from_value(witness).map_err(|error| HostError::Json {
        part: "witness",
        error,
    })?;

    let header = block.header.inner;
    let computed = header.hash_slow();
    if computed != block.header.hash {
        return Err(HostError::Hash {
            computed,
            stated: block.header.hash,
        });
    }
    let transactions = match block.transactions {
        BlockTransactions::Full(transactions) => transactions,
        _ => Vec::new(),
    };
    Ok(Source {
        header: rlp(&header),
        // After the merge there are none; the header's hash of them is checked.
        ommers: rlp::<Vec<Header>>(&Vec::new()),
        withdrawals: rlp(&block
            .withdrawals
            .unwrap_or(Withdrawals::default())
            .into_inner()),
        transactions: transactions
            .into_iter()
            .map(|transaction| {
                let envelope: EthereumTxEnvelope<TxEip4844> = transaction.inner.into_inner().into();
                envelope.encoded_2718().into()
            })
            .collect(),
        nodes: witness.state,
        codes: witness.codes,
        headers: witness
            .headers
            .into_iter()
            .map(|header| match header {
                WitnessHeader::Rlp(rlp) => rlp,
                WitnessHeader::Fields(header) => rlp(&*header),
            })
            .collect(),
    })
}

fn rlp<T: Encodable>(value: &T) -> Bytes {
    alloy_rlp::encode(value).into()
}
