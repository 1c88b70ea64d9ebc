//! How far apart the columns of an arena lie.

use openvm_metal_common::Execution;

/// Words of a processor's cache line.
const LINE: u64 = 16;

/// Words from a column of `rows` words, or from a plane of one, to the next. `rows` is a power of two.
///
/// The rules read the same rows of thousands of columns. On processors columns that lie a power of two apart have these rows in the same few
/// sets of a cache, which loses them before the next rows of the line are read: there each column begins a line later.
pub(crate) fn column_stride(execution: Execution, rows: u64) -> u64 {
    match execution {
        Execution::MultiCore if rows > LINE => rows + LINE,
        _ => rows,
    }
}
