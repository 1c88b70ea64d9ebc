//! Deferral: computations that a guest leaves to other circuits.
//!
//! Each *deferral circuit* proves single calls. Above its proofs there are nodes over up to 2 of them: a leaf, then internal-for-leaf, then
//! internal-recursive until one proof is left. The *hook* verifies that one, and folds the commitments to inputs and outputs of all calls in their order,
//! as the guest's calls fold them in memory. A tree of the nodes that executions have joins the hooks of all circuits, in the order of the
//! circuits; for a circuit that was not called it takes the values of a memory that did not change. The last node of this tree and that of the
//! execution's become one, and a verifier compares the folds with the memory before and after the execution.

mod absent;
mod circuit;
mod keys;
mod proof;
mod set;
mod verify_stark;

pub use circuit::DeferralCircuit;
pub(crate) use keys::DeferralKeys;
pub(crate) use proof::{folds_of, DeferredJob};
pub(crate) use set::FOLDS_CELLS;
pub use set::{DeferralSettings, Deferrals};
pub(crate) use verify_stark::Verifies;
pub use verify_stark::{DeferredCall, DeferredCalls, VerifyStark};

/// Most proofs that a node below the hook verifies.
const CALLS: usize = 2;
