//! Records of RV32IM's chips, as words of OpenVM's structures. `openvm-metal-tracegen` compares the places of the words with these when it is compiled.

use openvm_metal_tracegen::{rv32im, RowChip};

use crate::vm::TraceArena;

/// Chips of RV32IM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Chip {
    BaseAlu,
    LessThan,
    Shift,
    BranchEqual,
    BranchLessThan,
    JalLui,
    Jalr,
    Auipc,
    LoadStore,
    LoadSignExtend,
    Mul,
    MulH,
    DivRem,
}

impl Chip {
    /// Layouts of the records, in the order of the chips.
    pub const LAYOUTS: [&RowChip; 13] = [
        &rv32im::BASE_ALU,
        &rv32im::LESS_THAN,
        &rv32im::SHIFT,
        &rv32im::BRANCH_EQ,
        &rv32im::BRANCH_LT,
        &rv32im::JAL_LUI,
        &rv32im::JALR,
        &rv32im::AUIPC,
        &rv32im::LOADSTORE,
        &rv32im::LOAD_SIGN_EXTEND,
        &rv32im::MUL,
        &rv32im::MULH,
        &rv32im::DIVREM,
    ];
}

/// Place of the next record of a chip.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordWriter {
    next: *mut u8,
    /// Bytes from one record to the next.
    stride: usize,
    /// Bytes from the start of a record to the part of the core.
    core: usize,
    /// Records that there is room for.
    room: usize,
    /// Records for which there was room at first.
    all: usize,
    /// Words of the adapter and of the core.
    words: [usize; 2],
}

impl RecordWriter {
    /// No room.
    pub const NONE: Self = Self {
        next: std::ptr::null_mut(),
        stride: 0,
        core: 0,
        room: 0,
        all: 0,
        words: [0; 2],
    };

    /// The place of the next record in an arena, which is not used until [`end`](Self::end).
    pub fn new(arena: &mut TraceArena, chip: &RowChip) -> Self {
        let stride = arena.stride(chip);
        let core = match arena {
            TraceArena::Rows(_) => 4 * chip.adapter_columns,
            TraceArena::Records(_) => 4 * chip.adapter_words,
        };
        let free = arena.free();
        let room = free.len() / stride;
        assert!(4 * chip.adapter_words <= core && core + 4 * chip.core_words <= stride);
        assert!(free.as_ptr().addr().is_multiple_of(4) && stride.is_multiple_of(4));
        Self {
            next: free.as_mut_ptr(),
            stride,
            core,
            room,
            all: room,
            words: [chip.adapter_words, chip.core_words],
        }
    }

    /// Tells an arena how much of it is used.
    pub fn end(self, arena: &mut TraceArena) {
        arena.advance((self.all - self.room) * self.stride);
    }

    /// Writes a record: the words of the adapter and of the core.
    ///
    /// # Panics
    /// No room, or numbers of words that are not the chip's.
    #[inline(always)]
    pub fn write<const A: usize, const C: usize>(&mut self, adapter: [u32; A], core: [u32; C]) {
        assert!(self.room > 0, "a record for each row of the trace");
        assert!(self.words == [A, C], "words of another chip");
        // SAFETY: there is room for a record of `stride` bytes at `next`, in an arena that is borrowed until `end`. The numbers of words are the
        // chip's, so the adapter's words end where the core's begin, or before, and these end in the record; all are aligned, as `new` checked.
        unsafe {
            self.next.cast::<[u32; A]>().write(adapter);
            self.next.add(self.core).cast::<[u32; C]>().write(core);
            self.next = self.next.add(self.stride);
        }
        self.room -= 1;
    }
}
