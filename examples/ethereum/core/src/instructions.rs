//! EVM instructions in a form that costs less on 32-bit machines than revm's.
//!
//! revm fetches one instruction, charges its gas, and calls its function. [`run`] is the function of the most frequent instructions
//! ([`RUN`], PUSH, DUP and SWAP): it executes them in one loop, and returns to revm at the first other instruction. Gas and the stack
//! pointer stay in registers inside the loop.

use core::mem::{size_of, MaybeUninit};

use alloy_primitives::U256;
use revm::{
    bytecode::opcode as op,
    handler::instructions::EthInstructions,
    interpreter::{
        gas,
        interpreter::{resize_memory, EthInterpreter},
        interpreter_types::Jumps,
        Host, Instruction, InstructionContext, InstructionResult, Interpreter, STACK_LIMIT,
    },
};

use crate::Accelerator;

// Gas of JUMPDEST; of POP and PUSH0; of instructions without a name here; of MUL; of JUMP and MULMOD; of JUMPI.
const JUMPDEST: u32 = gas::JUMPDEST as u32;
const BASE: u32 = gas::BASE as u32;
const VERY_LOW: u32 = gas::VERYLOW as u32;
const LOW: u32 = gas::LOW as u32;
const MID: u32 = gas::MID as u32;
const HIGH: u32 = gas::HIGH as u32;

const _: () = assert!(cfg!(target_endian = "little"));

/// Instructions that [`run`] executes, PUSH, DUP and SWAP apart. Each needs an arm there: without one revm calls `run` again for ever.
const RUN: [u8; 23] = [
    op::ADD,
    op::MUL,
    op::SUB,
    op::LT,
    op::GT,
    op::SLT,
    op::SGT,
    op::EQ,
    op::ISZERO,
    op::AND,
    op::OR,
    op::XOR,
    op::NOT,
    op::SHL,
    op::SHR,
    op::SAR,
    op::POP,
    op::MLOAD,
    op::MSTORE,
    op::JUMP,
    op::JUMPI,
    op::JUMPDEST,
    op::MULMOD,
];

/// Replaces revm's instructions by [`run`], which charges their gas itself.
pub(crate) fn replace<H: Host, M: Accelerator>(table: &mut EthInstructions<EthInterpreter, H>) {
    replace_with::<H, M, { u32::MAX }>(table);
}

/// Replaces the instructions by [`run`] with at most `MAX_REGISTER_GAS` in the register, so that tests reach its refill.
fn replace_with<H: Host, M: Accelerator, const MAX_REGISTER_GAS: u32>(
    table: &mut EthInstructions<EthInterpreter, H>,
) {
    let pushes_and_more = op::PUSH0..=op::SWAP16;
    for opcode in RUN.into_iter().chain(pushes_and_more) {
        table.insert_instruction(opcode, Instruction::new(run::<H, M, MAX_REGISTER_GAS>), 0);
    }
}

/// EVM stack as [`run`] sees it.
struct Stack {
    base: *mut U256,
    /// One past the last word.
    top: *mut U256,
    limit: *mut U256,
}

impl Stack {
    #[inline(always)]
    fn has(&self, words: usize) -> bool {
        // Addresses are compared, because `top - words` may lie before the allocation.
        self.top as usize >= self.base as usize + words * size_of::<U256>()
    }

    /// The word at `depth` from the top, 1 for the last.
    ///
    /// # Safety
    ///
    /// The stack has so many words.
    #[inline(always)]
    unsafe fn word(&mut self, depth: usize) -> &mut U256 {
        // SAFETY: the caller guarantees that the stack has `depth` words.
        unsafe { &mut *self.top.sub(depth) }
    }

    /// Pops a word, and returns it with the next one.
    #[inline(always)]
    fn binary(&mut self) -> Option<(&U256, &mut U256)> {
        if !self.has(2) {
            return None;
        }
        // SAFETY: two words are there; the upper one stays as it is until the next push.
        unsafe {
            self.top = self.top.sub(1);
            Some((&*self.top, &mut *self.top.sub(1)))
        }
    }

    /// Returns the place of a new word, which the caller writes.
    #[inline(always)]
    fn push(&mut self) -> Option<*mut U256> {
        if self.top == self.limit {
            return None;
        }
        let place = self.top;
        // SAFETY: revm allocates room for the limit, and the top is below it.
        self.top = unsafe { place.add(1) };
        Some(place)
    }
}

/// Pointer to a call's memory, loaded at its first use. `reach` is the number of offsets at which a whole word lies in the memory, and 0
/// before the first use.
struct Memory {
    bytes: *mut u8,
    reach: usize,
}

impl Memory {
    fn of(interpreter: &mut Interpreter<EthInterpreter>) -> Self {
        let length = interpreter.memory.len();
        Self {
            bytes: interpreter.memory.slice_mut(0, length).as_mut_ptr(),
            // Memory has a multiple of 32 bytes.
            reach: length.saturating_sub(31),
        }
    }
}

/// Position and length of the code that runs, and the bits of its jump destinations.
struct RunningCode {
    start: *const u8,
    length: usize,
    destinations: *const u8,
}

impl RunningCode {
    fn of(interpreter: &Interpreter<EthInterpreter>) -> Self {
        let code = &interpreter.bytecode;
        let (length, destinations) = match code.legacy_jump_table() {
            Some(table) => (table.len(), table.as_slice().as_ptr()),
            None => (0, core::ptr::null()),
        };
        Self {
            start: code.bytes_ref().as_ptr(),
            length,
            destinations,
        }
    }

    /// The JUMPDEST at `target`.
    #[inline(always)]
    fn destination(&self, target: usize) -> Option<*const u8> {
        if target >= self.length {
            return None;
        }
        // SAFETY: the table has a bit for each byte of the code.
        unsafe {
            let bits = *self.destinations.add(target / 8);
            (bits >> (target % 8) & 1 == 1).then(|| self.start.add(target))
        }
    }
}

/// Copies 32 bytes in reverse order, between big-endian memory and little-endian words.
///
/// # Safety
///
/// 32 bytes at `from` can be read and 32 at `to` written, and they do not overlap.
#[inline(always)]
unsafe fn reverse(from: *const u8, to: *mut u8) {
    if (from as usize | to as usize).is_multiple_of(4) {
        for word in 0..8 {
            // SAFETY: the caller guarantees 32 bytes at both; both are aligned to four.
            unsafe {
                let bytes = from.cast::<u32>().add(word).read();
                let to = to.cast::<u32>().add(7 - word);
                // Most words are numbers with many zeros in front.
                if bytes == 0 {
                    to.write(0);
                } else {
                    let to = to.cast::<u8>();
                    to.add(3).write(bytes as u8);
                    to.add(2).write((bytes >> 8) as u8);
                    to.add(1).write((bytes >> 16) as u8);
                    to.write((bytes >> 24) as u8);
                }
            }
        }
    } else {
        // SAFETY: the caller guarantees 32 bytes at both.
        unsafe { load::<32>(from, to) };
    }
}

/// Writes `N` bytes, big endian, to the lowest ones of a word.
///
/// # Safety
///
/// `N <= 32`; as many bytes at `from` can be read, and at `word` written.
#[inline(always)]
unsafe fn load<const N: usize>(from: *const u8, word: *mut u8) {
    for byte in 0..N {
        // SAFETY: the caller guarantees `N` bytes at both.
        unsafe { word.add(N - 1 - byte).write(from.add(byte).read()) };
    }
}

/// Returns the gas for the register: all that remains, at most `MAX_REGISTER_GAS`.
#[inline(always)]
fn one_register<const MAX_REGISTER_GAS: u32>(gas: u64) -> u32 {
    if gas >> 32 == 0 {
        (gas as u32).min(MAX_REGISTER_GAS)
    } else {
        MAX_REGISTER_GAS
    }
}

/// Executes instructions from the one that revm has fetched up to the first without an arm.
fn run<H: Host, M: Accelerator, const MAX_REGISTER_GAS: u32>(
    context: InstructionContext<'_, H, EthInterpreter>,
) -> Result<(), InstructionResult> {
    const { assert!(MAX_REGISTER_GAS >= VERY_LOW + HIGH) };
    let InstructionContext { interpreter, host } = context;
    let code = RunningCode::of(interpreter);
    // SAFETY: revm has gone past the instruction that it has fetched, which lies in the code.
    let mut at = unsafe { code.start.add(interpreter.bytecode.pc() - 1) };
    let words = interpreter.stack.data_mut();
    let base = words.as_mut_ptr();
    // SAFETY: revm allocates STACK_LIMIT words, of which `len` are there.
    let mut stack = unsafe {
        Stack {
            base,
            top: base.add(words.len()),
            limit: base.add(STACK_LIMIT),
        }
    };
    let mut memory = Memory {
        bytes: core::ptr::null_mut(),
        reach: 0,
    };
    let mut remaining = interpreter.gas.remaining();
    // If more gas remains than the register holds, the loop returns to revm when the register is spent, and revm calls it again.
    let mut budget = one_register::<MAX_REGISTER_GAS>(remaining);
    let mut gas = budget;

    let result = loop {
        macro_rules! pay {
            ($cost:expr) => {
                if gas < $cost {
                    break if remaining > u64::from(budget) {
                        Ok(())
                    } else {
                        Err(InstructionResult::OutOfGas)
                    };
                }
                gas -= $cost;
            };
        }
        macro_rules! some {
            ($option:expr, $error:ident) => {
                match $option {
                    Some(value) => value,
                    None => break Err(InstructionResult::$error),
                }
            };
        }
        macro_rules! need {
            ($words:expr) => {
                if !stack.has($words) {
                    break Err(InstructionResult::StackUnderflow);
                }
            };
        }
        macro_rules! step {
            ($bytes:expr) => {
                // SAFETY: a code has all bytes of its last immediate and a STOP after it, by the zeros of `input::Code` or by revm's
                // analysis.
                at = unsafe { at.add($bytes) }
            };
        }
        macro_rules! binary {
            ($cost:expr, $function:ident) => {{
                pay!($cost);
                let (a, b) = some!(stack.binary(), StackUnderflow);
                M::$function(a, b);
                step!(1);
            }};
        }
        macro_rules! unary {
            ($function:ident) => {{
                pay!(VERY_LOW);
                need!(1);
                // SAFETY: one word is there.
                M::$function(unsafe { stack.word(1) });
                step!(1);
            }};
        }
        macro_rules! jump {
            ($target:expr) => {
                at = some!(code.destination($target), InvalidJump);
                pay!(JUMPDEST);
                step!(1);
            };
        }
        // The memory's bytes at the offset that the last word of the stack names.
        macro_rules! memory_word {
            () => {{
                // SAFETY: one word is there.
                let offset = some!(M::to_u32(unsafe { stack.word(1) }), InvalidOperandOOG) as usize;
                if offset >= memory.reach {
                    memory = Memory::of(interpreter);
                }
                if offset >= memory.reach {
                    let Interpreter {
                        gas: left,
                        memory: bytes,
                        ..
                    } = &mut *interpreter;
                    left.set_remaining(remaining - u64::from(budget - gas));
                    // An error halts the call: revm reads neither stack nor position after it.
                    resize_memory(left, bytes, host.gas_params(), offset, 32)?;
                    memory = Memory::of(interpreter);
                    assert!(offset < memory.reach, "memory that addresses cannot name");
                    remaining = interpreter.gas.remaining();
                    budget = one_register::<MAX_REGISTER_GAS>(remaining);
                    gas = budget;
                }
                // SAFETY: 32 bytes at an offset below `reach` lie in the memory, which nothing else resizes during `run`.
                unsafe { memory.bytes.add(offset) }
            }};
        }
        macro_rules! push {
            ($bytes:literal) => {{
                pay!(VERY_LOW);
                let word = some!(stack.push(), StackOverflow);
                // SAFETY: the place is the stack's, and the immediate is there, see `step`.
                unsafe {
                    if $bytes < 32 {
                        M::copy(&U256::ZERO, word);
                    }
                    load::<$bytes>(at.add(1), word.cast());
                }
                step!($bytes + 1);
            }};
        }
        macro_rules! dup {
            ($depth:literal) => {{
                pay!(VERY_LOW);
                need!($depth);
                let word = some!(stack.push(), StackOverflow);
                // SAFETY: the place is the stack's, with as many words below it.
                unsafe { M::copy(word.sub($depth), word) };
                step!(1);
            }};
        }
        macro_rules! swap {
            ($depth:literal) => {{
                pay!(VERY_LOW);
                need!($depth + 1);
                let mut kept = MaybeUninit::uninit();
                // SAFETY: `$depth + 1` words are there.
                unsafe {
                    let (high, low) = (stack.top.sub(1), stack.top.sub($depth + 1));
                    M::copy(high, kept.as_mut_ptr());
                    M::copy(low, high);
                    M::copy(kept.as_ptr(), low);
                }
                step!(1);
            }};
        }

        // SAFETY: revm's own condition: the instruction is in the code or in the zeros behind it.
        match unsafe { *at } {
            op::ADD => binary!(VERY_LOW, add),
            op::MUL => binary!(LOW, mul),
            op::SUB => binary!(VERY_LOW, sub),
            op::LT => binary!(VERY_LOW, lt),
            op::GT => binary!(VERY_LOW, gt),
            op::SLT => binary!(VERY_LOW, slt),
            op::SGT => binary!(VERY_LOW, sgt),
            op::EQ => binary!(VERY_LOW, eq),
            op::AND => binary!(VERY_LOW, and),
            op::OR => binary!(VERY_LOW, or),
            op::XOR => binary!(VERY_LOW, xor),
            op::SHL => binary!(VERY_LOW, shl),
            op::SHR => binary!(VERY_LOW, shr),
            op::SAR => binary!(VERY_LOW, sar),
            op::ISZERO => unary!(iszero),
            op::NOT => unary!(not),
            op::MULMOD => {
                pay!(MID);
                need!(3);
                // SAFETY: three words are there.
                unsafe {
                    let (a, b) = (*stack.word(1), *stack.word(2));
                    let modulus = stack.word(3);
                    *modulus = M::mul_mod(a, b, *modulus);
                    stack.top = stack.top.sub(2);
                }
                step!(1);
            }
            op::POP => {
                pay!(BASE);
                need!(1);
                // SAFETY: one word is there.
                stack.top = unsafe { stack.top.sub(1) };
                step!(1);
            }
            op::MLOAD => {
                pay!(VERY_LOW);
                need!(1);
                let bytes = memory_word!();
                // SAFETY: one word is there, and 32 bytes.
                unsafe { reverse(bytes, (stack.word(1) as *mut U256).cast()) };
                step!(1);
            }
            op::MSTORE => {
                pay!(VERY_LOW);
                need!(2);
                let bytes = memory_word!();
                // SAFETY: two words are there, and 32 bytes.
                unsafe {
                    reverse((stack.word(2) as *const U256).cast(), bytes);
                    stack.top = stack.top.sub(2);
                }
                step!(1);
            }
            op::JUMPDEST => {
                pay!(JUMPDEST);
                step!(1);
            }
            op::JUMP => {
                pay!(MID);
                need!(1);
                // SAFETY: one word is there.
                let target = unsafe {
                    stack.top = stack.top.sub(1);
                    M::to_u32(&*stack.top)
                };
                jump!(some!(target, InvalidJump) as usize);
            }
            op::JUMPI => {
                pay!(HIGH);
                need!(2);
                // SAFETY: two words are there.
                let (target, condition) = unsafe {
                    stack.top = stack.top.sub(2);
                    (&*stack.top.add(1), &*stack.top)
                };
                if M::is_zero(condition) {
                    step!(1);
                } else {
                    jump!(some!(M::to_u32(target), InvalidJump) as usize);
                }
            }
            op::PUSH0 => {
                pay!(BASE);
                let word = some!(stack.push(), StackOverflow);
                // SAFETY: the place is the stack's.
                unsafe { M::copy(&U256::ZERO, word) };
                step!(1);
            }
            // Most jumps are to a target that is pushed before: it need not pass through the stack.
            op::PUSH2 => {
                // SAFETY: two bytes of immediate and at least one byte after them can be read, see `step`.
                let (high, low, follower) = unsafe { (*at.add(1), *at.add(2), *at.add(3)) };
                let target = usize::from(high) << 8 | usize::from(low);
                if stack.top == stack.limit {
                    break Err(InstructionResult::StackOverflow);
                }
                if follower == op::JUMP {
                    pay!(VERY_LOW + MID);
                    jump!(target);
                } else if follower == op::JUMPI {
                    pay!(VERY_LOW + HIGH);
                    need!(1);
                    // SAFETY: one word is there.
                    let condition = unsafe {
                        stack.top = stack.top.sub(1);
                        &*stack.top
                    };
                    if M::is_zero(condition) {
                        step!(4);
                    } else {
                        jump!(target);
                    }
                } else {
                    pay!(VERY_LOW);
                    let word = some!(stack.push(), StackOverflow);
                    // SAFETY: the place is the stack's.
                    unsafe {
                        M::copy(&U256::ZERO, word);
                        word.cast::<u8>().write(low);
                        word.cast::<u8>().add(1).write(high);
                    }
                    step!(3);
                }
            }
            op::PUSH1 => push!(1),
            op::PUSH3 => push!(3),
            op::PUSH4 => push!(4),
            op::PUSH5 => push!(5),
            op::PUSH6 => push!(6),
            op::PUSH7 => push!(7),
            op::PUSH8 => push!(8),
            op::PUSH9 => push!(9),
            op::PUSH10 => push!(10),
            op::PUSH11 => push!(11),
            op::PUSH12 => push!(12),
            op::PUSH13 => push!(13),
            op::PUSH14 => push!(14),
            op::PUSH15 => push!(15),
            op::PUSH16 => push!(16),
            op::PUSH17 => push!(17),
            op::PUSH18 => push!(18),
            op::PUSH19 => push!(19),
            op::PUSH20 => push!(20),
            op::PUSH21 => push!(21),
            op::PUSH22 => push!(22),
            op::PUSH23 => push!(23),
            op::PUSH24 => push!(24),
            op::PUSH25 => push!(25),
            op::PUSH26 => push!(26),
            op::PUSH27 => push!(27),
            op::PUSH28 => push!(28),
            op::PUSH29 => push!(29),
            op::PUSH30 => push!(30),
            op::PUSH31 => push!(31),
            op::PUSH32 => push!(32),
            op::DUP1 => dup!(1),
            op::DUP2 => dup!(2),
            op::DUP3 => dup!(3),
            op::DUP4 => dup!(4),
            op::DUP5 => dup!(5),
            op::DUP6 => dup!(6),
            op::DUP7 => dup!(7),
            op::DUP8 => dup!(8),
            op::DUP9 => dup!(9),
            op::DUP10 => dup!(10),
            op::DUP11 => dup!(11),
            op::DUP12 => dup!(12),
            op::DUP13 => dup!(13),
            op::DUP14 => dup!(14),
            op::DUP15 => dup!(15),
            op::DUP16 => dup!(16),
            op::SWAP1 => swap!(1),
            op::SWAP2 => swap!(2),
            op::SWAP3 => swap!(3),
            op::SWAP4 => swap!(4),
            op::SWAP5 => swap!(5),
            op::SWAP6 => swap!(6),
            op::SWAP7 => swap!(7),
            op::SWAP8 => swap!(8),
            op::SWAP9 => swap!(9),
            op::SWAP10 => swap!(10),
            op::SWAP11 => swap!(11),
            op::SWAP12 => swap!(12),
            op::SWAP13 => swap!(13),
            op::SWAP14 => swap!(14),
            op::SWAP15 => swap!(15),
            op::SWAP16 => swap!(16),
            _ => break Ok(()),
        }
    };
    // SAFETY: the top is between the base and the limit, and the words below it are written.
    unsafe {
        let length = stack.top.offset_from(base) as usize;
        interpreter.stack.data_mut().set_len(length);
        interpreter
            .gas
            .set_remaining(remaining - u64::from(budget - gas));
        interpreter
            .bytecode
            .absolute_jump(at.offset_from(code.start) as usize);
    }
    result
}

#[cfg(test)]
mod tests;
