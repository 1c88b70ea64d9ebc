//! Published blocks: the verdict and its reason.

#![allow(clippy::result_large_err)]

mod common;

use std::{collections::HashMap, env, fs};

use common::{cases, mainnet, unpack, Guest};
use ethereum_core::{validate_and_trace, Forks, Input, Refusal, Software};
use ethereum_host::{HostError, Source};
use revm::context_interface::result::InvalidTransaction;

/// Returns whether a refusal is for the reason that the test names.
fn reason_fits(exception: &str, error: &HostError) -> bool {
    use InvalidTransaction as Invalid;
    let refusal = match error {
        HostError::Refused(refusal) => refusal,
        // The block has no list of withdrawals.
        HostError::Rlp { part: "block", .. } => return exception == "RLP_WITHDRAWALS_NOT_READ",
        _ => return false,
    };
    match (exception, refusal) {
        ("EXTRA_DATA_TOO_BIG", Refusal::ExtraData(_))
        | ("INVALID_GASLIMIT" | "GASLIMIT_TOO_BIG", Refusal::GasLimit { .. })
        | ("INVALID_BLOCK_NUMBER", Refusal::Number { .. })
        | ("GAS_USED_OVERFLOW", Refusal::GasUsedAboveLimit { .. })
        | ("INVALID_BASEFEE_PER_GAS", Refusal::BaseFee { .. })
        | ("INVALID_LOG_BLOOM", Refusal::Bloom)
        | ("IMPORT_IMPOSSIBLE_DIFFICULTY_OVER_PARIS", Refusal::ProofOfWork("difficulty"))
        | ("IMPORT_IMPOSSIBLE_UNCLES_OVER_PARIS", Refusal::Ommers)
        | ("UNKNOWN_PARENT" | "UNKNOWN_PARENT_ZERO", Refusal::UnknownParent { .. })
        | ("INVALID_BLOCK_TIMESTAMP_OLDER_THAN_PARENT", Refusal::Timestamp { .. })
        | ("GAS_ALLOWANCE_EXCEEDED", Refusal::TransactionGas { .. }) => true,
        ("TYPE_3_TX_CONTRACT_CREATION", Refusal::TransactionEncoding { .. }) => true,
        ("INVALID_GAS_USED", Refusal::Mismatch { field, .. }) => *field == "gas used",
        (_, Refusal::Root { field, .. }) => matches!(
            (exception, *field),
            ("INVALID_STATE_ROOT", "state root")
                | ("INVALID_WITHDRAWALS_ROOT", "withdrawals root")
                | ("INVALID_RECEIPTS_ROOT", "receipts root")
                | ("INVALID_TRANSACTIONS_ROOT", "transactions root")
        ),
        (_, Refusal::Transaction { reason, .. }) => matches!(
            (exception, reason),
            (
                "INSUFFICIENT_ACCOUNT_FUNDS",
                // The validator's limit is checked first.
                Invalid::LackOfFundForMaxFee { .. } | Invalid::TxGasLimitGreaterThanCap { .. }
            ) | (
                "INTRINSIC_GAS_TOO_LOW",
                Invalid::CallGasCostMoreThanGasLimit { .. }
            ) | (
                "INSUFFICIENT_MAX_FEE_PER_GAS",
                Invalid::GasPriceLessThanBasefee
            ) | (
                "PRIORITY_GREATER_THAN_MAX_FEE_PER_GAS",
                Invalid::PriorityFeeGreaterThanMaxFee
            ) | ("NONCE_MISMATCH_TOO_LOW", Invalid::NonceTooLow { .. })
                | ("NONCE_MISMATCH_TOO_HIGH", Invalid::NonceTooHigh { .. })
                | ("SENDER_NOT_EOA", Invalid::RejectCallerWithCode)
                | ("TYPE_3_TX_ZERO_BLOBS", Invalid::EmptyBlobs)
                | (
                    "TYPE_3_TX_BLOB_COUNT_EXCEEDED",
                    Invalid::TooManyBlobs { .. }
                )
                | (
                    "TYPE_3_TX_INVALID_BLOB_VERSIONED_HASH",
                    Invalid::BlobVersionNotSupported
                )
        ),
        _ => false,
    }
}

#[test]
fn published_test_blocks_have_their_verdict_and_reason() {
    let text = String::from_utf8(unpack("cancun-blocks.jsonl.gz")).unwrap();
    let mut wrong = Vec::new();
    let mut counts = HashMap::new();
    for (case, input) in cases(&text) {
        let result = Source::from_rlp(&input).and_then(|source| source.prepare(&Forks::CANCUN));
        let exceptions = case["exception"].as_str().map(|names| {
            names
                .split('|')
                .map(|name| name.split('.').next_back().unwrap())
                .collect::<Vec<_>>()
        });
        let right = match (&exceptions, &result) {
            (None, Ok(_)) => true,
            (Some(names), Err(error)) => names.iter().any(|name| reason_fits(name, error)),
            _ => false,
        };
        *counts.entry(exceptions.is_none()).or_insert(0) += 1;
        if !right {
            let result = result.map(|prepared| prepared.block.hash);
            wrong.push(format!(
                "{}: {exceptions:?}, and not {result:?}",
                case["name"]
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of 618 blocks:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert_eq!(counts, HashMap::from([(true, 521), (false, 97)]));
}

#[test]
fn a_block_of_ethereum_has_its_hash() {
    let prepared = mainnet().prepare(&Forks::MAINNET).unwrap();
    assert_eq!(
        prepared.block.hash.to_string(),
        "0x0497f69549701d578c67a43951f9e4fcb92b1691b9f6bbdfa63a17bc41d3971e"
    );
    assert_eq!(
        (prepared.block.number, prepared.block.gas),
        (22_615_247, 1_331_413)
    );
    // The reduced input is valid and needs as many nodes as the whole witness.
    let input = Input::read(&prepared.input.into()).unwrap();
    let (_, needs) = validate_and_trace(input, &Forks::MAINNET, &Software).unwrap();
    assert_eq!(needs.nodes.len(), prepared.needs.nodes.len());
}

/// Blocks `1-NUMBER.rlp` of a folder, with the hashes of their headers. Blocks of all forks that are known, up to 50 Mgas.
#[test]
#[ignore = "a campaign: ETHEREUM_BLOCKS names a folder of blocks"]
fn blocks_of_a_folder() {
    let folder = env::var("ETHEREUM_BLOCKS").expect("ETHEREUM_BLOCKS names a folder of *.rlp");
    let mut number = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "rlp") {
            let source = Source::from_rlp(&fs::read(&path).unwrap()).unwrap();
            let prepared = source.prepare(&Forks::MAINNET);
            let prepared = prepared.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            assert_eq!(
                prepared.block.hash,
                alloy_primitives::keccak256(&source.header)
            );
            number += 1;
        }
    }
    assert!(number > 0, "the folder has no *.rlp");
}

/// Runs test blocks in the guest: valid ones reveal their hash, invalid ones end it. `ETHEREUM_STEP` is the distance between the blocks
/// that are run, 1 for all of them; for the other variables see [`Guest`].
#[test]
#[ignore = "a campaign: needs openvm-metal and the guest with test-forks"]
fn test_blocks_have_their_verdict_in_the_guest() {
    let guest = Guest::from_environment();
    let step = env::var("ETHEREUM_STEP").map_or(10, |step| step.parse().unwrap());
    let text = String::from_utf8(unpack("cancun-blocks.jsonl.gz")).unwrap();
    let (mut run, mut wrong) = (0, Vec::new());
    for (case, input) in cases(&text).step_by(step) {
        // One block is no block's RLP, and has no input.
        let Ok(source) = Source::from_rlp(&input) else {
            continue;
        };
        let prepared = source.prepare(&Forks::CANCUN);
        let input = match &prepared {
            Ok(prepared) => prepared.input.clone(),
            Err(_) => source.input().unwrap().write(),
        };
        let (success, said) = guest.run(&input);
        let right = match prepared {
            Ok(prepared) => success && said.contains(&prepared.block.hash.to_string()),
            Err(_) => !success && said.contains("the block is refused"),
        };
        run += 1;
        if !right {
            wrong.push(format!("{}: {said}", case["name"]));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {run} blocks:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    println!("{run} blocks");
}
