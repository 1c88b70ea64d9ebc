//! A token with one method, `transfer(address,uint256)`, whose balances are Solidity's first mapping.

use alloy_primitives::{keccak256, Address, U256};

const SELECTOR: [u8; 4] = [0xa9, 0x05, 0x9c, 0xbb];

/// Slot of the balance of `owner`: Keccak-256 of the owner and the mapping's slot, 32 bytes each.
pub fn slot(owner: Address) -> U256 {
    let mut key = [0; 64];
    key[12..32].copy_from_slice(owner.as_slice());
    keccak256(key).into()
}

pub fn transfer(to: Address, amount: U256) -> Vec<u8> {
    let mut data = SELECTOR.to_vec();
    data.extend_from_slice(&[0; 12]);
    data.extend_from_slice(to.as_slice());
    data.extend_from_slice(&amount.to_be_bytes::<32>());
    data
}

/// The contract's code. The comments give the stack after each line, its top on the right.
pub fn code() -> Vec<u8> {
    use revm::bytecode::opcode::*;
    const CALL: u8 = 20;
    const POOR: u8 = 68;
    let mut code = vec![];
    // Another selector reverts.
    code.extend([PUSH1, 0, CALLDATALOAD, PUSH1, 0xe0, SHR, PUSH4]);
    code.extend(SELECTOR);
    code.extend([EQ, PUSH1, CALL, JUMPI, PUSH0, PUSH0, REVERT]);
    assert_eq!(code.len(), 18);
    code.extend([STOP, STOP]);
    assert_eq!(code.len(), CALL as usize);
    code.push(JUMPDEST);
    code.extend([CALLER, PUSH0, MSTORE]);
    code.extend([PUSH1, 64, PUSH0, KECCAK256]); //    from
    code.extend([DUP1, SLOAD]); //                    from balance
    code.extend([PUSH1, 0x24, CALLDATALOAD]); //      from balance amount
    code.extend([DUP1, DUP3, LT, PUSH1, POOR, JUMPI]);
    code.extend([SWAP1, DUP2, SWAP1, SUB]); //        from amount balance-amount
    code.extend([DUP3, SSTORE]); //                   from amount
    code.extend([PUSH1, 4, CALLDATALOAD, PUSH0, MSTORE]);
    code.extend([PUSH1, 64, PUSH0, KECCAK256]); //    from amount to
    code.extend([DUP1, SLOAD, DUP3, ADD]); //         from amount to balance+amount
    code.extend([SWAP1, SSTORE]); //                  from amount
    code.extend([PUSH1, 1, PUSH0, MSTORE, PUSH1, 32, PUSH0, RETURN]);
    assert_eq!(code.len(), POOR as usize);
    code.extend([JUMPDEST, PUSH0, PUSH0, REVERT]);
    code
}
