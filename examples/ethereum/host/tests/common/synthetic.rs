//! Synthetic blocks.

use std::collections::BTreeMap;

use alloy_consensus::{
    proofs::ordered_trie_root_with_encoder, Header, SignableTransaction, TxEip1559,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{keccak256, Address, Bytes, Signature, B256, U256};
use alloy_trie::{
    proof::ProofRetainer, HashBuilder, Nibbles, TrieAccount, EMPTY_ROOT_HASH, KECCAK_EMPTY,
};
use ethereum_core::address_of;
use ethereum_host::Source;
use k256::ecdsa::SigningKey;

/// A key and its address.
pub fn signer(seed: u8) -> (SigningKey, Address) {
    let key = SigningKey::from_slice(&[seed; 32]).unwrap();
    let point = key.verifying_key().to_encoded_point(false);
    let address = address_of(point.as_bytes()[1..].try_into().unwrap());
    (key, address)
}

pub fn sign(key: &SigningKey, hash: B256) -> Signature {
    let (signature, parity) = key.sign_prehash_recoverable(&hash[..]).unwrap();
    let (r, s) = signature.split_bytes();
    let word = |bytes: &[u8]| U256::from_be_slice(bytes);
    Signature::new(word(&r), word(&s), parity.is_y_odd())
}

pub fn transaction<T: SignableTransaction<Signature>>(key: &SigningKey, transaction: T) -> Bytes
where
    alloy_consensus::Signed<T>: Encodable2718,
{
    let signature = sign(key, transaction.signature_hash());
    transaction.into_signed(signature).encoded_2718().into()
}

/// A call without data or value, at the base fee of [`block`].
pub fn call(key: &SigningKey, nonce: u64, gas_limit: u64, to: Address) -> Bytes {
    let call = TxEip1559 {
        chain_id: 1,
        nonce,
        gas_limit,
        max_fee_per_gas: 7,
        to: to.into(),
        ..TxEip1559::default()
    };
    transaction(key, call)
}

/// Header of a block, and its source without that header: transactions on a state with one sender and contracts without storage. The
/// header has no effect of the transactions.
pub fn block(
    sender: Address,
    contracts: &[(Address, Bytes)],
    transactions: Vec<Bytes>,
    gas_limit: u64,
    requests_hash: Option<B256>,
) -> (Header, Source) {
    let account = |balance: u64, code_hash| TrieAccount {
        nonce: 0,
        balance: U256::from(balance),
        storage_root: EMPTY_ROOT_HASH,
        code_hash,
    };
    let contracts_of = contracts
        .iter()
        .map(|(address, code)| (*address, account(0, keccak256(code))));
    let accounts: BTreeMap<B256, TrieAccount> = contracts_of
        .chain([(sender, account(u64::MAX, KECCAK_EMPTY))])
        .map(|(address, account)| (keccak256(address), account))
        .collect();
    let targets = accounts.keys().map(Nibbles::unpack).collect();
    let mut builder = HashBuilder::default().with_proof_retainer(ProofRetainer::new(targets));
    for (key, account) in &accounts {
        builder.add_leaf(Nibbles::unpack(key), &alloy_rlp::encode(account));
    }
    let parent = Header {
        number: 1,
        timestamp: 1,
        state_root: builder.root(),
        gas_limit,
        gas_used: gas_limit / 2,
        base_fee_per_gas: Some(7),
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash,
        ..Header::default()
    };
    let header = Header {
        number: 2,
        timestamp: 13,
        parent_hash: parent.hash_slow(),
        transactions_root: ordered_trie_root_with_encoder(&transactions, |bytes, out| {
            out.extend_from_slice(bytes)
        }),
        gas_used: 0,
        ..parent.clone()
    };
    let nodes = builder.take_proof_nodes().into_inner().into_values();
    let source = Source {
        header: Bytes::new(),
        ommers: vec![0xc0].into(),
        withdrawals: vec![0xc0].into(),
        transactions,
        nodes: nodes.collect(),
        codes: contracts.iter().map(|(_, code)| code.clone()).collect(),
        headers: vec![alloy_rlp::encode(&parent).into()],
    };
    (header, source)
}
