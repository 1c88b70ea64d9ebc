//! Replaced instructions against revm's own.

use core::convert::Infallible;
use std::collections::BTreeMap;

use alloy_primitives::{address, Address, TxKind, B256};
use revm::{
    context::TxEnv,
    handler::MainnetContext,
    primitives::hardfork::SpecId,
    state::{AccountInfo, Bytecode},
    Context, Database, ExecuteEvm, MainBuilder, MainContext,
};

use super::*;
use crate::Software;

#[path = "../../tests/support/random_program.rs"]
mod random_program;

const CALLER: Address = address!("1000000000000000000000000000000000000001");
const CONTRACT: Address = address!("2000000000000000000000000000000000000002");

/// One contract, and a caller who can pay.
struct State(Bytecode);

impl Database for State {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        Ok(match address {
            CALLER => Some(AccountInfo::from_balance(U256::MAX >> 1)),
            CONTRACT => Some(AccountInfo::from_bytecode(self.0.clone())),
            _ => None,
        })
    }

    fn code_by_hash(&mut self, _: B256) -> Result<Bytecode, Infallible> {
        Ok(self.0.clone())
    }

    fn storage(&mut self, _: Address, _: U256) -> Result<U256, Infallible> {
        Ok(U256::ZERO)
    }

    fn block_hash(&mut self, _: u64) -> Result<B256, Infallible> {
        Ok(B256::ZERO)
    }
}

type Table = EthInstructions<EthInterpreter, MainnetContext<State>>;

/// Outcome of a call.
#[derive(Debug, PartialEq)]
struct Effect {
    success: bool,
    halt: bool,
    gas: u64,
    output: Vec<u8>,
    storage: BTreeMap<U256, U256>,
}

fn effect(code: &Bytecode, gas_limit: u64, replace: fn(&mut Table)) -> Effect {
    let code = code.clone();
    let mut evm = Context::mainnet()
        .with_db(State(code))
        .modify_cfg_chained(|config| config.set_spec_and_mainnet_gas_params(SpecId::PRAGUE))
        .build_mainnet();
    replace(&mut evm.instruction);
    let call = TxEnv {
        caller: CALLER,
        kind: TxKind::Call(CONTRACT),
        gas_limit,
        ..TxEnv::default()
    };
    let found = evm.transact(call).unwrap();
    let storage = found.state.get(&CONTRACT).map(|contract| {
        let slots = contract.storage.iter();
        slots
            .map(|(slot, value)| (*slot, value.present_value))
            .collect()
    });
    let result = &found.result;
    Effect {
        success: result.is_success(),
        halt: result.is_halt(),
        gas: result.tx_gas_used(),
        output: result
            .output()
            .map(|output| output.to_vec())
            .unwrap_or_default(),
        storage: storage.unwrap_or_default(),
    }
}

fn compare(code: &[u8], gas_limit: u64) -> Effect {
    // With our zeros and with revm's, which are fewer.
    let codes = [
        crate::code::bytecode(&crate::Code::new(code)),
        Bytecode::new_legacy(code.to_vec().into()),
    ];
    let expected = effect(&codes[0], gas_limit, |_| ());
    for code in &codes {
        // The second register is refilled every few instructions.
        for replace in [replace::<_, Software>, replace_with::<_, Software, 23>] {
            let found = effect(code, gas_limit, replace);
            assert_eq!(found, expected, "{} {gas_limit}", code.original_bytes());
        }
    }
    expected
}

#[test]
fn random_programs_have_the_effect_of_revms_instructions() {
    let (mut successes, mut stored) = (0, 0);
    for seed in 0..1_500 {
        let code = random_program::random_program(seed);
        let effect = compare(&code, 1_000_000);
        successes += usize::from(effect.success);
        stored += effect.storage.len();
        // Gas limits that run out at different instructions.
        compare(&code, 21_000 + seed * 7 % 900);
        // More than the register holds.
        if seed % 8 == 0 {
            compare(&code, (1 << 32) + 21_000 + seed % 3);
            compare(&code, (7 << 32) + 30_000);
        }
    }
    assert!(successes > 1_000, "{successes}");
    assert!(stored > 5_000, "{stored}");
}

#[test]
fn faults_are_those_of_revm() {
    let push = |bytes: &[u8]| [&[0x5f + bytes.len() as u8], bytes].concat();
    let big = push(&[1, 0, 0, 0, 0]);
    let deep = |times: usize, operation: &[u8]| [operation].repeat(times).concat();
    let stack_of = |words: usize, then: &[u8]| [deep(words, &[0x5f]), then.to_vec()].concat();
    let mut programs: Vec<Vec<u8>> = Vec::new();
    // Each instruction with less than it takes, and on a stack that is full.
    for opcode in 0..=255_u8 {
        for words in [0, 1, 2, 3, 15, 16, 17, 1_022, 1_023, 1_024] {
            programs.push(stack_of(words, &[opcode, 0, 0, 0x5b, 0x5b]));
        }
    }
    for operation in [0x51, 0x52, 0x53, 0x56] {
        // Offsets and targets above 32 bits, at the top of 32 bits, and too expensive.
        for offset in [
            &big,
            &push(&[0xff; 4]),
            &push(&[0xff; 32]),
            &push(&[0xff, 0xff, 0xff]),
        ] {
            programs.push([&[0x5f, 0x5f][..], offset, &[operation]].concat());
        }
    }
    for condition in [&[0x5f][..], &[0x60, 1], &push(&[0x80; 32])] {
        for target in [&big, &push(&[0, 200]), &push(&[0, 3]), &push(&[0xff; 32])] {
            for jump in [&[0x57, 0x5b][..], &[0x80, 0x50, 0x57, 0x5b]] {
                programs.push([condition, target, jump].concat());
            }
        }
    }
    // Targets that are destinations if they are cut to 64 or 32 bits, and conditions of one high bit.
    for bit in [32, 63, 64, 255] {
        let target: U256 = (U256::ONE << bit) + U256::from(36);
        let target = push(&target.to_be_bytes::<32>());
        let end = [&[0x5b][..], &[0x5b; 4]].concat();
        programs.push([&target[..], &[0x56], &end].concat());
        programs.push([&[0x60, 1][..], &target, &[0x57], &end].concat());
        let condition: U256 = U256::ONE << bit;
        let condition = push(&condition.to_be_bytes::<32>());
        programs.push([&condition[..], &push(&[38]), &[0x57, 0xfe], &[0x5b; 4]].concat());
        programs.push([&condition[..], &push(&[0, 39]), &[0x57, 0xfe], &[0x5b; 4]].concat());
    }
    // A destination within an immediate, and immediates that the code ends in.
    programs.push([&[0x60, 3, 0x56][..], &[0x60, 0x5b], &[0x5b]].concat());
    programs.push([&[0x60, 4, 0x56][..], &[0x60, 0x5b], &[0x5b]].concat());
    for opcode in 0x5f..=0x7f {
        programs.push([0x60, 1, opcode].to_vec());
        programs.push([0x60, 1, opcode, 0x5b].to_vec());
    }
    programs.push([&[0x61][..], &[0, 4], &[0x56]].concat());
    programs.push([0x60, 1, 0x61, 0].to_vec());
    for program in programs {
        for gas in [21_002, 21_005, 21_014, 100_000] {
            compare(&program, gas);
        }
    }
}

/// The first access costs more than 2^32 gas, so that what remains is above the register before it and below after it.
#[test]
fn memory_of_more_gas_than_the_register() {
    // PUSH3, MSTORE at 48 M; then ADD in a loop until the gas is spent.
    let code = [
        0x60, 1, 0x63, 2, 0xe0, 0, 0, 0x52, 0x5b, 0x60, 1, 0x60, 2, 0x01, 0x50, 0x60, 8, 0x56,
    ];
    let cost = effect(
        &crate::code::bytecode(&crate::Code::new(&code[..8])),
        1 << 36,
        |_| (),
    );
    assert!(cost.success && cost.gas > 1 << 32, "{}", cost.gas);
    for more in [0, 1, 500, 50_000] {
        compare(&code, cost.gas + more);
    }
}
