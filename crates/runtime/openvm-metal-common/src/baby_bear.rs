//! BabyBear in device memory.
//!
//! This belongs to the prover, and stands here because [`DeviceElem`] is of this crate and the types are Plonky3's:
//! no other crate may bring the two together. Crates without the field leave the feature off.

use p3_baby_bear::BabyBear;
use p3_field::extension::BinomialExtensionField;

use crate::elem::DeviceElem;

// SAFETY: `BabyBear` is a transparent `u32` (Montgomery form); a non-canonical word is a wrong field
// element but never undefined behaviour.
unsafe impl DeviceElem for BabyBear {}

// SAFETY: four `BabyBear` words, no padding.
unsafe impl DeviceElem for BinomialExtensionField<BabyBear, 4> {}

const _: () = assert!(size_of::<BabyBear>() == 4);
const _: () = assert!(size_of::<BinomialExtensionField<BabyBear, 4>>() == 16);
