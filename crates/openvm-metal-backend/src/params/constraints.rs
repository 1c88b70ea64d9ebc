//! Parameter structs of the constraint kernels.
