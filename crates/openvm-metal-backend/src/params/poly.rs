//! Parameter structs of the polynomial kernels.
