//! Instructions of the virtual machine in a form that costs less on 32-bit machines than revm's.

use crate::Machine;
use revm::{
    bytecode::opcode,
    handler::instructions::EthInstructions,
    interpreter::{
        interpreter::EthInterpreter, Host, Instruction, InstructionContext, InstructionResult,
    },
};

/// Gas of SWAP.
const VERY_LOW: u16 = 3;

/// Gas of MULMOD.
const MID: u16 = 8;

/// Replaces MULMOD by the machine's, and SWAP1 to SWAP16, which exchange words by registers and not by chunks in memory.
pub(crate) fn replace<H: Host, M: Machine>(table: &mut EthInstructions<EthInterpreter, H>) {
    let swaps: [Instruction<EthInterpreter, H>; 16] = [
        Instruction::new(swap::<1, H>),
        Instruction::new(swap::<2, H>),
        Instruction::new(swap::<3, H>),
        Instruction::new(swap::<4, H>),
        Instruction::new(swap::<5, H>),
        Instruction::new(swap::<6, H>),
        Instruction::new(swap::<7, H>),
        Instruction::new(swap::<8, H>),
        Instruction::new(swap::<9, H>),
        Instruction::new(swap::<10, H>),
        Instruction::new(swap::<11, H>),
        Instruction::new(swap::<12, H>),
        Instruction::new(swap::<13, H>),
        Instruction::new(swap::<14, H>),
        Instruction::new(swap::<15, H>),
        Instruction::new(swap::<16, H>),
    ];
    for (opcode, swap) in (opcode::SWAP1..).zip(swaps) {
        table.insert_instruction(opcode, swap, VERY_LOW);
    }
    table.insert_instruction(opcode::MULMOD, Instruction::new(mul_mod::<H, M>), MID);
}

// `mem::swap` exchanges chunks in memory, at twice the cost.
#[allow(clippy::manual_swap)]
fn swap<const N: usize, H: Host>(
    context: InstructionContext<'_, H, EthInterpreter>,
) -> Result<(), InstructionResult> {
    let stack = context.interpreter.stack.data_mut();
    let Some(below) = stack.len().checked_sub(N + 1) else {
        return Err(InstructionResult::StackUnderflow);
    };
    let (low, high) = stack.split_at_mut(below + N);
    let (Some(low), Some(high)) = (low.get_mut(below), high.first_mut()) else {
        return Err(InstructionResult::StackUnderflow);
    };
    let kept = *low;
    *low = *high;
    *high = kept;
    Ok(())
}

fn mul_mod<H: Host, M: Machine>(
    context: InstructionContext<'_, H, EthInterpreter>,
) -> Result<(), InstructionResult> {
    let stack = context.interpreter.stack.data_mut();
    let [.., modulus, b, a] = &mut stack[..] else {
        return Err(InstructionResult::StackUnderflow);
    };
    *modulus = M::mul_mod(*a, *b, *modulus);
    stack.truncate(stack.len() - 2);
    Ok(())
}
