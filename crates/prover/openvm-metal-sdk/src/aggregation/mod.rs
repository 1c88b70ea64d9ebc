//! Aggregation: many application proofs become one.
//!
//! A *leaf* verifies up to 4 proofs of segments. An *internal-for-leaf* node verifies up to 3 leaves. An
//! *internal-recursive* node verifies up to 3 nodes of the layer below, which is internal-for-leaf the first
//! time and internal-recursive from then on.
//!
//! Computations that a guest defers to other circuits have a tree of their own, which ends in an internal-recursive node too: `deferral`.

mod check;
mod child;
mod circuit;
mod commits;
mod deferral;
mod keys;
mod layer;
mod node;
mod resume;
mod rows;
mod shape;
mod tree;
mod verifier;

pub(crate) use check::NodeCheck;
pub(crate) use deferral::{folds_of, DeferralKeys, DeferredJob, Verifies, FOLDS_CELLS};
pub use deferral::{
    DeferralCircuit, DeferralSettings, Deferrals, DeferredCall, DeferredCalls, VerifyStark,
};
pub use keys::AggregationKeys;
pub(crate) use keys::TreeCircuits;
pub(crate) use node::{prove_node, wrap_alone};
pub(crate) use resume::{node_file, NodeFile, NodeFolder};
pub(crate) use rows::sort as sort_rows;
pub(crate) use shape::{layer_name, Shape};
pub use tree::{aggregate, Aggregated};
pub(crate) use tree::{Tree, TreeKeys};
