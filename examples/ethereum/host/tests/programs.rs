//! Random EVM programs in synthetic blocks: natively and in the guest.

mod common;

use std::env;

use alloy_primitives::{keccak256, Address, Bytes, B256};
use common::{
    random_program::random_program,
    synthetic::{block, call, signer},
    Guest,
};
use ethereum_core::{Forks, Refusal};
use ethereum_host::{HostError, Prepared};
use revm::context_interface::result::InvalidTransaction;

/// Programs of a block.
const PROGRAMS: u64 = 40;

/// Gas limit of a block.
const GAS: u64 = 30_000_000;

/// Builds a valid block that calls the programs with seeds from `first`. Gas, receipts root and state root are copied from the
/// validator's refusals, so the native test shows only that the block is accepted; the campaign compares it with the guest.
fn valid_block(first: u64) -> Prepared {
    let (key, sender) = signer(1);
    let contracts: Vec<(Address, Bytes)> = (first..first + PROGRAMS)
        .map(|seed| {
            let address = Address::left_padding_from(&(seed + 0x1_0000).to_be_bytes());
            (address, random_program(seed).into())
        })
        .collect();
    let transactions = contracts.iter().zip(0..).map(|((to, _), nonce)| {
        call(
            &key,
            nonce,
            if nonce % 4 == 3 { 30_000 } else { 900_000 },
            *to,
        )
    });
    let (mut header, mut source) = block(sender, &contracts, transactions.collect(), GAS, None);
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
    // More than the calls themselves take, and less than half of the gas: a program that fails takes all of its own.
    let gas = 3 * 21_000 * PROGRAMS..GAS / 2;
    assert!(gas.contains(&block.gas), "{}", block.gas);
}

/// Runs the programs in the guest. `ETHEREUM_PROGRAMS` is the number of blocks; for the other variables see [`Guest`].
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

/// Bits and ends of an input that the host did not make, and that a prover could give to the guest.
#[test]
#[ignore = "a campaign: needs openvm-metal and the guest with test-forks"]
fn damaged_inputs_prove_no_other_block_in_the_guest() {
    let guest = Guest::from_environment();
    let prepared = valid_block(0);
    let whole = prepared.input;
    let mut random = 1_u64;
    for round in 0..60 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let at = (random >> 33) as usize;
        let mut bytes = whole.clone();
        match round % 3 {
            0 => bytes[at % whole.len()] ^= 1 << (round % 8),
            // Lengths and counts at the start.
            1 => bytes[4 + at % 60] ^= 1 << (round % 8),
            _ => bytes.truncate(at % whole.len()),
        }
        let (success, said) = guest.run(&bytes);
        assert!(
            !success || said.contains(&prepared.block.hash.to_string()),
            "round {round}: {said}"
        );
    }
}

/// The EVM's memory has lengths that the guest's 32 bits can express, whatever a forged parent allows.
#[test]
fn gas_for_more_memory_than_addresses_is_refused() {
    let (key, sender) = signer(1);
    let contract = Address::repeat_byte(0xcc);
    // MSTORE at 2^32 - 1.
    let code = Bytes::from_static(&[0x5f, 0x63, 0xff, 0xff, 0xff, 0xff, 0x52]);
    let calls = vec![call(&key, 0, 1 << 46, contract)];
    let (header, mut source) = block(sender, &[(contract, code)], calls, 1 << 50, None);
    source.header = alloy_rlp::encode(&header).into();
    match source.prepare(&Forks::CANCUN) {
        Err(HostError::Refused(Refusal::Transaction { reason, .. })) => {
            assert!(
                matches!(reason, InvalidTransaction::TxGasLimitGreaterThanCap { .. }),
                "{reason}"
            )
        }
        result => panic!("{:?}", result.map(|prepared| prepared.block)),
    }
}

/// The chain of hashes that the guest's tests of its own functions compare.
#[test]
fn chain_of_hashes() {
    let message: Vec<u8> = (0..168).map(|position| (position * 7 + 1) as u8).collect();
    let mut hash = B256::ZERO;
    for length in 0..330 {
        let text = message.iter().cycle().take(length);
        let link: Vec<u8> = hash.iter().chain(text).copied().collect();
        hash = keccak256(link);
    }
    assert_eq!(
        hash.to_string(),
        "0x1035bc5b7914a4e29f24ca9d01a83c263064c33da357aad33a349353f5e82bb5"
    );
}
