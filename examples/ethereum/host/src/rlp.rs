//! A block with its witness as RLP.

use alloy_primitives::Bytes;
use alloy_rlp::{Decodable, Header};

use crate::{error::HostError, Source};

/// Items of the list that `rlp` is, each with its header.
fn items<'a>(part: &'static str, mut rlp: &'a [u8]) -> Result<Vec<&'a [u8]>, HostError> {
    let malformed = |error| HostError::Rlp { part, error };
    let header = Header::decode(&mut rlp).map_err(malformed)?;
    if !header.list {
        return Err(malformed(alloy_rlp::Error::UnexpectedString));
    }
    if rlp.len() != header.payload_length {
        return Err(malformed(alloy_rlp::Error::UnexpectedLength));
    }
    let mut items = Vec::new();
    while !rlp.is_empty() {
        let mut rest = rlp;
        let header = Header::decode(&mut rest).map_err(malformed)?;
        let length = rlp.len() - rest.len() + header.payload_length;
        // The decoder has checked that the payload is there.
        let (item, next) = rlp.split_at(length);
        items.push(item);
        rlp = next;
    }
    Ok(items)
}

fn strings(part: &'static str, rlp: &[u8]) -> Result<Vec<Bytes>, HostError> {
    let string =
        |mut item: &[u8]| Bytes::decode(&mut item).map_err(|error| HostError::Rlp { part, error });
    items(part, rlp)?.into_iter().map(string).collect()
}

pub(crate) fn source(rlp: &[u8]) -> Result<Source, HostError> {
    let count = |part| HostError::Rlp {
        part,
        error: alloy_rlp::Error::Custom("the list has another number of items"),
    };
    let [block, state, codes, headers] = items("witness", rlp)?[..] else {
        return Err(count("witness"));
    };
    let [header, transactions, ommers, withdrawals] = items("block", block)?[..] else {
        return Err(count("block"));
    };
    Ok(Source {
        header: Bytes::copy_from_slice(header),
        ommers: Bytes::copy_from_slice(ommers),
        withdrawals: Bytes::copy_from_slice(withdrawals),
        transactions: items("transactions", transactions)?
            .into_iter()
            .map(|item| {
                // A transaction of a type is a string in the list; one of type 0 a list itself.
                if item[0] >= 0xc0 {
                    return Ok(Bytes::copy_from_slice(item));
                }
                let mut rest = item;
                let part = "transactions";
                Bytes::decode(&mut rest).map_err(|error| HostError::Rlp { part, error })
            })
            .collect::<Result<_, _>>()?,
        nodes: strings("trie nodes", state)?,
        codes: strings("codes", codes)?,
        headers: items("headers", headers)?
            .into_iter()
            .map(header_rlp)
            .collect::<Result<_, _>>()?,
    })
}

/// Headers are lists, or strings that contain lists.
fn header_rlp(item: &[u8]) -> Result<Bytes, HostError> {
    if item[0] >= 0xc0 {
        return Ok(Bytes::copy_from_slice(item));
    }
    let mut rest = item;
    Bytes::decode(&mut rest).map_err(|error| HostError::Rlp {
        part: "headers",
        error,
    })
}
