//! Distance between the columns of an arena.

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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn rows_of_neighbouring_columns_share_no_sets_on_processors() {
        // Which set of a cache of 64 sets holds the line of a word.
        let set = |word: u64| word / LINE % 64;
        for log_rows in 5..22 {
            let rows = 1u64 << log_rows;
            let stride = column_stride(Execution::MultiCore, rows);
            let sets: BTreeSet<u64> = (0..64).map(|c| set(c * stride)).collect();
            assert!(stride >= rows && stride.is_multiple_of(LINE));
            assert_eq!(sets.len(), 64, "2^{log_rows} rows");
            assert_eq!(column_stride(Execution::ManyCore, rows), rows);
        }
        // Columns within a line lie beside each other.
        assert_eq!(column_stride(Execution::MultiCore, LINE), LINE);
    }
}
