//! A batch of token transfers executed by revm, Keccak through its extension.
//!
//! Input: the accounts' balances (u64 little endian each); the transfers (sender and receiver as u16 indices into the
//! accounts, amount as u64, 12 bytes little endian each). A transfer of more than the sender has reverts, as on chain.
//! Public values: Keccak-256 of the number of transfers that succeeded (u32 little endian) and of all final balances
//! (32 bytes big endian each).

mod no_precompiles;
mod token;

use alloy_primitives::{Address, TxKind, U256};
use no_precompiles::NoPrecompiles;
// Defines the function that alloy-primitives calls for Keccak-256.
use openvm_keccak256::keccak256;
use revm::{
    bytecode::Bytecode,
    context::{result::ExecutionResult, Evm, TxEnv},
    database::{CacheDB, EmptyDB},
    handler::{instructions::EthInstructions, EthFrame, MainnetContext},
    interpreter::interpreter::EthInterpreter,
    primitives::hardfork::SpecId,
    state::AccountInfo,
    Database, ExecuteCommitEvm,
};

const TOKEN: Address = Address::repeat_byte(0x70);

fn main() {
    let balances = openvm::io::read_vec();
    let transfers = openvm::io::read_vec();
    assert!(balances.len() % 8 == 0, "a balance has 8 bytes");
    assert!(transfers.len() % 12 == 0, "a transfer has 12 bytes");

    let mut state = CacheDB::new(EmptyDB::new());
    let code = Bytecode::new_raw(token::code().into());
    state.insert_account_info(
        TOKEN,
        AccountInfo::from_bytecode(code),
    );
    let accounts: Vec<Address> = (0..balances.len() / 8).map(account).collect();
    for (address, balance) in accounts.iter().zip(balances.chunks_exact(8)) {
        let balance = u64::from_le_bytes(balance.try_into().unwrap());
        state
            .insert_account_storage(TOKEN, token::slot(*address), U256::from(balance))
            .unwrap();
    }

    let spec = SpecId::PRAGUE;
    let mut evm: Evm<_, (), _, _, EthFrame<EthInterpreter>> = Evm::new(
        MainnetContext::new(state, spec),
        EthInstructions::new_mainnet_with_spec(spec),
        NoPrecompiles::default(),
    );
    let mut nonces = vec![0u64; accounts.len()];
    let mut succeeded = 0u32;
    for transfer in transfers.chunks_exact(12) {
        let index = |at: usize| usize::from(u16::from_le_bytes([transfer[at], transfer[at + 1]]));
        let (sender, receiver) = (index(0), index(2));
        let amount = u64::from_le_bytes(transfer[4..].try_into().unwrap());
        let transaction = TxEnv::builder()
            .caller(accounts[sender])
            .nonce(nonces[sender])
            .kind(TxKind::Call(TOKEN))
            .data(token::transfer(accounts[receiver], U256::from(amount)).into())
            .gas_limit(200_000)
            .build()
            .unwrap();
        nonces[sender] += 1;
        match evm.transact_commit(transaction).unwrap() {
            ExecutionResult::Success { .. } => succeeded += 1,
            ExecutionResult::Revert { .. } => {}
            ExecutionResult::Halt { reason, .. } => panic!("the token halted: {reason:?}"),
        }
    }

    let mut statement = succeeded.to_le_bytes().to_vec();
    for address in &accounts {
        let balance = evm.ctx.journaled_state.database.storage(TOKEN, token::slot(*address)).unwrap();
        statement.extend_from_slice(&balance.to_be_bytes::<32>());
    }
    openvm::io::reveal_bytes32(keccak256(&statement));
}

/// Addresses away from the precompiles' small numbers.
fn account(index: usize) -> Address {
    let mut bytes = [0xac; 20];
    bytes[18..].copy_from_slice(&(index as u16).to_be_bytes());
    Address::from(bytes)
}
