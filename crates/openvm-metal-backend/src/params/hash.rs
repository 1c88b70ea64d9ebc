//! Parameter structs of the hash kernels.
