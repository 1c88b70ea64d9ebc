//! The loop that executes steps.

use openvm_circuit::{
    arch::{ExecutionError, VmExecState},
    system::memory::online::{GuestMemory, LinearMemory},
};

use super::{
    arithmetic::{div, divu, mulh, mulhsu, mulhu, rem, remu},
    program::{DecodedProgram, LANES},
    rows::{Rows, PAGE_CELLS},
    step::{place_of, Op},
};
use crate::prelude::F;

pub(super) type State = VmExecState<F, GuestMemory, Rows>;

/// Most steps of one call: the rows of a lane fit 16 bits.
pub(super) const MOST_STEPS: u64 = 1 << 15;

/// Reason why the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// The next block has more steps than may be executed.
    Bound,
    /// The program ended with an exit code.
    End(u32),
    /// The state has the error.
    Failed,
}

/// What executes a step.
enum By {
    /// The loop.
    Loop,
    /// An executor, by the number of the step among those of executors, if it has one.
    Executor(Option<u32>),
}

/// Memory that steps access directly.
struct Memory {
    registers: *mut u32,
    bytes: *mut u8,
    page_bits: *mut u64,
    /// The page of the first byte.
    first_page: u32,
}

impl Memory {
    /// The memory of a state. Its pointers are valid until the state is used in another way.
    fn of(state: &mut State, size: u32) -> Self {
        let spaces = &mut state.vm_state.memory.memory.mem;
        let registers = spaces[1].as_mut_slice();
        assert!(registers.len() >= 128 && registers.as_ptr().addr().is_multiple_of(4));
        let registers = registers.as_mut_ptr().cast();
        let bytes = spaces[2].as_mut_slice();
        assert!(bytes.len() >= size as usize && bytes.as_ptr().addr().is_multiple_of(4));
        let bytes = bytes.as_mut_ptr();
        let (bits, first_page) = state.ctx.page_bits(2);
        let last_page = first_page as usize + (size as usize).div_ceil(PAGE_CELLS as usize);
        assert!(bits.len() * 64 >= last_page);
        Self {
            registers,
            bytes,
            page_bits: bits.as_mut_ptr(),
            first_page,
        }
    }

    #[inline(always)]
    fn register(&self, number: u8) -> u32 {
        // SAFETY: numbers are below 32, as `Step::decode` checks, and the space of registers has 128 bytes or more, as `of` does.
        u32::from_le(unsafe { self.registers.add(number.into()).read() })
    }

    #[inline(always)]
    fn set_register(&mut self, number: u8, value: u32) {
        // SAFETY: as in `register`.
        unsafe { self.registers.add(number.into()).write(value.to_le()) }
    }
}

/// Executes whole blocks, as many as have at most `bound` steps together, which is at most [`MOST_STEPS`]. With `SINGLE` each step is a block.
///
/// Rows of executors and new pages weigh as much as steps: after many of them the loop ends earlier. Guest memory has `size` bytes that a guest may
/// access, a multiple of 4 and at most `2^31`. Returns the number of steps that were executed.
pub(super) fn run<const SINGLE: bool>(
    program: &DecodedProgram<'_>,
    state: &mut State,
    size: u32,
    bound: u64,
) -> (u64, Stop) {
    assert!(bound <= MOST_STEPS && size.is_multiple_of(4) && size <= 1 << 31);
    let mut counts = [0u16; LANES];
    let (mut executed, mut left) = (0, bound);
    let places = program.places();
    let base = program.exe.program.pc_base;
    let mut place = match place_of(state.pc(), base, places) {
        Ok(place) => place,
        Err(error) => {
            state.exit_code = Err(error);
            return (0, Stop::Failed);
        }
    };
    let mut memory = Memory::of(state, size);
    let mut by = By::Loop;
    let steps = program.steps.as_slice();

    macro_rules! write {
        ($step:ident, $value:expr) => {{
            memory.set_register($step.a, $value);
            place += 1;
        }};
    }
    macro_rules! binary {
        ($step:ident, |$x:ident, $y:ident| $value:expr) => {{
            let ($x, $y) = (memory.register($step.b), memory.register($step.c));
            write!($step, $value)
        }};
    }
    macro_rules! immediate {
        ($step:ident, |$x:ident, $y:ident| $value:expr) => {{
            let ($x, $y) = (memory.register($step.b), $step.immediate);
            write!($step, $value)
        }};
    }
    macro_rules! branch {
        ($step:ident, |$x:ident, $y:ident| $taken:expr) => {{
            let ($x, $y) = (memory.register($step.a), memory.register($step.b));
            place = if $taken {
                $step.immediate as usize
            } else {
                place + 1
            };
            break;
        }};
    }
    // The address of an access of so many bytes, which is inside of the memory and aligned; the page is noted.
    macro_rules! address {
        ($step:ident, $bytes:expr) => {{
            let address = memory.register($step.b).wrapping_add($step.immediate);
            if !address.is_multiple_of($bytes) || address >= size {
                // The executor says what is wrong.
                by = By::Executor(None);
                break;
            }
            let page = memory.first_page + address / PAGE_CELLS;
            // SAFETY: `address` is below `size`, and there are bits for all pages of so many bytes, as `Memory::of` checks.
            let word = unsafe { *memory.page_bits.add(page as usize / 64) };
            if word >> (page % 64) & 1 == 0 {
                state.ctx.touch(page);
                left = left.saturating_sub(state.ctx.take_weight());
                memory = Memory::of(state, size);
            }
            // SAFETY: `address` is below `size`, a multiple of 4, and a multiple of `bytes`, so that all bytes are below `size` as well.
            unsafe { memory.bytes.add(address as usize) }
        }};
    }
    macro_rules! load {
        ($step:ident, $type:ty, |$x:ident| $value:expr) => {{
            let pointer = address!($step, size_of::<$type>() as u32).cast::<$type>();
            // SAFETY: `address!` returns a pointer to as many bytes, aligned for the type, as the memory is.
            let $x = <$type>::from_le(unsafe { pointer.read() });
            write!($step, $value)
        }};
    }
    macro_rules! store {
        ($step:ident, $type:ty) => {{
            let pointer = address!($step, size_of::<$type>() as u32).cast::<$type>();
            let value = memory.register($step.a) as $type;
            // SAFETY: `address!` returns a pointer to as many bytes, aligned for the type, as the memory is.
            unsafe { pointer.write(value.to_le()) };
            place += 1;
        }};
    }

    let stop = loop {
        // SAFETY: there is a block for each place and the one behind the last one, and no step leads elsewhere: targets are places, and the one
        // behind the last place is a gap, which ends the loop.
        let block = unsafe { program.blocks.get_unchecked(place) };
        let count = if SINGLE { 1 } else { u64::from(block.steps) };
        if left < count {
            break Stop::Bound;
        }
        left -= count;
        executed += count;
        for (lane, count) in counts.iter_mut().enumerate() {
            let rows = match SINGLE && !steps[place].op.ends_block() {
                true => block.rows[lane] - program.blocks[place + 1].rows[lane],
                false => block.rows[lane],
            };
            *count += u16::from(rows);
        }
        loop {
            // SAFETY: as for blocks.
            let step = unsafe { *steps.get_unchecked(place) };
            match step.op {
                Op::Add => binary!(step, |x, y| x.wrapping_add(y)),
                Op::AddI => immediate!(step, |x, y| x.wrapping_add(y)),
                Op::Sub => binary!(step, |x, y| x.wrapping_sub(y)),
                Op::Xor => binary!(step, |x, y| x ^ y),
                Op::XorI => immediate!(step, |x, y| x ^ y),
                Op::Or => binary!(step, |x, y| x | y),
                Op::OrI => immediate!(step, |x, y| x | y),
                Op::And => binary!(step, |x, y| x & y),
                Op::AndI => immediate!(step, |x, y| x & y),
                Op::Sll => binary!(step, |x, y| x.wrapping_shl(y)),
                Op::SllI => immediate!(step, |x, y| x.wrapping_shl(y)),
                Op::Srl => binary!(step, |x, y| x.wrapping_shr(y)),
                Op::SrlI => immediate!(step, |x, y| x.wrapping_shr(y)),
                Op::Sra => binary!(step, |x, y| (x as i32).wrapping_shr(y) as u32),
                Op::SraI => immediate!(step, |x, y| (x as i32).wrapping_shr(y) as u32),
                Op::Slt => binary!(step, |x, y| u32::from((x as i32) < y as i32)),
                Op::SltI => immediate!(step, |x, y| u32::from((x as i32) < y as i32)),
                Op::Sltu => binary!(step, |x, y| u32::from(x < y)),
                Op::SltuI => immediate!(step, |x, y| u32::from(x < y)),
                Op::Lui | Op::Auipc => write!(step, step.immediate),
                Op::Mul => binary!(step, |x, y| x.wrapping_mul(y)),
                Op::Mulh => binary!(step, |x, y| mulh(x, y)),
                Op::Mulhsu => binary!(step, |x, y| mulhsu(x, y)),
                Op::Mulhu => binary!(step, |x, y| mulhu(x, y)),
                Op::Div => binary!(step, |x, y| div(x, y)),
                Op::Divu => binary!(step, |x, y| divu(x, y)),
                Op::Rem => binary!(step, |x, y| rem(x, y)),
                Op::Remu => binary!(step, |x, y| remu(x, y)),
                Op::LoadByte => load!(step, u8, |x| i32::from(x as i8) as u32),
                Op::LoadByteUnsigned => load!(step, u8, |x| u32::from(x)),
                Op::LoadHalf => load!(step, u16, |x| i32::from(x as i16) as u32),
                Op::LoadHalfUnsigned => load!(step, u16, |x| u32::from(x)),
                Op::LoadWord => load!(step, u32, |x| x),
                Op::StoreByte => store!(step, u8),
                Op::StoreHalf => store!(step, u16),
                Op::StoreWord => store!(step, u32),
                Op::Beq => branch!(step, |x, y| x == y),
                Op::Bne => branch!(step, |x, y| x != y),
                Op::Blt => branch!(step, |x, y| (x as i32) < y as i32),
                Op::Bltu => branch!(step, |x, y| x < y),
                Op::Bge => branch!(step, |x, y| x as i32 >= y as i32),
                Op::Bgeu => branch!(step, |x, y| x >= y),
                Op::Jump => {
                    place = step.immediate as usize;
                    break;
                }
                Op::Jal => {
                    let link = program.address(place + 1);
                    memory.set_register(step.a, link);
                    place = step.immediate as usize;
                    break;
                }
                Op::JumpRegister | Op::Jalr => {
                    let target = memory.register(step.b).wrapping_add(step.immediate) & !1;
                    let offset = target.wrapping_sub(base);
                    let to = offset as usize / 4;
                    if !offset.is_multiple_of(4) || to >= places {
                        by = By::Executor(None);
                        break;
                    }
                    if step.op == Op::Jalr {
                        let link = program.address(place + 1);
                        memory.set_register(step.a, link);
                    }
                    place = to;
                    break;
                }
                Op::Executor => {
                    by = By::Executor(Some(step.immediate));
                    break;
                }
                Op::End => {
                    state.set_pc(program.address(place));
                    return (
                        executed,
                        end(program, state, &counts, Stop::End(step.immediate)),
                    );
                }
                Op::Gap => {
                    let pc = program.address(place);
                    state.set_pc(pc);
                    state.exit_code = Err(match place < places {
                        true => ExecutionError::Unreachable(pc),
                        false => ExecutionError::PcOutOfBounds(pc),
                    });
                    return (executed, end(program, state, &counts, Stop::Failed));
                }
            }
            if SINGLE {
                break;
            }
        }
        let By::Executor(number) = std::mem::replace(&mut by, By::Loop) else {
            continue;
        };
        state.set_pc(program.address(place));
        if !execute(program, state, place, number) {
            break Stop::Failed;
        }
        left = left.saturating_sub(state.ctx.take_weight());
        place = match place_of(state.pc(), base, places) {
            Ok(place) => place,
            Err(error) => {
                state.exit_code = Err(error);
                break Stop::Failed;
            }
        };
        memory = Memory::of(state, size);
    };
    if stop == Stop::Bound {
        state.set_pc(program.address(place));
    }
    (executed, end(program, state, &counts, stop))
}

/// Executes the instruction at a place by its executor. False after an error, which the state has.
fn execute(
    program: &DecodedProgram<'_>,
    state: &mut State,
    place: usize,
    number: Option<u32>,
) -> bool {
    let made;
    let step = match number {
        Some(number) => &program.executor_steps[number as usize],
        None => {
            let slots = &program.exe.program.instructions_and_debug_infos;
            let (instruction, _) = slots[place].as_ref().expect("an instruction was decoded");
            made = match program.executor_step(place, instruction) {
                Ok(step) => step,
                Err(error) => {
                    state.exit_code = Err(error.into());
                    return false;
                }
            };
            &made
        }
    };
    // SAFETY: the executor made the handler for the data of this instruction, which live as long as the step, and the executors live as long as
    // the program.
    unsafe { (step.handler)(step.data(), state) };
    state.exit_code.is_ok()
}

/// Adds the rows of steps.
fn end(program: &DecodedProgram<'_>, state: &mut State, counts: &[u16; LANES], stop: Stop) -> Stop {
    for (&air, &rows) in program.lanes.iter().zip(counts) {
        state.ctx.add(air, rows.into());
    }
    stop
}
