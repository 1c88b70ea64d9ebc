//! Parameter structs of the trace commitment kernels; see `metal/commit/params.h`.

/// One range of the stacked matrix on its way into the codeword matrix, in chunks of `2^l_skip`
/// cells.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitMessageParams {
    /// Stacked index of the first chunk of this dispatch.
    pub first: u64,
    /// Chunks of the range before this dispatch.
    pub skip: u64,
    /// log2 of the chunks in a stacked column.
    pub log_column: u32,
    /// log2 of the chunks in a codeword column.
    pub log_code_column: u32,
    /// 0: coefficients times `2^l_skip`, which the transform divides by.
    pub divided: u32,
    /// Zero.
    pub unused: u32,
}

/// Copy of one small trace into the buffer of all such.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitGatherJob {
    /// First cell within the source buffer.
    pub source_start: u64,
    /// First cell within the target.
    pub target_start: u64,
    /// Cells to write.
    pub len: u64,
    /// Number of the source buffer; [`COMMIT_SOURCES`]: none, zeros are written.
    pub source: u32,
    /// log2 of the distance between two source cells in the target.
    pub log_stride: u32,
}

/// Buffers that one gather dispatch reads.
pub const COMMIT_SOURCES: usize = 16;
/// Jobs of one gather dispatch.
pub const COMMIT_JOBS: usize = 64;

/// The jobs of one gather dispatch.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CommitGatherParams {
    /// Job `y` belongs to threadgroups `(_, y)`.
    pub jobs: [CommitGatherJob; COMMIT_JOBS],
}

/// Opened rows of columns of which the last pass of the transform, or several, are left out.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitOpenParams {
    /// Opened leaves.
    pub queries: u32,
    /// Columns, `2^log_n` words each.
    pub width: u32,
    /// log2 of the rows.
    pub log_n: u32,
    /// log2 of the neighbours that what is left out would transform together.
    pub log_run: u32,
    /// log2 of the words of a run that count: of the message, if that is shorter.
    pub log_terms: u32,
    /// log2 of the rows that a query opens.
    pub log_rows: u32,
    /// log2 of the distance between two of them.
    pub log_stride: u32,
    /// Factor of the results in Montgomery form, 0 for none.
    pub scale: u32,
}
