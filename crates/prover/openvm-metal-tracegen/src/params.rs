//! `#[repr(C)]` structs that kernels take by `constant T&`. The same structs are in `metal/params.h`.

/// Trace of a chip from its records, and where the counts of the lookup tables are. Offsets are in counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ChipParams {
    /// Rows of the trace.
    pub height: u64,
    /// Records.
    pub rows: u32,
    /// Counts of all tables.
    pub counts: u32,
    /// Offset of the bitwise table: 2^16 range checks, then 2^16 operations.
    pub bitwise: u32,
    /// Offset of the range tuple table.
    pub tuple: u32,
    /// Values of the second number of a tuple.
    pub tuple_size: u32,
    /// Most bits of a range check.
    pub range_bits: u32,
    /// Bits of a timestamp.
    pub timestamp_bits: u32,
    /// Bits of a pointer into memory.
    pub pointer_bits: u32,
}

/// Trace of a lookup table from its counts.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct TableParams {
    /// Rows of the trace.
    pub height: u32,
    /// Offset of the table's counts.
    pub offset: u32,
    /// Range tuple: values of the second number.
    pub shape: u32,
    /// Counts of all tables.
    pub counts: u32,
}

/// Trace of the Poseidon2 chip.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Poseidon2Params {
    /// Rows of the trace.
    pub height: u32,
    /// Inputs; the rows after them are permutations of zeros.
    pub rows: u32,
    /// 1 if each S-box has a column for its cube, else 0.
    pub cubes: u32,
}
