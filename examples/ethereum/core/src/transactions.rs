//! Transactions: decoding, senders, and the EVM's form of them.

use alloy_consensus::{EthereumTxEnvelope, Transaction, TxEip4844, Typed2718};
use alloy_eips::{
    eip2718::{Decodable2718, Eip2718Error},
    eip7702::{RecoveredAuthority, RecoveredAuthorization, SignedAuthorization},
};
use alloy_primitives::{keccak256, Address, Signature, B256, U256};
use revm::{context::TxEnv, context_interface::either::Either, precompile::crypto};

use crate::{error::Refusal, input::PublicKey, words::Words};

/// Half of the order of secp256k1's group, rounded down: the largest `s` of a signature, EIP-2.
const HALF_ORDER: U256 = U256::from_limbs([
    0xdfe9_2f46_681b_20a0,
    0x5d57_6e73_57a4_501d,
    0xffff_ffff_ffff_ffff,
    0x7fff_ffff_ffff_ffff,
]);

/// Signature checks and 256-bit arithmetic, which a guest does by OpenVM's instructions.
pub trait Accelerator: Words {
    /// Returns whether recovery of the signer from `signature` and `hash` gives `key`: not only whether the signature verifies, since the
    /// parity of `R` counts. `s` is at most half of the order.
    fn signed(&self, hash: &B256, signature: &Signature, key: &PublicKey) -> bool;
}

/// Arithmetic in software: verification is recovery of the key, with the installed cryptography of revm.
#[derive(Clone, Copy, Debug, Default)]
pub struct Software;

// SAFETY: the default of `copy` writes the word.
unsafe impl Words for Software {}

impl Accelerator for Software {
    fn signed(&self, hash: &B256, signature: &Signature, key: &PublicKey) -> bool {
        recover(hash, signature) == Some(address_of(key))
    }
}

/// Signer's address by recovery.
pub(crate) fn recover(hash: &B256, signature: &Signature) -> Option<Address> {
    if signature.s() > HALF_ORDER {
        return None;
    }
    let bytes = signature.as_rsy();
    let rs = bytes[..64].try_into().ok()?;
    let word = crypto()
        .secp256k1_ecrecover(rs, signature.v().into(), &hash.0)
        .ok()?;
    Some(Address::from_slice(&word[12..]))
}

/// Address of a public key.
pub fn address_of(key: &PublicKey) -> Address {
    Address::from_slice(&keccak256(key)[12..])
}

/// Transaction of a block.
pub type Envelope = EthereumTxEnvelope<TxEip4844>;

/// Transaction of EIP-2718's encoding.
pub(crate) fn decode(index: usize, bytes: &[u8]) -> Result<Envelope, Refusal> {
    Envelope::decode_2718_exact(bytes).map_err(|error| Refusal::TransactionEncoding {
        index,
        error: match error {
            Eip2718Error::RlpError(error) => error,
            _ => alloy_rlp::Error::Custom("unknown type of transaction"),
        },
    })
}

/// Sender of a transaction, if `key` is its signer's.
pub(crate) fn sender(
    transaction: &Envelope,
    key: &PublicKey,
    accelerator: &impl Accelerator,
) -> Option<Address> {
    let signature = transaction.signature();
    let signed = signature.s() <= HALF_ORDER
        && accelerator.signed(&transaction.signature_hash(), signature, key);
    signed.then(|| address_of(key))
}

/// The EVM's form of a transaction.
pub(crate) fn environment(transaction: &Envelope, caller: Address) -> TxEnv {
    TxEnv {
        tx_type: transaction.ty(),
        caller,
        gas_limit: transaction.gas_limit(),
        gas_price: transaction.max_fee_per_gas(),
        kind: transaction.kind(),
        value: transaction.value(),
        data: transaction.input().clone(),
        nonce: transaction.nonce(),
        chain_id: transaction.chain_id(),
        access_list: transaction.access_list().cloned().unwrap_or_default(),
        gas_priority_fee: transaction.max_priority_fee_per_gas(),
        blob_hashes: transaction
            .blob_versioned_hashes()
            .unwrap_or_default()
            .to_vec(),
        max_fee_per_blob_gas: transaction.max_fee_per_blob_gas().unwrap_or_default(),
        authorization_list: transaction
            .authorization_list()
            .unwrap_or_default()
            .iter()
            .map(|authorization| Either::Right(authority(authorization)))
            .collect(),
    }
}

/// An authorization of EIP-7702 with its signer. One without is skipped, not refused.
fn authority(authorization: &SignedAuthorization) -> RecoveredAuthorization {
    let signature = authorization.signature().ok();
    let address =
        signature.and_then(|signature| recover(&authorization.signature_hash(), &signature));
    RecoveredAuthorization::new_unchecked(
        authorization.inner().clone(),
        address.map_or(RecoveredAuthority::Invalid, RecoveredAuthority::Valid),
    )
}
