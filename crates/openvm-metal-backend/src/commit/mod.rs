//! Commitment to trace matrices: stacking, Reed-Solomon encoding, Merkle tree.
