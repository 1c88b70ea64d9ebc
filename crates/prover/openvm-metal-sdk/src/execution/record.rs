//! `Recorder`: executes a segment and records it for its traces.

use openvm_circuit::{
    arch::{
        execution_mode::{PreflightCtx, Segment},
        instructions::{
            exe::VmExe,
            riscv::{RV32_MEMORY_AS, RV32_REGISTER_AS},
        },
        ExecutionError, ExecutionState, ExecutorInventory, PreflightExecutionOutput,
        PreflightExecutor, StaticProgramError, VmExecState, VmState,
    },
    system::{
        memory::online::{GuestMemory, LinearMemory, TracingMemory},
        SystemRecords,
    },
};
use openvm_rv32im_transpiler::Rv32LoadStoreOpcode;
use openvm_stark_backend::p3_field::PrimeField32;

use super::{
    arithmetic::{div, divu, mulh, mulhsu, mulhu, rem, remu},
    records::{Chip, RecordWriter},
    step::{place_of, Op, Step},
};
use crate::{
    prelude::F,
    vm::{memory_bytes, CheckedExecutor, OneThread, TraceArena},
};

/// Address spaces of registers and of memory.
const REGISTERS: u32 = RV32_REGISTER_AS;
const MEMORY: u32 = RV32_MEMORY_AS;

/// Pointer that stands for no register in a record.
const NO_REGISTER: u32 = u32::MAX;

type State = VmExecState<F, TracingMemory, PreflightCtx<TraceArena>>;

/// A program of which segments are recorded.
pub(crate) struct Recorder {
    steps: Vec<Step>,
    /// Executions of each place in a segment.
    frequencies: Vec<u32>,
    /// Index of the AIR of each executor.
    airs: Vec<usize>,
    /// Index of the AIR of each chip of RV32IM, if there is one.
    chips: [Option<usize>; Chip::LAYOUTS.len()],
    base: u32,
    /// Thread that lists the touched memory.
    one_thread: OneThread,
}

impl Recorder {
    /// Decodes a program. `airs` has the AIR of each executor.
    ///
    /// # Errors
    /// [`StaticProgramError`] for an instruction that no executor takes.
    pub fn new(
        executors: &ExecutorInventory<CheckedExecutor>,
        exe: &VmExe<F>,
        airs: Vec<usize>,
    ) -> Result<Self, StaticProgramError> {
        let slots = &exe.program.instructions_and_debug_infos;
        let base = exe.program.pc_base;
        let mut steps = Vec::with_capacity(slots.len() + 1);
        let mut chips = [None; Chip::LAYOUTS.len()];
        for (index, slot) in slots.iter().enumerate() {
            let Some((instruction, _)) = slot else {
                steps.push(Step::of(Op::Gap, 0));
                continue;
            };
            let decoded = Step::decode(instruction, base, index, slots.len());
            if let Some(step) = decoded.filter(|step| step.op == Op::End) {
                steps.push(step);
                continue;
            }
            let opcode = instruction.opcode;
            let Some(&executor) = executors.instruction_lookup.get(&opcode) else {
                let pc = base.wrapping_add(4 * index as u32);
                return Err(StaticProgramError::DisabledOperation { pc, opcode });
            };
            if let Some(chip) = decoded.and_then(|step| step.op.chip()) {
                chips[chip as usize] = Some(airs[executor as usize]);
            }
            steps.push(decoded.unwrap_or_else(|| Step::of(Op::Executor, executor)));
        }
        steps.push(Step::of(Op::Gap, 0));
        Ok(Self {
            frequencies: vec![0; steps.len()],
            steps,
            airs,
            chips,
            base,
            one_thread: OneThread::default(),
        })
    }

    /// Executes a segment from a state and records it in arenas, by AIR, as OpenVM's `VirtualMachine::execute_preflight` does.
    ///
    /// # Errors
    /// Instructions that cannot be executed.
    ///
    /// # Panics
    /// More records of a chip than its arena has room for.
    pub fn record(
        &mut self,
        executors: &ExecutorInventory<CheckedExecutor>,
        exe: &VmExe<F>,
        from: VmState<F, GuestMemory>,
        segment: &Segment,
        arenas: Vec<TraceArena>,
    ) -> Result<PreflightExecutionOutput<F, TraceArena>, ExecutionError> {
        let pc = from.pc();
        let registers = &from.memory.memory.mem[REGISTERS as usize];
        assert!(registers.size() >= 128, "32 registers");
        let memory = TracingMemory::from_image(from.memory);
        let from_state = ExecutionState::new(pc, memory.timestamp());
        let ctx = PreflightCtx {
            arenas,
            instret_left: segment.num_insns,
        };
        let state = VmState::new(pc, memory, from.streams, from.rng);
        let mut state = VmExecState::new(state, ctx);
        self.frequencies.fill(0);
        self.run(executors, exe, &mut state)?;
        let exit_code = state.exit_code?;
        let mut end = state.vm_state;
        // On rayon's threads each page would be a job, which threads steal from each other for longer than the page takes.
        let touched_memory = self.one_thread.run(|| end.memory.finalize::<F>());
        let pc = end.pc();
        let mut frequencies = Vec::with_capacity(self.steps.len());
        let executed = self.steps.iter().zip(&self.frequencies);
        let executed = executed.filter(|(step, _)| step.op != Op::Gap);
        frequencies.extend(executed.map(|(_, &count)| count));
        Ok(PreflightExecutionOutput {
            system_records: SystemRecords {
                from_state,
                to_state: ExecutionState::new(pc, end.memory.timestamp()),
                exit_code,
                filtered_exec_frequencies: frequencies,
                touched_memory,
            },
            record_arenas: state.ctx.arenas,
            to_state: VmState::new(pc, end.memory.data, end.streams, end.rng),
        })
    }

    fn writers(&self, arenas: &mut [TraceArena]) -> [RecordWriter; Chip::LAYOUTS.len()] {
        let mut writers = [RecordWriter::NONE; Chip::LAYOUTS.len()];
        for ((writer, layout), &air) in writers.iter_mut().zip(Chip::LAYOUTS).zip(&self.chips) {
            if let Some(air) = air {
                *writer = RecordWriter::new(&mut arenas[air], layout);
            }
        }
        writers
    }

    fn end(&self, writers: [RecordWriter; Chip::LAYOUTS.len()], arenas: &mut [TraceArena]) {
        for (writer, &air) in writers.into_iter().zip(&self.chips) {
            if let Some(air) = air {
                writer.end(&mut arenas[air]);
            }
        }
    }

    fn run(
        &mut self,
        executors: &ExecutorInventory<CheckedExecutor>,
        exe: &VmExe<F>,
        state: &mut State,
    ) -> Result<(), ExecutionError> {
        let size = memory_bytes(&executors.config().memory_config);
        let base = self.base;
        let places = self.steps.len() - 1;
        let place_of = |pc: u32| place_of(pc, base, places);
        let mut place = place_of(state.pc())?;
        let mut writers = self.writers(&mut state.ctx.arenas);
        let mut left = state.ctx.instret_left;
        while left > 0 {
            let step = self.steps[place];
            self.frequencies[place] += 1;
            let pc = base.wrapping_add(4 * place as u32);
            let memory = &mut state.vm_state.memory;
            let time = memory.timestamp();
            let mut next = place + 1;
            let mut is_recorded = true;

            macro_rules! write {
                ($chip:ident, $adapter:expr, $core:expr) => {
                    writers[Chip::$chip as usize].write($adapter, $core)
                };
            }
            // Two operands in registers, or one and an immediate: `Rv32BaseAluAdapterRecord`.
            macro_rules! binary {
                ($chip:ident, $opcode:literal, |$x:ident, $y:ident| $value:expr) => {{
                    let ([t0, t1], $x, $y) = read_two(memory, step.b, step.c);
                    let (t2, old) = write_register(memory, step.a, $value);
                    let [a, b, c] = [step.a, step.b, step.c].map(pointer);
                    let adapter = [pc, time, a, b, c, 1, t0, t1, t2, old];
                    write!($chip, adapter, [$x, $y, $opcode]);
                }};
            }
            macro_rules! immediate {
                ($chip:ident, $opcode:literal, |$x:ident, $y:ident| $value:expr) => {{
                    let (t0, $x) = read_register(memory, step.b);
                    let $y = step.immediate;
                    memory.increment_timestamp();
                    let (t2, old) = write_register(memory, step.a, $value);
                    let [a, b] = [step.a, step.b].map(pointer);
                    let adapter = [pc, time, a, b, $y & 0xff_ffff, 0, t0, 0, t2, old];
                    write!($chip, adapter, [$x, $y, $opcode]);
                }};
            }
            // `Rv32MultAdapterRecord`.
            macro_rules! product {
                ($chip:ident, [$($opcode:literal)?], |$x:ident, $y:ident| $value:expr) => {{
                    let ([t0, t1], $x, $y) = read_two(memory, step.b, step.c);
                    let (t2, old) = write_register(memory, step.a, $value);
                    let [a, b, c] = [step.a, step.b, step.c].map(pointer);
                    let adapter = [pc, time, a, b, c, t0, t1, t2, old];
                    write!($chip, adapter, [$x, $y $(, $opcode)?]);
                }};
            }
            // `Rv32BranchAdapterRecord`.
            macro_rules! branch {
                ($chip:ident, $opcode:literal, |$x:ident, $y:ident| $taken:expr) => {{
                    let ([t0, t1], $x, $y) = read_two(memory, step.a, step.b);
                    let [a, b] = [step.a, step.b].map(pointer);
                    let offset = distance(place, step.immediate);
                    write!($chip, [pc, time, a, b, t0, t1], [$x, $y, offset, $opcode]);
                    if $taken {
                        next = step.immediate as usize;
                    }
                }};
            }
            // `Rv32LoadStoreAdapterRecord` of an access of so many bytes, and the core's first two words: opcode, shift and the bytes of the word.
            macro_rules! access {
                ($bytes:literal, |$word:ident, $shift:ident, $t0:ident, $value:ident| $body:expr) => {{
                    let address = peek_register(memory, step.b).wrapping_add(step.immediate);
                    if !address.is_multiple_of($bytes) || address >= size {
                        is_recorded = false;
                    } else {
                        let ($t0, $value) = read_register(memory, step.b);
                        let ($word, $shift) = (address & !3, address & 3);
                        $body
                    }
                }};
            }
            // Words of the adapter: times of the accesses, to the register that is read first, of what is read and of what is written.
            macro_rules! adapter {
                ($t0:ident, $value:ident, $t1:ident, $t2:ident) => {{
                    let immediate = step.immediate & 0xffff | (step.immediate >> 31) << 16;
                    let immediate = immediate | MEMORY << 24;
                    let [a, b] = [step.a, step.b].map(pointer);
                    [pc, time, b, $value, $t0, a, $t1, immediate, $t2]
                }};
            }
            macro_rules! load {
                ($bytes:literal, $opcode:ident, |$loaded:ident| $result:expr) => {
                    access!($bytes, |word, shift, t0, value| {
                        let (t1, read) = read_memory(memory, word);
                        let old = peek_register(memory, step.a);
                        let $loaded = read >> (8 * shift);
                        let (t2, _) = write_register(memory, step.a, $result);
                        let opcode = Rv32LoadStoreOpcode::$opcode as u32;
                        let [p0, p1, p2, p3] = bytes_of(old);
                        let core = [opcode | shift << 8 | read << 16, read >> 16, p0, p1, p2, p3];
                        write!(LoadStore, adapter!(t0, value, t1, t2), core);
                    })
                };
            }
            macro_rules! load_signed {
                ($bytes:literal, $is_byte:literal, |$loaded:ident| $result:expr) => {
                    access!($bytes, |word, shift, t0, value| {
                        let (t1, read) = read_memory(memory, word);
                        let old = peek_register(memory, step.a);
                        let $loaded = read >> (8 * shift);
                        let (t2, _) = write_register(memory, step.a, $result);
                        let first = $is_byte | shift << 8 | read << 16;
                        let core = [first, read >> 16 | old << 16, old >> 16];
                        write!(LoadSignExtend, adapter!(t0, value, t1, t2), core);
                    })
                };
            }
            macro_rules! store {
                ($bytes:literal, $opcode:ident, $mask:expr) => {
                    access!($bytes, |word, shift, t0, value| {
                        let (t1, read) = read_register(memory, step.a);
                        let old = peek_memory(memory, word);
                        let mask: u32 = $mask << (8 * shift);
                        let stored = old & !mask | (read << (8 * shift)) & mask;
                        let t2 = write_memory(memory, word, stored);
                        let opcode = Rv32LoadStoreOpcode::$opcode as u32;
                        let [p0, p1, p2, p3] = bytes_of(old);
                        let core = [opcode | shift << 8 | read << 16, read >> 16, p0, p1, p2, p3];
                        write!(LoadStore, adapter!(t0, value, t1, t2), core);
                    })
                };
            }

            match step.op {
                Op::Add => binary!(BaseAlu, 0, |x, y| x.wrapping_add(y)),
                Op::AddI => immediate!(BaseAlu, 0, |x, y| x.wrapping_add(y)),
                Op::Sub => binary!(BaseAlu, 1, |x, y| x.wrapping_sub(y)),
                Op::Xor => binary!(BaseAlu, 2, |x, y| x ^ y),
                Op::XorI => immediate!(BaseAlu, 2, |x, y| x ^ y),
                Op::Or => binary!(BaseAlu, 3, |x, y| x | y),
                Op::OrI => immediate!(BaseAlu, 3, |x, y| x | y),
                Op::And => binary!(BaseAlu, 4, |x, y| x & y),
                Op::AndI => immediate!(BaseAlu, 4, |x, y| x & y),
                Op::Sll => binary!(Shift, 0, |x, y| x.wrapping_shl(y)),
                Op::SllI => immediate!(Shift, 0, |x, y| x.wrapping_shl(y)),
                Op::Srl => binary!(Shift, 1, |x, y| x.wrapping_shr(y)),
                Op::SrlI => immediate!(Shift, 1, |x, y| x.wrapping_shr(y)),
                Op::Sra => binary!(Shift, 2, |x, y| (x as i32).wrapping_shr(y) as u32),
                Op::SraI => immediate!(Shift, 2, |x, y| (x as i32).wrapping_shr(y) as u32),
                Op::Slt => binary!(LessThan, 0, |x, y| u32::from((x as i32) < y as i32)),
                Op::SltI => immediate!(LessThan, 0, |x, y| u32::from((x as i32) < y as i32)),
                Op::Sltu => binary!(LessThan, 1, |x, y| u32::from(x < y)),
                Op::SltuI => immediate!(LessThan, 1, |x, y| u32::from(x < y)),
                Op::Lui => {
                    let value = step.immediate;
                    let (t0, old) = write_register(memory, step.a, value);
                    let adapter = [pc, time, pointer(step.a), t0, old];
                    write!(JalLui, adapter, [value >> 12, value, 0]);
                }
                Op::Auipc => {
                    let value = step.immediate;
                    let (t0, old) = write_register(memory, step.a, value);
                    let adapter = [pc, time, pointer(step.a), t0, old];
                    write!(Auipc, adapter, [pc, value.wrapping_sub(pc) >> 8]);
                }
                Op::Mul => product!(Mul, [], |x, y| x.wrapping_mul(y)),
                Op::Mulh => product!(MulH, [0], |x, y| mulh(x, y)),
                Op::Mulhsu => product!(MulH, [1], |x, y| mulhsu(x, y)),
                Op::Mulhu => product!(MulH, [2], |x, y| mulhu(x, y)),
                Op::Div => product!(DivRem, [0], |x, y| div(x, y)),
                Op::Divu => product!(DivRem, [1], |x, y| divu(x, y)),
                Op::Rem => product!(DivRem, [2], |x, y| rem(x, y)),
                Op::Remu => product!(DivRem, [3], |x, y| remu(x, y)),
                Op::LoadWord => load!(4, LOADW, |word| word),
                Op::LoadHalfUnsigned => load!(2, LOADHU, |word| word & 0xffff),
                Op::LoadByteUnsigned => load!(1, LOADBU, |word| word & 0xff),
                Op::LoadHalf => load_signed!(2, 0, |word| i32::from(word as i16) as u32),
                Op::LoadByte => load_signed!(1, 1, |word| i32::from(word as i8) as u32),
                Op::StoreWord => store!(4, STOREW, u32::MAX),
                Op::StoreHalf => store!(2, STOREH, 0xffff),
                Op::StoreByte => store!(1, STOREB, 0xff),
                Op::Beq => branch!(BranchEqual, 0, |x, y| x == y),
                Op::Bne => branch!(BranchEqual, 1, |x, y| x != y),
                Op::Blt => branch!(BranchLessThan, 0, |x, y| (x as i32) < y as i32),
                Op::Bltu => branch!(BranchLessThan, 1, |x, y| x < y),
                Op::Bge => branch!(BranchLessThan, 2, |x, y| x as i32 >= y as i32),
                Op::Bgeu => branch!(BranchLessThan, 3, |x, y| x >= y),
                Op::Jump => {
                    memory.increment_timestamp();
                    let core = [distance(place, step.immediate), pc.wrapping_add(4), 1];
                    write!(JalLui, [pc, time, NO_REGISTER, 0, 0], core);
                    next = step.immediate as usize;
                }
                Op::Jal => {
                    let link = pc.wrapping_add(4);
                    let (t0, old) = write_register(memory, step.a, link);
                    let core = [distance(place, step.immediate), link, 1];
                    write!(JalLui, [pc, time, pointer(step.a), t0, old], core);
                    next = step.immediate as usize;
                }
                Op::JumpRegister | Op::Jalr => {
                    let base_value = peek_register(memory, step.b);
                    let to = place_of(base_value.wrapping_add(step.immediate) & !1);
                    match to.ok().filter(|&to| to < places) {
                        None => is_recorded = false,
                        Some(to) => {
                            let (t0, value) = read_register(memory, step.b);
                            let (a, t1, old) = match step.op {
                                Op::Jalr => {
                                    let link = pc.wrapping_add(4);
                                    let (t1, old) = write_register(memory, step.a, link);
                                    (pointer(step.a), t1, old)
                                }
                                _ => {
                                    memory.increment_timestamp();
                                    (NO_REGISTER, 0, 0)
                                }
                            };
                            let [immediate, sign] = [step.immediate & 0xffff, step.immediate >> 31];
                            let adapter = [pc, time, pointer(step.b), a, t0, t1, old];
                            write!(Jalr, adapter, [immediate, pc, value, sign]);
                            next = to;
                        }
                    }
                }
                Op::End => {
                    state.exit_code = Ok(Some(step.immediate));
                    left -= 1;
                    break;
                }
                Op::Gap => {
                    let error = match place < places {
                        true => ExecutionError::Unreachable(pc),
                        false => ExecutionError::PcOutOfBounds(pc),
                    };
                    return Err(error);
                }
                Op::Executor => is_recorded = false,
            }
            if !is_recorded {
                let (instruction, _) = exe.program.instructions_and_debug_infos[place]
                    .as_ref()
                    .expect("an instruction was decoded");
                let number = executors.instruction_lookup[&instruction.opcode] as usize;
                let air = self.airs[number];
                let is_written = self.chips.contains(&Some(air));
                if is_written {
                    self.end(writers, &mut state.ctx.arenas);
                }
                state.vm_state.set_pc(pc);
                let arena = &mut state.ctx.arenas[air];
                let state_mut = state.vm_state.into_mut(arena);
                executors.executors[number].execute(state_mut, instruction)?;
                if is_written {
                    writers = self.writers(&mut state.ctx.arenas);
                }
                next = place_of(state.pc())?;
            }
            left -= 1;
            place = next;
        }
        self.end(writers, &mut state.ctx.arenas);
        state.ctx.instret_left = left;
        state.set_pc(base.wrapping_add(4 * place as u32));
        Ok(())
    }
}

/// The address of a register in its space.
#[inline(always)]
fn pointer(register: u8) -> u32 {
    4 * u32::from(register)
}

/// The offset of a branch from one place to another, as an operand.
#[inline(always)]
fn distance(from: usize, to: u32) -> u32 {
    let offset = 4 * (i64::from(to) - from as i64);
    match offset < 0 {
        true => (i64::from(F::ORDER_U32) + offset) as u32,
        false => offset as u32,
    }
}

/// Reads a register. Returns the time of the access before and the value.
#[inline(always)]
fn read_register(memory: &mut TracingMemory, register: u8) -> (u32, u32) {
    // SAFETY: the space of registers has bytes, 128 or more, as `record` checks, and numbers of registers are below 32, as `Step::decode` checks.
    let (time, bytes) = unsafe { memory.read::<u8, 4>(REGISTERS, pointer(register)) };
    (time, u32::from_le_bytes(bytes))
}

/// Reads two registers. Returns the times of the accesses before and the values.
#[inline(always)]
fn read_two(memory: &mut TracingMemory, x: u8, y: u8) -> ([u32; 2], u32, u32) {
    let (t0, x) = read_register(memory, x);
    let (t1, y) = read_register(memory, y);
    ([t0, t1], x, y)
}

/// Writes a register. Returns the time of the access before and the value before.
#[inline(always)]
fn write_register(memory: &mut TracingMemory, register: u8, value: u32) -> (u32, u32) {
    // SAFETY: as in `read_register`.
    let (time, old) =
        unsafe { memory.write::<u8, 4>(REGISTERS, pointer(register), value.to_le_bytes()) };
    (time, u32::from_le_bytes(old))
}

/// The value of a register, without an access.
#[inline(always)]
fn peek_register(memory: &TracingMemory, register: u8) -> u32 {
    // SAFETY: as in `read_register`.
    let bytes = unsafe { memory.data().read::<u8, 4>(REGISTERS, pointer(register)) };
    u32::from_le_bytes(bytes)
}

/// Reads a word of memory. Returns the time of the access before and the value.
#[inline(always)]
fn read_memory(memory: &mut TracingMemory, address: u32) -> (u32, u32) {
    // SAFETY: memory has bytes, and the caller compared the address, a multiple of 4, with their number.
    let (time, bytes) = unsafe { memory.read::<u8, 4>(MEMORY, address) };
    (time, u32::from_le_bytes(bytes))
}

/// Writes a word of memory. Returns the time of the access before.
#[inline(always)]
fn write_memory(memory: &mut TracingMemory, address: u32, value: u32) -> u32 {
    // SAFETY: as in `read_memory`.
    let (time, _) = unsafe { memory.write::<u8, 4>(MEMORY, address, value.to_le_bytes()) };
    time
}

/// A word of memory, without an access.
#[inline(always)]
fn peek_memory(memory: &TracingMemory, address: u32) -> u32 {
    // SAFETY: as in `read_memory`.
    let bytes = unsafe { memory.data().read::<u8, 4>(MEMORY, address) };
    u32::from_le_bytes(bytes)
}

/// The bytes of a word, each in a word.
#[inline(always)]
fn bytes_of(word: u32) -> [u32; 4] {
    word.to_le_bytes().map(u32::from)
}
