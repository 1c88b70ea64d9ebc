//! `MetalBackend`: the associated types of `ProverBackend`.
