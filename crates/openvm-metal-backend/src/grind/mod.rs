//! Proof-of-work grinding on the device: the smallest witness.
