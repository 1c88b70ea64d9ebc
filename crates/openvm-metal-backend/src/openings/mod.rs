//! Opening proofs: stacked reduction and WHIR.

pub mod stacked_reduction;
pub mod whir;
