//! The root proof: an aggregated proof verified once more, by a circuit whose proof is hashed with Poseidon2 over BN254.
//!
//! A circuit over BN254's scalar field verifies it cheaply: it is the last STARK before a proof that a contract verifies. The traces of
//! the root circuit have heights that do not depend on the program. An aggregated proof that needs more rows is proved once more by the
//! internal-recursive circuit, which makes it as small as such proofs get.

mod circuit;
mod keys;
mod verify;

pub(crate) use self::circuit::{RootCircuit, RootSource, RootTraces};
pub use self::{keys::RootKeys, verify::verify_root};
pub use crate::prelude::RootSC;
