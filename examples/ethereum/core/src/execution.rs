//! Execution of a block by revm: system calls, transactions, withdrawals.

use alloc::{string::ToString, vec::Vec};
use alloy_consensus::{Header, Transaction, Typed2718};
use alloy_eips::{
    eip2935::HISTORY_STORAGE_ADDRESS,
    eip4788::BEACON_ROOTS_ADDRESS,
    eip4895::Withdrawal,
    eip6110::DEPOSIT_REQUEST_TYPE,
    eip7002::{WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS, WITHDRAWAL_REQUEST_TYPE},
    eip7251::{CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS, CONSOLIDATION_REQUEST_TYPE},
};
use alloy_primitives::{Address, Bytes, U256};
use revm::{
    context::{BlockEnv, CfgEnv, ContextTr, JournalTr, TxEnv},
    context_interface::{
        block::BlobExcessGasAndPrice,
        result::{EVMError, ExecutionResult},
        transaction::AuthorizationTr,
    },
    handler::SystemCallEvm,
    Context, ExecuteEvm, MainBuilder, MainContext, MainnetEvm,
};

use crate::{
    error::Refusal,
    forks::Rules,
    input::Nodes,
    instructions,
    receipts::{deposits, Receipt},
    state::{State, StateError},
    transactions::{environment, Accelerator, Envelope},
};

/// Largest gas limit of a transaction from Osaka on, EIP-7825.
const TRANSACTION_GAS: u64 = 1 << 24;

/// Largest gas limit of a transaction before Osaka: the EVM's memory stays below 2^30 bytes, which the guest's addresses of 32 bits can
/// name. Ethereum's blocks have less than 2^27 in all; a forged parent could allow more.
const ADDRESSABLE_GAS: u64 = 1 << 40;

/// Results of execution, for comparison with the header.
pub(crate) struct Outcome {
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) gas: u64,
    pub(crate) requests: Vec<(u8, Bytes)>,
    pub(crate) state_root: alloy_primitives::B256,
}

type Evm<N> = MainnetEvm<revm::handler::MainnetContext<State<N>>>;

/// Executes a block on the state before it.
pub(crate) fn execute<M: Accelerator, N: Nodes>(
    header: &Header,
    rules: &Rules,
    chain: u64,
    transactions: &[(Envelope, Address)],
    withdrawals: &[Withdrawal],
    state: State<N>,
) -> Result<(Outcome, State<N>), Refusal> {
    let mut config = CfgEnv::new_with_spec(rules.spec).with_chain_id(chain);
    config.set_max_blobs_per_tx(rules.blobs.max_blobs_per_tx);
    config.tx_gas_limit_cap = Some(if rules.osaka {
        TRANSACTION_GAS
    } else {
        ADDRESSABLE_GAS
    });
    let mut evm: Evm<N> = Context::mainnet()
        .with_db(state)
        .with_cfg(config)
        .with_block(block(header, rules))
        .build_mainnet();
    instructions::replace::<_, M>(&mut evm.instruction);

    let beacon = header.parent_beacon_block_root.unwrap_or_default();
    system_call(&mut evm, BEACON_ROOTS_ADDRESS, beacon.0.into())?;
    if rules.prague {
        system_call(
            &mut evm,
            HISTORY_STORAGE_ADDRESS,
            header.parent_hash.0.into(),
        )?;
    }

    let mut gas = 0;
    let mut receipts = Vec::with_capacity(transactions.len());
    for (index, (transaction, sender)) in transactions.iter().enumerate() {
        let (limit, left) = (transaction.gas_limit(), header.gas_limit - gas);
        if limit > left {
            return Err(Refusal::TransactionGas { index, limit, left });
        }
        let environment = environment(transaction, *sender);
        forget_empty(&mut evm, &environment);
        let result = evm
            .transact_one(environment)
            .map_err(|error| refusal(index, error))?;
        gas += result.tx_gas_used();
        receipts.push(Receipt {
            kind: transaction.ty(),
            success: result.is_success(),
            gas,
            logs: match result {
                ExecutionResult::Success { logs, .. } => logs,
                // A transaction that fails has no logs on Ethereum.
                _ => Vec::new(),
            },
        });
    }

    let mut requests = Vec::new();
    if rules.prague {
        requests.push((DEPOSIT_REQUEST_TYPE, deposits(&receipts)?));
        for (kind, address) in [
            (
                WITHDRAWAL_REQUEST_TYPE,
                WITHDRAWAL_REQUEST_PREDEPLOY_ADDRESS,
            ),
            (
                CONSOLIDATION_REQUEST_TYPE,
                CONSOLIDATION_REQUEST_PREDEPLOY_ADDRESS,
            ),
        ] {
            requests.push((kind, request(&mut evm, address)?));
        }
    }
    for withdrawal in withdrawals {
        evm.ctx
            .journal_mut()
            .balance_incr(withdrawal.address, withdrawal.amount_wei())
            .map_err(Refusal::State)?;
    }
    let changes = evm.finalize();
    let mut state = evm.ctx.journaled_state.database;
    let state_root = state.root_after(changes)?;
    Ok((
        Outcome {
            receipts,
            gas,
            requests,
            state_root,
        },
        state,
    ))
}

/// Untouches authorities that an earlier transaction touched and left empty: they do not exist, EIP-161. revm keeps its
/// accounts from one transaction to the next, and refunds gas for an authority that it takes to exist.
fn forget_empty<N: Nodes>(evm: &mut Evm<N>, environment: &TxEnv) {
    let state = evm.ctx.journal_mut().evm_state_mut();
    for authorization in &environment.authorization_list {
        let account = authorization
            .authority()
            .and_then(|authority| state.get_mut(&authority));
        if let Some(account) = account {
            if account.is_loaded_as_not_existing() && account.is_empty() {
                account.unmark_touch();
            }
        }
    }
}

fn block(header: &Header, rules: &Rules) -> BlockEnv {
    let excess_blob_gas = header.excess_blob_gas.unwrap_or_default();
    BlockEnv {
        number: U256::from(header.number),
        beneficiary: header.beneficiary,
        timestamp: U256::from(header.timestamp),
        gas_limit: header.gas_limit,
        basefee: header.base_fee_per_gas.unwrap_or_default(),
        difficulty: U256::ZERO,
        prevrandao: Some(header.mix_hash),
        blob_excess_gas_and_price: Some(BlobExcessGasAndPrice {
            excess_blob_gas,
            blob_gasprice: rules.blobs.calc_blob_fee(excess_blob_gas),
        }),
        slot_num: 0,
    }
}

/// Calls a system contract. Its failure, or its absence, changes nothing.
fn system_call<N: Nodes>(
    evm: &mut Evm<N>,
    address: Address,
    data: Bytes,
) -> Result<ExecutionResult, Refusal> {
    evm.system_call_one(address, data)
        .map_err(|error| match error {
            EVMError::Database(error) => Refusal::State(error),
            error => Refusal::SystemCall {
                address,
                reason: error.to_string(),
            },
        })
}

/// Requests of a system contract, which has to be there and to succeed.
fn request<N: Nodes>(evm: &mut Evm<N>, address: Address) -> Result<Bytes, Refusal> {
    let refused = |reason: &str| Refusal::SystemCall {
        address,
        reason: reason.to_string(),
    };
    let account = evm
        .ctx
        .journal_mut()
        .load_account(address)
        .map_err(Refusal::State)?;
    if account.info.is_empty_code_hash() {
        return Err(refused("the contract has no code"));
    }
    match system_call(evm, address, Bytes::new())? {
        ExecutionResult::Success { output, .. } => Ok(output.into_data()),
        ExecutionResult::Revert { .. } => Err(refused("it reverts")),
        ExecutionResult::Halt { reason, .. } => {
            Err(refused(&alloc::format!("it halts: {reason:?}")))
        }
    }
}

fn refusal(index: usize, error: EVMError<StateError>) -> Refusal {
    match error {
        EVMError::Transaction(reason) => Refusal::Transaction { index, reason },
        EVMError::Database(error) => Refusal::State(error),
        error => Refusal::Machine {
            index,
            reason: error.to_string(),
        },
    }
}
