//! Gas of authorizations, EIP-7702, in a block that is made here.

use std::collections::BTreeMap;

use alloy_consensus::{
    proofs::ordered_trie_root_with_encoder, Header, SignableTransaction, TxEip1559, TxEip7702,
};
use alloy_eips::{
    eip2718::Encodable2718, eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, eip7702::Authorization,
};
use alloy_primitives::{keccak256, Address, Bytes, Signature, B256, U256};
use alloy_trie::{
    proof::ProofRetainer, HashBuilder, Nibbles, TrieAccount, EMPTY_ROOT_HASH, KECCAK_EMPTY,
};
use ethereum_core::{address_of, Forks, Refusal};
use ethereum_host::{HostError, Source};
use k256::ecdsa::SigningKey;

const PRAGUE: Forks = Forks {
    prague: Some(0),
    ..Forks::CANCUN
};

fn signer(seed: u8) -> (SigningKey, Address) {
    let key = SigningKey::from_slice(&[seed; 32]).unwrap();
    let point = key.verifying_key().to_encoded_point(false);
    let address = address_of(point.as_bytes()[1..].try_into().unwrap());
    (key, address)
}

fn sign(key: &SigningKey, hash: B256) -> Signature {
    let (signature, parity) = key.sign_prehash_recoverable(&hash[..]).unwrap();
    let (r, s) = signature.split_bytes();
    let word = |bytes: &[u8]| U256::from_be_slice(bytes);
    Signature::new(word(&r), word(&s), parity.is_y_odd())
}

fn transaction<T: SignableTransaction<Signature>>(key: &SigningKey, transaction: T) -> Bytes
where
    alloy_consensus::Signed<T>: Encodable2718,
{
    let signature = sign(key, transaction.signature_hash());
    transaction.into_signed(signature).encoded_2718().into()
}

/// Gas of a block of these transactions on a state with one sender and the system's contracts.
fn gas(sender: Address, transactions: Vec<Bytes>) -> U256 {
    let code = Bytes::from_static(&[0]);
    let account = |balance: u64, code_hash| TrieAccount {
        nonce: 0,
        balance: U256::from(balance),
        storage_root: EMPTY_ROOT_HASH,
        code_hash,
    };
    let accounts: BTreeMap<B256, TrieAccount> = [
        (sender, account(u64::MAX, KECCAK_EMPTY)),
        (
            WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
            account(0, keccak256(&code)),
        ),
        (
            CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
            account(0, keccak256(&code)),
        ),
    ]
    .into_iter()
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
        gas_limit: 30_000_000,
        gas_used: 15_000_000,
        base_fee_per_gas: Some(7),
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(B256::ZERO),
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
        header: alloy_rlp::encode(&header).into(),
        ommers: vec![0xc0].into(),
        withdrawals: vec![0xc0].into(),
        transactions,
        nodes: nodes.collect(),
        codes: vec![code],
        headers: vec![alloy_rlp::encode(&parent).into()],
    };
    // The header says that no gas is used; the refusal says how much is.
    match source.prepare(&PRAGUE).unwrap_err() {
        HostError::Refused(Refusal::Mismatch {
            field: "gas used",
            computed,
            ..
        }) => computed,
        error => panic!("{error}"),
    }
}

/// An account that an earlier transaction has touched and left empty does not exist, and its authorization is not cheaper.
#[test]
fn an_authority_that_was_touched_does_not_exist() {
    let ((sender_key, sender), (authority_key, authority)) = (signer(1), signer(2));
    let call = |nonce, to: Address| {
        let call = TxEip1559 {
            chain_id: 1,
            nonce,
            gas_limit: 100_000,
            max_fee_per_gas: 7,
            to: to.into(),
            ..TxEip1559::default()
        };
        transaction(&sender_key, call)
    };
    let authorize = |nonce, authorization: Authorization| {
        let signature = sign(&authority_key, authorization.signature_hash());
        let authorize = TxEip7702 {
            chain_id: 1,
            nonce,
            gas_limit: 100_000,
            max_fee_per_gas: 7,
            to: sender,
            authorization_list: vec![authorization.into_signed(signature)],
            ..TxEip7702::default()
        };
        transaction(&sender_key, authorize)
    };
    let authorization = |nonce| Authorization {
        chain_id: U256::from(1),
        address: Address::repeat_byte(0xaa),
        nonce,
    };
    let first = gas(sender, vec![authorize(0, authorization(0))]);
    assert_eq!(first, U256::from(46_000));
    let second = vec![
        authorize(0, authorization(0)),
        authorize(1, authorization(1)),
    ];
    // Of an account that exists, a fifth of the gas is refunded.
    assert_eq!(gas(sender, second), U256::from(46_000 + 36_800));
    let touched = vec![call(0, authority), authorize(1, authorization(0))];
    assert_eq!(gas(sender, touched), U256::from(21_000 + 46_000));
}
