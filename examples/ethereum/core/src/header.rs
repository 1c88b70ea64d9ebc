//! Rules of a header that follow from it and its parent's.

use alloy_consensus::{constants::MAXIMUM_EXTRA_DATA_SIZE, Header, EMPTY_OMMER_ROOT_HASH};
use alloy_eips::{
    eip1559::{calc_next_block_base_fee, BaseFeeParams},
    eip4844::DATA_GAS_PER_BLOB,
};
use alloy_primitives::B64;

use crate::{error::Refusal, forks::Rules};

/// Smallest gas limit of a block.
const MIN_GAS_LIMIT: u64 = 5_000;

/// A gas limit differs from the parent's by less than this part of it.
const GAS_LIMIT_DIVISOR: u64 = 1_024;

/// Checks a header against its parent's, whose hash the caller has compared.
pub(crate) fn check(header: &Header, parent: &Header, rules: &Rules) -> Result<(), Refusal> {
    fields(header, rules)?;
    if parent.number.checked_add(1) != Some(header.number) {
        return Err(Refusal::Number {
            block: header.number,
            parent: parent.number,
        });
    }
    if header.timestamp <= parent.timestamp {
        return Err(Refusal::Timestamp {
            block: header.timestamp,
            parent: parent.timestamp,
        });
    }
    if header.extra_data.len() > MAXIMUM_EXTRA_DATA_SIZE {
        return Err(Refusal::ExtraData(header.extra_data.len()));
    }
    let (limit, before) = (header.gas_limit, parent.gas_limit);
    if limit.abs_diff(before) >= before / GAS_LIMIT_DIVISOR
        || limit < MIN_GAS_LIMIT
        || limit > i64::MAX as u64
    {
        return Err(Refusal::GasLimit {
            limit,
            parent: before,
        });
    }
    if header.gas_used > limit {
        return Err(Refusal::GasUsedAboveLimit {
            used: header.gas_used,
            limit,
        });
    }
    if header.ommers_hash != EMPTY_OMMER_ROOT_HASH {
        return Err(Refusal::Ommers);
    }
    if !header.difficulty.is_zero() {
        return Err(Refusal::ProofOfWork("difficulty"));
    }
    if header.nonce != B64::ZERO {
        return Err(Refusal::ProofOfWork("nonce"));
    }
    base_fee(header, parent)?;
    blobs(header, parent, rules)
}

/// Checks that the header has the fields of its fork and no others.
fn fields(header: &Header, rules: &Rules) -> Result<(), Refusal> {
    for (present, name) in [
        (header.base_fee_per_gas.is_some(), "baseFeePerGas"),
        (header.withdrawals_root.is_some(), "withdrawalsRoot"),
        (header.blob_gas_used.is_some(), "blobGasUsed"),
        (header.excess_blob_gas.is_some(), "excessBlobGas"),
        (
            header.parent_beacon_block_root.is_some(),
            "parentBeaconBlockRoot",
        ),
        (
            header.requests_hash.is_some() || !rules.prague,
            "requestsHash",
        ),
    ] {
        if !present {
            return Err(Refusal::FieldMissing(name));
        }
    }
    for (present, name) in [
        (
            header.requests_hash.is_some() && !rules.prague,
            "requestsHash",
        ),
        (
            header.block_access_list_hash.is_some(),
            "blockAccessListHash",
        ),
        (header.slot_number.is_some(), "slotNumber"),
    ] {
        if present {
            return Err(Refusal::FieldTooMuch(name));
        }
    }
    Ok(())
}

fn base_fee(header: &Header, parent: &Header) -> Result<(), Refusal> {
    // The divisors of the formula.
    if parent.gas_limit < 2 {
        return Err(Refusal::GasLimit {
            limit: header.gas_limit,
            parent: parent.gas_limit,
        });
    }
    let before = parent
        .base_fee_per_gas
        .ok_or(Refusal::FieldMissing("the parent's baseFeePerGas"))?;
    let ethereum = BaseFeeParams::ethereum();
    let expected = calc_next_block_base_fee(parent.gas_used, parent.gas_limit, before, ethereum);
    let found = header.base_fee_per_gas.unwrap_or_default();
    if found != expected {
        return Err(Refusal::BaseFee { expected, found });
    }
    Ok(())
}

fn blobs(header: &Header, parent: &Header, rules: &Rules) -> Result<(), Refusal> {
    let (used, found) = (
        header.blob_gas_used.unwrap_or_default(),
        header.excess_blob_gas.unwrap_or_default(),
    );
    let limit = rules.blobs.max_blob_gas_per_block();
    if used > limit || !used.is_multiple_of(DATA_GAS_PER_BLOB) {
        return Err(Refusal::BlobGasAboveLimit { used, limit });
    }
    let (before, before_used) = (
        parent.excess_blob_gas.unwrap_or_default(),
        parent.blob_gas_used.unwrap_or_default(),
    );
    // No parent has more blob gas than any fork allows, so that the formula does not overflow.
    if before > u64::from(u32::MAX) || before_used > u64::from(u32::MAX) {
        return Err(Refusal::ExcessBlobGas {
            expected: 0,
            found: before,
        });
    }
    let fee = parent.base_fee_per_gas.unwrap_or_default();
    let expected = rules
        .blobs
        .next_block_excess_blob_gas_osaka(before, before_used, fee);
    if found != expected {
        return Err(Refusal::ExcessBlobGas { expected, found });
    }
    Ok(())
}
