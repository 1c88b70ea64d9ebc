//! Random programs in blocks that are made here: natively and in the virtual machine.

mod common;
#[path = "common/made.rs"]
mod made;
#[path = "common/programs.rs"]
mod programs;

use std::env;

use alloy_consensus::TxEip1559;
use alloy_primitives::{Address, Bytes};
use common::Guest;
use ethereum_core::{Forks, Refusal};
use ethereum_host::{HostError, Prepared};
use made::{block, signer, transaction};

/// Programs of a block.
const PROGRAMS: u64 = 40;

/// A valid block that calls the programs of seeds from `first` on: what the header says of their effects is taken from the refusals of
/// headers that say otherwise.
fn valid_block(first: u64) -> Prepared {
    let (key, sender) = signer(1);
    let contracts: Vec<(Address, Bytes)> = (first..first + PROGRAMS)
        .map(|seed| {
            let address = Address::left_padding_from(&(seed + 0x1_0000).to_be_bytes());
            (address, programs::program(seed).into())
        })
        .collect();
    let transactions = contracts.iter().zip(0..).map(|((to, _), nonce)| {
        let call = TxEip1559 {
            chain_id: 1,
            nonce,
            gas_limit: 700_000 - nonce % 4 * 220_000,
            max_fee_per_gas: 7,
            to: (*to).into(),
            ..TxEip1559::default()
        };
        transaction(&key, call)
    });
    let (mut header, mut source) = block(sender, &contracts, transactions.collect(), None);
    for _ in 0..4 {
        source.header = alloy_rlp::encode(&header).into();
        let refusal = match source.prepare(&Forks::CANCUN) {
            Ok(prepared) => return prepared,
            Err(HostError::Refused(refusal)) => refusal,
            Err(error) => panic!("{error}"),
        };
        match refusal {
            Refusal::Mismatch { computed, .. } => header.gas_used = computed.to(),
            Refusal::Root {
                field, computed, ..
            } => match field {
                "receipts root" => header.receipts_root = computed,
                "state root" => header.state_root = computed,
                field => panic!("{field}"),
            },
            refusal => panic!("{refusal}"),
        }
    }
    panic!("gas, receipts and state are all that the programs change");
}

#[test]
fn blocks_of_random_programs_are_valid() {
    let block = valid_block(0).block;
    // More than the calls themselves take.
    assert!(block.gas > 3 * 21_000 * PROGRAMS, "{}", block.gas);
}

/// The same programs by OpenVM's instructions; the guest is one with test-forks. See `Guest` for the variables; `ETHEREUM_PROGRAMS` is
/// the number of blocks.
#[test]
#[ignore = "a campaign: needs openvm-metal and the guest with test-forks"]
fn random_programs_have_their_effect_in_the_guest() {
    let blocks = env::var("ETHEREUM_PROGRAMS").map_or(20, |blocks| blocks.parse().unwrap());
    let guest = Guest::from_environment();
    for block in 0..blocks {
        let prepared = valid_block(block * PROGRAMS);
        let (success, said) = guest.run(&prepared.input);
        assert!(
            success && said.contains(&prepared.block.hash.to_string()),
            "programs from {}: {said}",
            block * PROGRAMS
        );
    }
    println!("{} programs", blocks * PROGRAMS);
}
