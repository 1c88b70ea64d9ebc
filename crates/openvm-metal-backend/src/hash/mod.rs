//! Poseidon2, row hashing and Merkle trees.
