//! Gas of authorizations, EIP-7702, in a block that is made here.

mod common;

use alloy_consensus::TxEip7702;
use alloy_eips::{
    eip7002::WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
    eip7251::CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, eip7702::Authorization,
};
use alloy_primitives::{Address, Bytes, B256, U256};
use common::{
    synthetic::{block, call, sign, signer, transaction},
    PRAGUE,
};
use ethereum_core::Refusal;
use ethereum_host::HostError;

const GAS: u64 = 30_000_000;

/// Gas of a block of these transactions on a state with one sender and the system's contracts.
fn gas(sender: Address, transactions: Vec<Bytes>) -> U256 {
    let code = Bytes::from_static(&[0]);
    let contracts = [
        (WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, code.clone()),
        (CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, code),
    ];
    let (header, mut source) = block(sender, &contracts, transactions, GAS, Some(B256::ZERO));
    source.header = alloy_rlp::encode(&header).into();
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
    let touched = vec![
        call(&sender_key, 0, 100_000, authority),
        authorize(1, authorization(0)),
    ];
    assert_eq!(gas(sender, touched), U256::from(21_000 + 46_000));
}
