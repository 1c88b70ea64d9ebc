//! Random instructions.

use hologram_backends::{Instruction, Register};

use super::{label, predicate};
use crate::Numbers;

/// Codes from here on are pools and whole-buffer operations: most of them fault at once.
const RARE: u8 = 112;
/// Longest serialised instruction without a label.
const FIELDS: usize = 40;

/// Any instruction with small operands, whatever it reads; jumps go to the labels of this module.
pub(super) fn any(numbers: &mut Numbers) -> Instruction {
    loop {
        let at = numbers.below(Instruction::ALL.len() as u64) as usize;
        let (code, mnemonic) = Instruction::ALL[at];
        if code >= RARE && numbers.below(4) > 0 {
            continue;
        }
        let found = match mnemonic {
            "bra" => label(numbers).map(|target| {
                let pred = (numbers.below(3) > 0).then(|| predicate(numbers)).flatten();
                Instruction::Bra { target, pred }
            }),
            "call" => label(numbers).map(|target| Instruction::Call { target }),
            "loop" => label(numbers).map(|body| Instruction::Loop {
                count: Register::new(numbers.below(8) as u8),
                body,
            }),
            _ => decoded(code, numbers),
        };
        if let Some(instruction) = found {
            return instruction;
        }
    }
}

/// The instruction with a code and random fields; `None` when no such fields exist.
pub fn decoded(code: u8, numbers: &mut Numbers) -> Option<Instruction> {
    let mut bytes = [0; FIELDS];
    bytes[0] = code;
    // Types and operations are small numbers, and so are the registers and handles of likely programs.
    for byte in &mut bytes[1..] {
        *byte = match numbers.below(20) {
            0..=8 => 0,
            9..=17 => numbers.below(12) as u8,
            18 => 252 + numbers.below(4) as u8,
            _ => numbers.below(256) as u8,
        };
    }
    let (instruction, _) = Instruction::read_from_prefix(&bytes).ok()?;
    Some(instruction)
}
