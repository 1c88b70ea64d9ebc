//! Opening proofs: stacked reduction and WHIR.

mod contract;
pub mod stacked_reduction;
pub mod whir;
