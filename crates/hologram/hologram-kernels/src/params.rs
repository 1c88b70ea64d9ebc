//! Parameters of the kernels, as `metal/params.h` has them.

/// Parameters of the elementwise kernels with one operand.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct MapParams {
    /// First element of the launch.
    pub first: u64,
    /// Elements in all.
    pub count: u64,
    /// Bits of the lower bound, or of the value to fill with.
    pub low: u64,
    /// Bits of the upper bound.
    pub high: u64,
    /// Threads of the launch.
    pub threads: u32,
    /// Code of the operation; 32 clips, 33 fills.
    pub op: u32,
    /// Operands begin at multiples of 16 bytes.
    pub aligned: u32,
    /// Zero.
    pub pad: u32,
}

/// Parameters of the elementwise kernels with two operands.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ZipParams {
    /// First element of the launch.
    pub first: u64,
    /// Elements in all.
    pub count: u64,
    /// Bits of the right operand if it is a constant.
    pub value: u64,
    /// Threads of the launch.
    pub threads: u32,
    /// Code of the operation.
    pub op: u32,
    /// The right operand is a constant.
    pub scalar: u32,
    /// Operands begin at multiples of 16 bytes.
    pub aligned: u32,
}

/// Parameters of reductions and losses.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ReduceParams {
    /// Elements in all.
    pub count: u64,
    /// Elements of a threadgroup.
    pub part: u64,
    /// Bits of the result of nothing.
    pub identity: u64,
    /// Bits of a factor of the result.
    pub factor: u64,
    /// Code of the operation.
    pub op: u32,
    /// The operand begins at a multiple of 16 bytes, and so does each part.
    pub aligned: u32,
    /// The factor counts.
    pub scaled: u32,
    /// Zero.
    pub pad: u32,
}

/// Parameters of operations on rows.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct RowParams {
    /// First row of the launch.
    pub first: u64,
    /// Elements of a row.
    pub cols: u64,
    /// Bits of minus infinity.
    pub least: u64,
    /// Bits of the summand of the variance.
    pub epsilon: u64,
}

/// Parameters of products of matrices; each flag says that a matrix and its rows begin at multiples of 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct GemmParams {
    /// Rows of `a` and `c`.
    pub m: u32,
    /// Columns of `b` and `c`.
    pub n: u32,
    /// Columns of `a`, rows of `b`.
    pub k: u32,
    /// Tiles along the rows.
    pub tiles_m: u32,
    /// Tiles along the columns.
    pub tiles_n: u32,
    /// Flag of `a`.
    pub a_aligned: u32,
    /// Flag of `b`.
    pub b_aligned: u32,
    /// Flag of `c`.
    pub c_aligned: u32,
}

/// Parameters of a matrix of halves whose rows are filled up to eight elements.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OctetParams {
    /// The rows.
    pub rows: u32,
    /// The columns.
    pub cols: u32,
}

/// Parameters of sorts of the rows of a matrix.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct SortParams {
    /// First tile of the launch, of all tiles of all rows.
    pub first: u64,
    /// Elements of a row.
    pub cols: u32,
    /// Tiles of each of the runs that are merged.
    pub run: u32,
    /// Kind of the words: 0 unsigned, 1 signed, 2 floats.
    pub kind: u32,
    /// All bits to sort the other way, else 0.
    pub flip: u32,
}

/// Parameters of indices that are written as words of 64 bits.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WidenParams {
    /// First index of the launch.
    pub first: u64,
    /// Indices in all.
    pub count: u64,
}
