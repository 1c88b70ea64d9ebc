//! Parameter structs of the opening kernels.
