//! Rows of the boundary AIR: two for every touched leaf, before and after the segment.

use std::borrow::BorrowMut;

use openvm_circuit::system::memory::{
    online::INITIAL_TIMESTAMP,
    persistent::{PersistentBoundaryCols, BLOCKS_PER_CHUNK},
    CHUNK,
};
use p3_baby_bear::BabyBear as F;
use p3_field::PrimeCharacteristicRing;

use super::{hash::Digest, touched::TouchedLeaf};

/// Columns of the boundary AIR.
pub const BOUNDARY_WIDTH: usize = PersistentBoundaryCols::<u8, CHUNK>::width();

/// Writes both rows of a touched leaf; `rows` has room for two.
pub fn write_boundary_rows(
    rows: &mut [F],
    leaf: &TouchedLeaf,
    old_digest: &Digest,
    new_digest: &Digest,
) {
    let (before, after) = rows.split_at_mut(BOUNDARY_WIDTH);
    let address_space = F::from_u32(leaf.address_space);
    let leaf_label = F::from_u32(leaf.label);
    let before: &mut PersistentBoundaryCols<F, CHUNK> = before.borrow_mut();
    *before = PersistentBoundaryCols {
        expand_direction: F::ONE,
        address_space,
        leaf_label,
        values: leaf.old,
        hash: *old_digest,
        timestamps: [F::from_u32(INITIAL_TIMESTAMP); BLOCKS_PER_CHUNK],
    };
    let after: &mut PersistentBoundaryCols<F, CHUNK> = after.borrow_mut();
    *after = PersistentBoundaryCols {
        expand_direction: F::NEG_ONE,
        address_space,
        leaf_label,
        values: leaf.new,
        hash: *new_digest,
        timestamps: leaf.timestamps.map(F::from_u32),
    };
}
