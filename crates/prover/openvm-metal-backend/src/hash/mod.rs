//! Merkle trees over the rows of a column-major matrix.
//!
//! Leaf `r` is the sponge hash of row `r`. The first `log2(rows_per_query)` levels combine digests
//! `query_stride` apart and are not kept; the layers above, `query_stride` digests and then half as
//! many each, lie in one buffer, lowest first.

mod absorb;
mod baby_bear;
mod from_leaves;
mod layers;
mod merkle;
mod open;
mod scheme;
#[cfg(test)]
mod tests;

pub(crate) use self::{
    absorb::{absorbed_bytes, AbsorbedRows},
    layers::{digests_below_leaves, upper_layers},
    open::{read_words, Gathered, OpeningInFlight, OpeningShape},
};
pub use self::{
    layers::row_grid,
    merkle::{MerkleCell, MerkleTreeMetal},
    open::Openings,
    scheme::HashScheme,
};
