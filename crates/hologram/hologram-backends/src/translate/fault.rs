//! Codes of the fault record, and what a record means.

use crate::error::{Fault, FaultKind};
use crate::isa::{Address, Instruction, Ty};
use crate::program::Program;

/// Words before the first record.
pub const HEADER_WORDS: usize = 4;
/// Words of a record.
pub const RECORD_WORDS: usize = 10;
/// Most records; `HG_FAULTS` of the prelude.
pub const RECORDS: usize = 4096;
/// Bytes of a fault buffer.
pub const BYTES: usize = 4 * (HEADER_WORDS + RECORD_WORDS * RECORDS);

/// A buffer that does not exist: handle.
pub const INVALID_HANDLE: u32 = 1;
/// Past the end of a buffer: handle, offset, size.
pub const OUT_OF_BOUNDS: u32 = 2;
/// A negative offset: its bits.
pub const NEGATIVE_OFFSET: u32 = 3;
/// Past the end of shared memory: nothing, offset, size.
pub const SHARED_OUT_OF_BOUNDS: u32 = 4;
/// A pool that does not exist: handle.
pub const INVALID_POOL: u32 = 5;
/// Past the end of a pool: handle, offset, size.
pub const POOL_OUT_OF_BOUNDS: u32 = 6;
/// Integer division by zero.
pub const DIVISION_BY_ZERO: u32 = 7;
/// Too many nested calls.
pub const CALL_OVERFLOW: u32 = 8;
/// A return without a call.
pub const CALL_UNDERFLOW: u32 = 9;
/// No such class: class.
pub const INVALID_CLASS: u32 = 10;
/// No such page: page, byte.
pub const INVALID_PAGE: u32 = 11;
/// A barrier that not all lanes reach.
pub const DIVERGENCE: u32 = 12;
/// Too many steps.
pub const BUDGET: u32 = 13;
/// The program was to end.
pub const STOPPED: u32 = 14;

/// One record of a fault buffer.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    lane: u32,
    code: u32,
    pc: u32,
    details: [u64; 3],
}

impl Record {
    /// The record of the smallest lane among `words` of records.
    pub fn smallest(words: &[u32]) -> Option<Self> {
        let wide = |r: &[u32], at: usize| u64::from(r[at]) | u64::from(r[at + 1]) << 32;
        words
            .chunks_exact(RECORD_WORDS)
            .min_by_key(|r| r[0])
            .map(|r| Self {
                lane: r[0],
                code: r[1],
                pc: r[2],
                details: [wide(r, 4), wide(r, 6), wide(r, 8)],
            })
    }

    /// The fault as the reference interpreter reports it.
    pub fn fault(&self, program: &Program, budget: u64) -> Fault {
        let pc = self.pc as usize;
        let instruction = program.instructions().get(pc);
        let [a, b, c] = self.details;
        let size = instruction.map_or(0, access_size);
        let kind = match self.code {
            INVALID_HANDLE => FaultKind::InvalidBufferHandle { handle: a },
            OUT_OF_BOUNDS => FaultKind::BufferOutOfBounds {
                handle: a,
                offset: b,
                size,
                buffer_size: c,
            },
            NEGATIVE_OFFSET => FaultKind::NegativeOffset {
                offset: a as u32 as i32,
            },
            SHARED_OUT_OF_BOUNDS => FaultKind::SharedOutOfBounds {
                offset: b,
                size,
                shared_size: c,
            },
            INVALID_POOL => FaultKind::InvalidPoolHandle { handle: a },
            POOL_OUT_OF_BOUNDS => FaultKind::PoolOutOfBounds {
                handle: a,
                offset: b,
                size,
                pool_size: c,
            },
            DIVISION_BY_ZERO => FaultKind::DivisionByZero,
            CALL_OVERFLOW => FaultKind::CallStackOverflow,
            CALL_UNDERFLOW => FaultKind::CallStackUnderflow,
            INVALID_CLASS => FaultKind::InvalidClassIndex { class: a as u8 },
            INVALID_PAGE => FaultKind::InvalidBoundaryCoordinates {
                page: a as u8,
                byte: b as u8,
            },
            DIVERGENCE => FaultKind::BarrierDivergence,
            STOPPED => FaultKind::Stopped,
            _ => FaultKind::StepBudgetExceeded { budget },
        };
        Fault {
            lane: u64::from(self.lane),
            pc,
            instruction: instruction.map_or_else(String::new, ToString::to_string),
            kind,
        }
    }
}

fn access_size(instruction: &Instruction) -> u64 {
    let ty: Ty = match *instruction {
        Instruction::Ldg { ty, .. }
        | Instruction::Stg { ty, .. }
        | Instruction::Lds { ty, .. }
        | Instruction::Sts { ty, .. }
        | Instruction::PoolLoad { ty, .. }
        | Instruction::PoolStore { ty, .. } => ty,
        _ => return 0,
    };
    ty.size() as u64
}

/// The offset of an indirect address, if it is negative.
pub fn negative_offset(address: Address) -> Option<i32> {
    match address {
        Address::RegisterIndirect { offset, .. } if offset < 0 => Some(offset),
        _ => None,
    }
}
