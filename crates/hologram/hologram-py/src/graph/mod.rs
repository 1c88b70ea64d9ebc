//! Operations on arrays that are recorded and not computed yet: a graph of elementwise steps.
//!
//! A [`node`] is one step on nodes, on elements in memory (leaves) and on numbers. All nodes of a graph have one shape: what has
//! another is computed first and becomes a leaf that is broadcast. A node that was computed is a leaf from then on.
//!
//! | part | what it is |
//! |---|---|
//! | [`array`] | `hologram.Array`: a shape over memory, or over a node |
//! | [`storage`], [`readers`] | memory of arrays, and who still has to read it |
//! | [`value`], [`node`] | leaves, numbers and steps |
//! | [`linearise`], [`plan`], [`pass`] | a graph as one expression, known ones, and its computation |
//! | [`compute`], [`assign`] | what is computed when, and written where |
//! | [`inner`] | what nobody needs but one graph |
//! | [`elementwise`] | the shortest way from an operator to a node |
//! | [`index`], [`select`] | elements by keys |
//! | [`whole`] | products, sorts, scans and positions |
//! | [`stack`], [`roll`] | arrays along a new axis, and moved along axes |
//! | [`alone`] | the lock of all threads |
//!
//! Everything but a pass itself runs with Python's lock, so the locks inside of nodes, storages and arrays are never waited for.
//! Nothing of Python is called while one of them is held.

pub mod alone;
pub mod array;
pub mod assign;
pub mod compute;
mod device;
pub mod element;
pub mod elementwise;
pub mod index;
mod inner;
mod linearise;
pub mod node;
mod pass;
mod plan;
mod readers;
pub mod roll;
pub mod scatter;
pub mod select;
mod shape;
pub mod stack;
pub mod storage;
pub mod value;
pub mod whole;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Steps that are recorded before they are computed.
const MOST_STEPS: usize = 64;

/// Value that a lock guards; a thread that panicked with it left it whole.
fn lock<T>(guarded: &Mutex<T>) -> MutexGuard<'_, T> {
    guarded.lock().unwrap_or_else(PoisonError::into_inner)
}
