//! Random blocks that the Python specification of Ethereum has executed: the verdict, its reason, and the hash.

#![allow(clippy::result_large_err)]

mod common;

use std::{
    collections::BTreeMap,
    env,
    fs::File,
    io::{BufRead, BufReader},
};

use common::{cases, unpack, PRAGUE};
use ethereum_core::{Forks, Refusal};
use ethereum_host::{HostError, Source};
use revm::context_interface::result::InvalidTransaction;
use serde_json::Value;

const OSAKA: Forks = Forks {
    osaka: Some(0),
    ..PRAGUE
};

const BPO1: Forks = Forks {
    bpo1: Some(0),
    ..OSAKA
};

const BPO2: Forks = Forks {
    bpo2: Some(0),
    ..BPO1
};

fn forks(name: &str) -> &'static Forks {
    match name {
        "Prague" => &PRAGUE,
        "Osaka" => &OSAKA,
        "BPO1" => &BPO1,
        "BPO2" => &BPO2,
        _ => panic!("unknown fork {name}"),
    }
}

/// Returns whether a refusal is for the reason that the specification has: its exception, or what was changed in the block where the
/// exception is the one of all blocks.
fn reason_fits(exception: &str, broken: &str, error: &HostError) -> bool {
    use InvalidTransaction as Invalid;
    let refusal = match error {
        // The witness is whole.
        HostError::Refused(Refusal::Input(_) | Refusal::Trie(_) | Refusal::State(_)) => {
            return false
        }
        // More than one rule may be broken, and any part may be the first to say so.
        _ if broken == "encoding" => return true,
        HostError::Refused(_)
            if matches!(broken, "list of transactions" | "transaction refused") =>
        {
            return true
        }
        HostError::Refused(refusal) => refusal,
        _ => return false,
    };
    match (exception, refusal) {
        ("NonceMismatchError", Refusal::Transaction { reason, .. }) => matches!(
            reason,
            Invalid::NonceTooLow { .. } | Invalid::NonceTooHigh { .. }
        ),
        ("InsufficientTransactionGasError", Refusal::Transaction { reason, .. }) => matches!(
            reason,
            Invalid::CallGasCostMoreThanGasLimit { .. } | Invalid::GasFloorMoreThanGasLimit { .. }
        ),
        (_, Refusal::Transaction { reason, .. }) => matches!(
            (exception, reason),
            (
                "InsufficientBalanceError",
                Invalid::LackOfFundForMaxFee { .. } | Invalid::OverflowPaymentInTransaction
            ) | ("InvalidSenderError", Invalid::RejectCallerWithCode)
                | (
                    "PriorityFeeGreaterThanMaxFeeError",
                    Invalid::PriorityFeeGreaterThanMaxFee
                )
                | (
                    "InsufficientMaxFeePerGasError" | "InvalidBlock",
                    Invalid::GasPriceLessThanBasefee
                )
                | (
                    "InsufficientMaxFeePerBlobGasError",
                    Invalid::BlobGasPriceGreaterThanMax { .. }
                )
                | (
                    "BlobGasLimitExceededError" | "BlobCountExceededError",
                    Invalid::TooManyBlobs { .. }
                )
                | (
                    "InvalidBlobVersionedHashError",
                    Invalid::BlobVersionNotSupported
                )
                | ("NoBlobDataError", Invalid::EmptyBlobs)
                | (
                    "EmptyAuthorizationListError",
                    Invalid::EmptyAuthorizationList
                )
                | ("InitCodeTooLargeError", Invalid::CreateInitCodeSizeLimit)
                | (
                    "TransactionGasLimitExceededError",
                    Invalid::TxGasLimitGreaterThanCap { .. }
                )
                | ("InvalidSignatureError", Invalid::InvalidChainId)
        ),
        // The specification compares the gas that is left in the block after the limits of a transaction alone.
        (
            "GasUsedExceedsLimitError"
            | "TransactionGasLimitExceededError"
            | "InitCodeTooLargeError",
            Refusal::TransactionGas { .. },
        )
        | (
            "InvalidSignatureError",
            Refusal::Signature(_) | Refusal::TransactionEncoding { .. },
        )
        // A transaction without the address that its type requires.
        | ("DecodingError", Refusal::TransactionEncoding { .. }) => true,
        // More blobs than the block's limit, or than the header says.
        ("BlobGasLimitExceededError", Refusal::Mismatch { field, .. }) => *field == "blob gas used",
        ("InvalidBlock", refusal) => block_reason_fits(broken, refusal),
        _ => false,
    }
}

/// Returns whether a refusal fits the part of the block that was changed.
fn block_reason_fits(broken: &str, refusal: &Refusal) -> bool {
    let root = |name| matches!(refusal, Refusal::Root { field, .. } if *field == name);
    let mismatch = |name| matches!(refusal, Refusal::Mismatch { field, .. } if *field == name);
    match broken.strip_prefix("header ").unwrap_or(broken) {
        "parent_hash" => matches!(refusal, Refusal::UnknownParent { .. }),
        "ommers_hash" => matches!(refusal, Refusal::Ommers),
        "state_root" => root("state root"),
        "transactions_root" => root("transactions root"),
        "receipt_root" => root("receipts root"),
        "withdrawals_root" => root("withdrawals root"),
        "requests_hash" => root("requests hash"),
        "bloom" => matches!(refusal, Refusal::Bloom),
        "difficulty" | "nonce" => matches!(refusal, Refusal::ProofOfWork(_)),
        "number" => matches!(refusal, Refusal::Number { .. }),
        "gas_limit" => matches!(
            refusal,
            Refusal::GasLimit { .. } | Refusal::GasUsedAboveLimit { .. }
        ),
        "gas_used" => matches!(refusal, Refusal::GasUsedAboveLimit { .. }) || mismatch("gas used"),
        "timestamp" => matches!(refusal, Refusal::Timestamp { .. }),
        "extra_data" => matches!(refusal, Refusal::ExtraData(_)),
        "base_fee_per_gas" => matches!(refusal, Refusal::BaseFee { .. }),
        "excess_blob_gas" => matches!(refusal, Refusal::ExcessBlobGas { .. }),
        "blob_gas_used" => {
            matches!(refusal, Refusal::BlobGasAboveLimit { .. }) || mismatch("blob gas used")
        }
        "requests" => matches!(refusal, Refusal::SystemCall { .. } | Refusal::Deposit(_)),
        // Execution takes another course.
        _ => {
            matches!(
                refusal,
                Refusal::Root { .. }
                    | Refusal::Bloom
                    | Refusal::SystemCall { .. }
                    | Refusal::Deposit(_)
            ) || mismatch("gas used")
                || mismatch("blob gas used")
        }
    }
}

/// Describes a verdict on one block that is not the specification's; nothing if it is.
fn fault(case: &Value, input: &[u8]) -> Option<String> {
    let forks = forks(case["fork"].as_str().unwrap());
    let result = Source::from_rlp(input).and_then(|source| source.prepare(forks));
    let right = match (case["exception"].as_str(), &result) {
        (None, Ok(prepared)) => case["hash"] == prepared.block.hash.to_string(),
        (Some(exception), Err(error)) => {
            reason_fits(exception, case["broken"].as_str().unwrap(), error)
        }
        _ => false,
    };
    (!right).then(|| {
        let result = result.map(|prepared| prepared.block.hash);
        let [name, exception, broken] = ["name", "exception", "broken"].map(|key| &case[key]);
        format!("{name}: {exception} ({broken}), and not {result:?}")
    })
}

#[test]
fn a_sample_of_the_specification_has_its_verdicts() {
    let text = String::from_utf8(unpack("spec-blocks.jsonl.gz")).unwrap();
    let mut counts = BTreeMap::new();
    let wrong: Vec<String> = cases(&text)
        .filter_map(|(case, input)| {
            *counts.entry(case["valid"].as_bool().unwrap()).or_insert(0) += 1;
            fault(&case, &input)
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(counts, BTreeMap::from([(false, 20), (true, 38)]));
}

/// Blocks of a file that `spec/random_blocks.py` has written.
#[test]
#[ignore = "a campaign: ETHEREUM_SPEC_BLOCKS names a file of blocks"]
fn blocks_of_the_specification() {
    let path = env::var("ETHEREUM_SPEC_BLOCKS").expect("ETHEREUM_SPEC_BLOCKS names a file");
    let file = File::open(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut counts = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in BufReader::new(file).lines() {
        for (case, input) in cases(&line.unwrap()) {
            let kind = (case["fork"].to_string(), case["valid"].as_bool().unwrap());
            *counts.entry(kind).or_insert(0) += 1;
            wrong.extend(fault(&case, &input));
        }
    }
    assert!(!counts.is_empty(), "{path} has no blocks");
    println!("{counts:?}");
    assert!(
        wrong.is_empty(),
        "{} blocks:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
