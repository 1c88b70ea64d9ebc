//! Description of a sort: rows of a type, in one of two directions.

use crate::Ty;

/// A stable sort of each row of a row-major matrix.
///
/// Floats are in the order of numbers; both zeros are equal and a NaN stands behind all, or before all where the sort descends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sorting {
    /// Type of the elements.
    pub ty: Ty,
    /// Rows.
    pub rows: u64,
    /// Elements of a row.
    pub cols: u64,
    /// The largest come first.
    pub descending: bool,
}
