//! Handlers that check an instruction and then call OpenVM's handler.
//!
//! The interpreter gives each instruction a buffer and the function that executes it. Here the buffer begins with a header,
//! and OpenVM's data follow: instructions without a check are OpenVM's alone, and cost what they cost there.

use std::{
    mem::{align_of, size_of},
    panic::{catch_unwind, AssertUnwindSafe},
};

use openvm_circuit::{
    arch::{
        instructions::{instruction::Instruction, riscv::RV32_REGISTER_AS},
        ExecuteFunc, ExecutionCtxTrait, VmExecState,
    },
    system::memory::online::GuestMemory,
};
use openvm_stark_backend::p3_field::PrimeField32;

use super::rules::{Check, Rules};
use crate::{
    error::panic_message,
    fault::{at, Access, Fault},
    prelude::F,
};

/// Bytes of a header.
pub(super) const HEADER: usize = 24;

type State<Ctx> = VmExecState<F, GuestMemory, Ctx>;

/// A header: OpenVM's handler, and what the check needs.
trait Header {}

/// Address in a register and an immediate.
#[repr(C)]
struct Address<Ctx> {
    inner: ExecuteFunc<F, Ctx>,
    /// First address of code for jumps.
    start: u32,
    /// Bytes of memory, of the public values, or of code.
    bytes: u32,
    immediate: u16,
    register: u8,
    negative: u8,
}

/// A branch, or a jump always, to a target that is so many bytes away.
#[repr(C)]
struct Target<Ctx> {
    inner: ExecuteFunc<F, Ctx>,
    start: u32,
    bytes: u32,
    offset: i32,
    always: bool,
}

/// Registers that a rule is about.
#[repr(C)]
struct Operands<Ctx> {
    inner: ExecuteFunc<F, Ctx>,
    /// Rules of the executor, which outlives the decoded program.
    rules: *const Rules,
    rule: u16,
    registers: [u8; 3],
}

/// A branch by numbers that registers point at, to a target that cannot be executed, so many bytes away.
#[repr(C)]
struct Branch256<Ctx> {
    inner: ExecuteFunc<F, Ctx>,
    /// Rules of the executor, which outlives the decoded program.
    rules: *const Rules,
    offset: i32,
    registers: [u8; 3],
}

impl<Ctx> Header for Address<Ctx> {}
impl<Ctx> Header for Target<Ctx> {}
impl<Ctx> Header for Operands<Ctx> {}
impl<Ctx> Header for Branch256<Ctx> {}

/// Writes a header to the front of an instruction's buffer.
fn put<H: Header>(header: H, bytes: &mut [u8]) {
    const { assert!(size_of::<H>() <= HEADER && align_of::<H>() <= 8) };
    assert!(bytes.len() >= HEADER && bytes.as_ptr().addr().is_multiple_of(align_of::<H>()));
    // SAFETY: `bytes` has at least `HEADER` bytes, which is the size of `H` or more, and is aligned for it, as asserted above. Headers
    // own nothing, so nothing has to be dropped.
    unsafe { bytes.as_mut_ptr().cast::<H>().write(header) }
}

/// The header of an instruction.
///
/// # Safety
/// `data` is the buffer of an instruction whose header is an `H`, which [`put`] wrote.
unsafe fn header<'a, H: Header>(data: *const u8) -> &'a H {
    // SAFETY: the caller's: `size_of::<H>()` bytes at `data` hold an `H`, aligned for it.
    unsafe { &*data.cast::<H>() }
}

/// The handler of an instruction with a check. Its header is written to the front of its buffer.
pub(super) fn handler<Ctx: ExecutionCtxTrait>(
    rules: &Rules,
    check: Check,
    instruction: &Instruction<F>,
    inner: ExecuteFunc<F, Ctx>,
    bytes: &mut [u8],
) -> ExecuteFunc<F, Ctx> {
    let number = |x: F| x.as_canonical_u32();
    let registers = || [instruction.a, instruction.b, instruction.c].map(|x| number(x) as u8);
    let address = |start: u32, bytes: u32| Address {
        inner,
        start,
        bytes,
        immediate: number(instruction.c) as u16,
        register: number(instruction.b) as u8,
        negative: u8::from(number(instruction.g) != 0),
    };
    match check {
        Check::Nothing => inner,
        Check::Memory {
            access,
            bytes: size,
        } => {
            put(address(0, rules.memory), bytes);
            match (access, size) {
                (Access::Reads, 1) => memory::<Ctx, 1, false>,
                (Access::Reads, 2) => memory::<Ctx, 2, false>,
                (Access::Reads, _) => memory::<Ctx, 4, false>,
                (Access::Writes, 1) => memory::<Ctx, 1, true>,
                (Access::Writes, 2) => memory::<Ctx, 2, true>,
                (Access::Writes, _) => memory::<Ctx, 4, true>,
            }
        }
        Check::Reveal { bytes: size } => {
            put(address(0, rules.public_values), bytes);
            match size {
                1 => reveal::<Ctx, 1>,
                2 => reveal::<Ctx, 2>,
                _ => reveal::<Ctx, 4>,
            }
        }
        Check::Jalr => {
            let code = &rules.code;
            put(address(code.start, code.end - code.start), bytes);
            jalr::<Ctx>
        }
        Check::Jump { offset, always } => {
            let code = &rules.code;
            let header = Target {
                inner,
                start: code.start,
                bytes: code.end - code.start,
                offset,
                always,
            };
            put(header, bytes);
            jump::<Ctx>
        }
        Check::Branch256 { offset } => {
            let header = Branch256 {
                inner,
                rules,
                offset,
                registers: registers(),
            };
            put(header, bytes);
            branch256::<Ctx>
        }
        Check::Operands(rule) => {
            let header = Operands {
                inner,
                rules,
                rule: rule as u16,
                registers: registers(),
            };
            put(header, bytes);
            operands::<Ctx>
        }
    }
}

impl<Ctx: ExecutionCtxTrait> Address<Ctx> {
    #[inline(always)]
    fn of(&self, state: &State<Ctx>) -> u32 {
        let base = state.host_read::<u8, 4>(RV32_REGISTER_AS, self.register.into());
        let sign = u32::from(self.negative).wrapping_neg() << 16;
        u32::from_le_bytes(base).wrapping_add(u32::from(self.immediate) | sign)
    }

    /// True if so many bytes are at a multiple of their number, and their word is inside.
    #[inline(always)]
    fn takes(&self, address: u32, bytes: u32) -> bool {
        // Sizes are at least a word, and multiples of one.
        address.is_multiple_of(bytes) && address < self.bytes
    }
}

/// Ends the execution with a fault at the current instruction.
#[cold]
fn fail<Ctx: ExecutionCtxTrait>(state: &mut State<Ctx>, fault: Fault) {
    state.exit_code = Err(at(state.pc(), fault));
}

/// The fault of a jump, if there is no instruction at its target in the code of so many bytes.
#[inline(always)]
fn no_target(target: u32, start: u32, bytes: u32) -> Option<Fault> {
    if !target.is_multiple_of(4) {
        Some(Fault::MisalignedJump { target })
    } else if target.wrapping_sub(start) >= bytes {
        Some(Fault::OutsideCode { target })
    } else {
        None
    }
}

/// Loads and stores.
///
/// # Safety
/// `data` is the buffer for which [`handler`] returned this function.
unsafe fn memory<Ctx: ExecutionCtxTrait, const BYTES: u32, const WRITES: bool>(
    data: *const u8,
    state: &mut State<Ctx>,
) {
    // SAFETY: the caller's: `handler` put this kind of header there.
    let header: &Address<Ctx> = unsafe { header(data) };
    let address = header.of(state);
    if !header.takes(address, BYTES) {
        let access = if WRITES {
            Access::Writes
        } else {
            Access::Reads
        };
        let fault = match address.is_multiple_of(BYTES) {
            false => Fault::Misaligned {
                access,
                address,
                bytes: BYTES,
                align: BYTES,
            },
            true => Fault::OutsideMemory {
                access,
                address,
                bytes: BYTES,
                size: header.bytes,
            },
        };
        return fail(state, fault);
    }
    // SAFETY: OpenVM's data follow the header in the same buffer.
    unsafe { (header.inner)(data.add(HEADER), state) }
}

/// Stores to the public values.
///
/// # Safety
/// `data` is the buffer for which [`handler`] returned this function.
unsafe fn reveal<Ctx: ExecutionCtxTrait, const BYTES: u32>(
    data: *const u8,
    state: &mut State<Ctx>,
) {
    // SAFETY: the caller's: `handler` put this kind of header there.
    let header: &Address<Ctx> = unsafe { header(data) };
    let offset = header.of(state);
    if !header.takes(offset, BYTES) {
        let fault = match offset.is_multiple_of(BYTES) {
            false => Fault::MisalignedReveal {
                offset,
                bytes: BYTES,
                align: BYTES,
            },
            true => Fault::OutsidePublicValues {
                offset,
                bytes: BYTES,
                size: header.bytes,
            },
        };
        return fail(state, fault);
    }
    // SAFETY: OpenVM's data follow the header in the same buffer.
    unsafe { (header.inner)(data.add(HEADER), state) }
}

/// Jumps to an address in a register.
///
/// # Safety
/// `data` is the buffer for which [`handler`] returned this function.
unsafe fn jalr<Ctx: ExecutionCtxTrait>(data: *const u8, state: &mut State<Ctx>) {
    // SAFETY: the caller's: `handler` put this kind of header there.
    let header: &Address<Ctx> = unsafe { header(data) };
    let target = header.of(state) & !1;
    if let Some(fault) = no_target(target, header.start, header.bytes) {
        return fail(state, fault);
    }
    // SAFETY: OpenVM's data follow the header in the same buffer.
    unsafe { (header.inner)(data.add(HEADER), state) }
}

/// Branches and jumps whose target may be none.
///
/// # Safety
/// `data` is the buffer for which [`handler`] returned this function.
unsafe fn jump<Ctx: ExecutionCtxTrait>(data: *const u8, state: &mut State<Ctx>) {
    // SAFETY: the caller's: `handler` put this kind of header there.
    let header: &Target<Ctx> = unsafe { header(data) };
    let pc = state.pc();
    let target = pc.wrapping_add_signed(header.offset);
    let fault = no_target(target, header.start, header.bytes);
    if !header.always || fault.is_none() {
        // SAFETY: OpenVM's data follow the header in the same buffer.
        unsafe { (header.inner)(data.add(HEADER), state) };
    }
    if let Some(fault) = fault.filter(|_| header.always || state.pc() == target) {
        state.set_pc(pc);
        fail(state, fault);
    }
}

/// Branches by numbers that registers point at, whose target may be none.
///
/// # Safety
/// `data` is the buffer for which [`handler`] returned this function.
unsafe fn branch256<Ctx: ExecutionCtxTrait>(data: *const u8, state: &mut State<Ctx>) {
    // SAFETY: the caller's: `handler` put this kind of header there.
    let header: &Branch256<Ctx> = unsafe { header(data) };
    // SAFETY: the executor has the rules in an `Arc`, and a decoded program borrows its executors.
    let rules = unsafe { &*header.rules };
    if let Err(fault) = rules.operands(rules.branch256(), header.registers, &state.memory) {
        return fail(state, fault);
    }
    let pc = state.pc();
    // SAFETY: OpenVM's data follow the header in the same buffer.
    unsafe { (header.inner)(data.add(HEADER), state) };
    let target = pc.wrapping_add_signed(header.offset);
    let code = &rules.code;
    let fault = no_target(target, code.start, code.end - code.start);
    if let Some(fault) = fault.filter(|_| state.pc() == target) {
        state.set_pc(pc);
        fail(state, fault);
    }
}

/// Instructions whose registers point at memory. Their executors panic on operands that have no result.
///
/// # Safety
/// `data` is the buffer for which [`handler`] returned this function.
unsafe fn operands<Ctx: ExecutionCtxTrait>(data: *const u8, state: &mut State<Ctx>) {
    // SAFETY: the caller's: `handler` put this kind of header there.
    let header: &Operands<Ctx> = unsafe { header(data) };
    // SAFETY: the executor has the rules in an `Arc`, and a decoded program borrows its executors.
    let rules = unsafe { &*header.rules };
    let rule = rules.rule(header.rule.into());
    if let Err(fault) = rules.operands(rule, header.registers, &state.memory) {
        return fail(state, fault);
    }
    let pc = state.pc();
    let execute = || {
        // SAFETY: OpenVM's data follow the header in the same buffer.
        unsafe { (header.inner)(data.add(HEADER), state) }
    };
    // The whole execution is in a call of `guard`, so this one need not count for `is_guarded`.
    if let Err(panic) = catch_unwind(AssertUnwindSafe(execute)) {
        // The instruction may have been half done: nothing goes on from this state.
        state.set_pc(pc);
        let fault = match rules.is_deferral_call(header.rule.into()) {
            true => Fault::NoDeferredResult,
            false => Fault::Operands {
                reason: panic_message(panic),
            },
        };
        fail(state, fault);
    }
}
