//! Codes of contracts: destinations of jumps.

use alloc::{vec, vec::Vec};
use alloy_primitives::Bytes;
use revm::bytecode::{opcode, Bytecode, JumpTable};

use crate::input::Code;

/// Form of a code that revm runs.
pub(crate) fn bytecode(code: &Code) -> Bytecode {
    let bytes = code.code();
    // Codes from before EIP-3541 may begin as a delegation does, and are none.
    if bytes.is_empty() || bytes.starts_with(&[0xef, 0x01]) {
        let bytes = Bytes::copy_from_slice(bytes);
        return Bytecode::new_raw_checked(bytes.clone())
            .unwrap_or_else(|_| Bytecode::new_legacy(bytes));
    }
    let table = JumpTable::from_slice(&destinations(bytes), bytes.len());
    // SAFETY: CODE_PADDING zeros follow the code. revm needs 33: the immediate of a PUSH32 in the last byte, and STOP.
    unsafe { Bytecode::new_analyzed(code.padded().clone(), bytes.len(), table) }
}

/// Bits of the positions of JUMPDEST, those within immediates excepted.
fn destinations(code: &[u8]) -> Vec<u8> {
    let mut bits = vec![0; code.len().div_ceil(8)];
    let mut at = 0;
    while let Some(byte) = code.get(at) {
        at += 1;
        // JUMPDEST, PUSH0, and PUSH1 to PUSH32 follow one another from 0x5b on, with two instructions between.
        let above = byte.wrapping_sub(opcode::JUMPDEST);
        if above > opcode::PUSH32 - opcode::JUMPDEST {
            continue;
        }
        if above == 0 {
            bits[(at - 1) / 8] |= 1 << ((at - 1) % 8);
        } else if *byte >= opcode::PUSH1 {
            at += usize::from(byte - opcode::PUSH0);
        }
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn destinations_are_those_of_revm() {
        let mut seed = 1_u64;
        for length in (1..90).chain([1_000, 24_576]) {
            let code: Vec<u8> = (0..length)
                .map(|_| {
                    seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                    // Mostly destinations and immediates.
                    if seed >> 63 == 0 {
                        0x5a + (seed >> 40) as u8 % 0x27
                    } else {
                        (seed >> 40) as u8
                    }
                })
                .collect();
            let expected = Bytecode::new_legacy(code.clone().into());
            let found = bytecode(&Code::new(&code));
            assert_eq!(found.legacy_jump_table(), expected.legacy_jump_table());
            assert_eq!(found.original_bytes(), expected.original_bytes());
        }
    }
}
