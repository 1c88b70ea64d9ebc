//! `Cache`: commitments that earlier processes made, in the user's cache folder.
//!
//! An entry is named by the hash of everything that its content follows from, and holds the hash of its content. It is taken
//! only from a folder that this user alone can write, as compiled kernels are. Nothing that goes wrong with the folder ends a
//! proof: a warning says what it is, and the content is made again.
//!
//! No key is kept: making keys takes less than a tenth of the time of the commitments, and what `valid` means follows from keys. Verification
//! reads nothing from the cache.

mod commitment;
mod entry;
mod folder;
mod inventory;

pub(crate) use commitment::commit;
pub use folder::{Cache, CacheError};
pub use inventory::{CacheEntry, CacheKind};
